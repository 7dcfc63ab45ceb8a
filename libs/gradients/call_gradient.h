// CallGradient: the gradient of a node that calls functions (PartitionedCall,
// If, While, Case, ..., or a function as an op): the nodes that the call comes
// to are added to the graph again, and differentiated.
//
// So a step that computes gradients computes the call twice, as
// SymbolicGradient of TensorFlow 1 does; what of it is the same by inputs and
// op is merged again where the graph is run (libs/passes).
//
// Threads: as the scope's.
#ifndef WEFT_LIBS_GRADIENTS_CALL_GRADIENT_H_
#define WEFT_LIBS_GRADIENTS_CALL_GRADIENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/gradients/gradient_registry.h"
#include "libs/gradients/gradients.h"

namespace weft {

bool CallsFunctions(const Graph& graph, const Node& node);

// As a GradientFn; `options` are those of the call of AddGradients.
// UNIMPLEMENTED, naming the node, for a call that would change or draw
// something twice.
absl::StatusOr<std::vector<Gradient>> CallGradient(
    const Scope& scope, const Node& node,
    const std::vector<Gradient>& grad_outputs, const GradientOptions& options);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_CALL_GRADIENT_H_
