#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterNnGradients(GradientRegistry&) {}

}  // namespace weft
