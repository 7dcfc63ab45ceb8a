// EvaluateNode computes a node's outputs for known inputs, outside of any step.
// Constant folding uses it.
//
// Threads: may be called from any thread that may block; large kernels use the
// compute pool.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_NODE_EVALUATOR_H_
#define WEFT_LIBS_RUNTIME_PROCESS_NODE_EVALUATOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"
#include "libs/runtime/process/process.h"

namespace weft {

// Returns the node's outputs, computed by its kernel on its assigned device.
// Errors: the kernel's own; UNIMPLEMENTED for a device other than a CPU and for
// an asynchronous kernel; RESOURCE_EXHAUSTED if the kernel allocates more than
// 64 MiB. REQUIRES: the node's outputs depend only on its inputs and attrs.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(
    Process& process, const Node& node, absl::Span<const Tensor> inputs);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_NODE_EVALUATOR_H_
