// The gradients of the sparse family that have files of their own;
// RegisterSparseGradients calls them all.
#ifndef WEFT_LIBS_GRADIENTS_SPARSE_SPARSE_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_SPARSE_SPARSE_GRADIENTS_H_

#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterRaggedGradients(GradientRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_SPARSE_SPARSE_GRADIENTS_H_
