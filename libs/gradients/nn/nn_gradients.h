// The parts of the nn family of gradients that have files of their own.
#ifndef WEFT_LIBS_GRADIENTS_NN_NN_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_NN_NN_GRADIENTS_H_

#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

// Convolutions, pools, normalization.
void RegisterNnWindowGradients(GradientRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_NN_NN_GRADIENTS_H_
