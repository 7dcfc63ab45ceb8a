// EvaluateNode: what a node gives for values that are known, outside any step.
// Folding constants asks it.
//
// Threads: may be called from any thread that may block; large kernels use the
// compute pool.
#ifndef WEFT_LIBS_RUNTIME_NODE_EVALUATOR_H_
#define WEFT_LIBS_RUNTIME_NODE_EVALUATOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"
#include "libs/runtime/process.h"

namespace weft {

// The node's outputs, as its kernel makes them on the device it was placed on.
// The kernel's error; UNIMPLEMENTED for a device other than a CPU and for
// kernels that wait; RESOURCE_EXHAUSTED for one that takes more than 64 MiB.
// REQUIRES: a node whose outputs follow from its inputs and attrs alone.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(
    Process& process, const Node& node, absl::Span<const Tensor> inputs);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_NODE_EVALUATOR_H_
