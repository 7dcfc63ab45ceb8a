// Expected deviations on GPUs of cases that TensorFlow recorded on CPUs.
#ifndef WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_
#define WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_

#include "absl/strings/string_view.h"

namespace weft::conformance {

// Whether the case in the directory depends on CPUs, so that it ends
// differently on any GPU, in TensorFlow, too.
bool IsOfCpus(absl::string_view directory);

// Whether NVIDIA GPUs reject its ops, or give other bits.
bool IsBeyondCuda(absl::string_view directory);

// Whether its errors do not occur on NVIDIA GPUs: indices and labels out of
// range give 0 or NaN there, in TensorFlow, too.
bool HasErrorsOfCpus(absl::string_view directory);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_
