// GradientCheck implements the case kind `gradient`: it compares Weft's
// gradients of a case's graph.pb with the values of the case.
#ifndef WEFT_TOOLS_CONFORMANCE_GRADIENT_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_GRADIENT_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/conformance/case.h"
#include "tools/conformance/session_factory.h"
#include "tools/conformance/tensor_pack.h"

namespace weft::conformance {

// Returns OK if every gradient matches. Otherwise the message names the
// difference.
absl::Status CheckGradients(const Case& test_case, const TensorPack& tensors,
                            absl::string_view graph_def,
                            SessionFactory& factory);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_GRADIENT_CHECK_H_
