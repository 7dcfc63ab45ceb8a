// How a recorded case ends on GPUs, where TensorFlow recorded it on CPUs.
#ifndef WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_
#define WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_

#include "absl/strings/string_view.h"

namespace weft::conformance {

// Of a case's directory: whether it is about CPUs, so that it ends otherwise on
// any GPU, in TensorFlow too.
bool IsOfCpus(absl::string_view directory);

// Whether NVIDIA's GPUs refuse what it does, or give other bits.
bool IsBeyondCuda(absl::string_view directory);

// Whether its errors are none on NVIDIA's GPUs: of indices and labels that are
// out of range, which give 0 or NaN there, in TensorFlow too.
bool HasErrorsOfCpus(absl::string_view directory);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_
