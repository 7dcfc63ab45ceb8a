#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterArrayGradients(GradientRegistry&) {}

}  // namespace weft
