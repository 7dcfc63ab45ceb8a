// The parts of the resource family of gradients that have files of their own.
#ifndef WEFT_LIBS_GRADIENTS_RESOURCE_RESOURCE_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_RESOURCE_RESOURCE_GRADIENTS_H_

#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

// Arrays of tensors, and stacks.
void RegisterTensorArrayGradients(GradientRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_RESOURCE_RESOURCE_GRADIENTS_H_
