#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterTrainingGradients(GradientRegistry&) {}

}  // namespace weft
