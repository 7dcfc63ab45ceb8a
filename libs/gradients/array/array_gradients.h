// Helpers of the gradients of the array family, and the groups they are
// registered in. The helpers add nodes; threads: as for the scope.
#ifndef WEFT_LIBS_GRADIENTS_ARRAY_ARRAY_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_ARRAY_ARRAY_GRADIENTS_H_

#include <vector>

#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

// The gradient of output `i`, or zeros for None.
Output DenseOrZeros(const Scope& scope, const Node& node,
                    const std::vector<Gradient>& grad_outputs, int i);

// The sizes of `x`: a constant if they are known while the graph is built, so
// that a step neither computes them nor keeps `x` alive for them.
Output SizesOf(const Scope& scope, const Output& x, DataType type = DT_INT32);

// For a node that gathers rows of a tensor of shape `sizes` at its input 1: the
// sparse gradient of these rows. Its size is that of the rows read, not of the
// whole tensor.
Gradient GatheredRows(const Scope& scope, const Node& gather,
                      const Output& grad, const Output& sizes);

// An int attr of the node, or 0 if it has no such attr.
int64_t IntAttr(const Node& node, absl::string_view name);

// Each registers a part of RegisterArrayGradients.
void RegisterArrayJoinGradients(GradientRegistry& registry);
void RegisterArraySliceGradients(GradientRegistry& registry);
void RegisterArrayDiagonalGradients(GradientRegistry& registry);
void RegisterArraySegmentGradients(GradientRegistry& registry);
void RegisterArraySpaceGradients(GradientRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_ARRAY_ARRAY_GRADIENTS_H_
