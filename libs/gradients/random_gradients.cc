#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterRandomGradients(GradientRegistry&) {}

}  // namespace weft
