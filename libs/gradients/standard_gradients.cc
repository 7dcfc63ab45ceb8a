#include "libs/gradients/gradient_registry.h"

namespace weft {

const GradientRegistry& StandardGradients() {
  static const GradientRegistry& gradients = *[] {
    auto* registry = new GradientRegistry;
    RegisterArrayGradients(*registry);
    RegisterControlFlowGradients(*registry);
    RegisterMathGradients(*registry);
    RegisterNnGradients(*registry);
    RegisterRandomGradients(*registry);
    RegisterStateGradients(*registry);
    RegisterTrainingGradients(*registry);
    return registry;
  }();
  return gradients;
}

}  // namespace weft
