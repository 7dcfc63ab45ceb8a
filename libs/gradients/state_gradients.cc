#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterStateGradients(GradientRegistry&) {}

}  // namespace weft
