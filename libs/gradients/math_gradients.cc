#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterMathGradients(GradientRegistry&) {}

}  // namespace weft
