#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterControlFlowGradients(GradientRegistry&) {}

}  // namespace weft
