// FoldConstants: nodes whose inputs are constants are evaluated now, once, and
// become constants themselves.
#ifndef WEFT_LIBS_PASSES_CONSTANT_FOLDING_H_
#define WEFT_LIBS_PASSES_CONSTANT_FOLDING_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"
#include "libs/passes/graph_rewrite.h"

namespace weft {

// The outputs of a node for these inputs, as on the node's device; errors are
// no harm. Kernels live in another room of this floor, so it is passed in.
using NodeEvaluator = std::function<absl::StatusOr<std::vector<Tensor>>(
    const Node& node, absl::Span<const Tensor> inputs)>;

struct ConstantFoldingOptions {
  NodeEvaluator evaluate;
  // Of one constant, and of all that are made.
  int64_t max_bytes = int64_t{100} * 1024;
  int64_t max_total_bytes = 16 << 20;
  // Of all inputs of one node: what takes long belongs into a step, which can
  // be cancelled.
  int64_t max_input_bytes = 4 << 20;
};

// A node that is not pure stays, and so does one that fails, or gives more
// bytes than allowed: it runs, or fails, in the step. What the node and its
// inputs wait for, the constant waits for, so that it is dead where they are.
void FoldConstants(const ConstantFoldingOptions& options,
                   GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_CONSTANT_FOLDING_H_
