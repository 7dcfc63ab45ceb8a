// Lists the cases whose results on GPUs are expected to differ from those that
// TensorFlow recorded on CPUs.
#ifndef WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_
#define WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_

#include "absl/strings/string_view.h"

namespace weft::conformance {

// Returns whether the case in `directory` depends on CPUs, so that its result
// differs on any GPU, in TensorFlow, too.
bool IsOfCpus(absl::string_view directory);

// Returns whether NVIDIA GPUs reject an op of the case or compute other bits.
bool IsBeyondCuda(absl::string_view directory);

// Returns whether the errors of the case do not occur on NVIDIA GPUs. There,
// indices and labels out of range give 0 or NaN, in TensorFlow, too.
bool HasErrorsOfCpus(absl::string_view directory);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_GPU_CASES_H_
