// What the gradients of the array family share, and the groups they are
// registered in. Functions that add nodes; threads as the scope's.
#ifndef WEFT_LIBS_GRADIENTS_ARRAY_ARRAY_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_ARRAY_ARRAY_GRADIENTS_H_

#include <vector>

#include "libs/gradients/gradient_registry.h"

namespace weft {

// The gradient of output `i`, with zeros for None.
Output DenseOrZeros(const Scope& scope, const Node& node,
                    const std::vector<Gradient>& grad_outputs, int i);

// The sizes of `x`: a constant where they are known while the graph is built,
// so that a step neither computes them nor keeps `x` for them.
Output SizesOf(const Scope& scope, const Output& x, DataType type = DT_INT32);

// Of a node that gathers rows of a tensor of shape `sizes` at its input 1: the
// gradient of these rows, as large as what was read, not as large as what it
// was read from.
Gradient GatheredRows(const Scope& scope, const Node& gather,
                      const Output& grad, const Output& sizes);

// An int attr of the node; 0 when it has none such.
int64_t IntAttr(const Node& node, absl::string_view name);

// Each a part of RegisterArrayGradients.
void RegisterArrayJoinGradients(GradientRegistry& registry);
void RegisterArraySliceGradients(GradientRegistry& registry);
void RegisterArrayDiagonalGradients(GradientRegistry& registry);
void RegisterArraySegmentGradients(GradientRegistry& registry);
void RegisterArraySpaceGradients(GradientRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_ARRAY_ARRAY_GRADIENTS_H_
