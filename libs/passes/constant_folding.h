// FoldConstants evaluates nodes whose inputs are constants, once, and replaces
// them by constants.
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

// Computes the outputs of a node for these inputs, as on the node's device.
// After an error, the node is not folded. The function is a parameter because
// this module does not run kernels.
using NodeEvaluator = std::function<absl::StatusOr<std::vector<Tensor>>(
    const Node& node, absl::Span<const Tensor> inputs)>;

struct ConstantFoldingOptions {
  NodeEvaluator evaluate;
  // The limits of one constant, and of all created constants.
  int64_t max_bytes = int64_t{100} * 1024;
  int64_t max_total_bytes = 16 << 20;
  // The limit of all inputs of one node: long computations belong in a step,
  // which can be cancelled.
  int64_t max_input_bytes = 4 << 20;
};

// Nodes that are not pure stay, and so do nodes that fail, or whose outputs
// exceed the limits: they run, or fail, in the step. The constant gets the
// control inputs of the node and its inputs, so that it is dead when they are.
void FoldConstants(const ConstantFoldingOptions& options,
                   GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_CONSTANT_FOLDING_H_
