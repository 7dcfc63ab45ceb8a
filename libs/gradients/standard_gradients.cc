#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

const GradientRegistry& StandardGradients() {
  static const GradientRegistry& gradients = *[] {
    auto* registry = new GradientRegistry;
    RegisterArrayGradients(*registry);
    RegisterControlGradients(*registry);
    RegisterDataGradients(*registry);
    RegisterIoGradients(*registry);
    RegisterImageGradients(*registry);
    RegisterLinalgGradients(*registry);
    RegisterMathGradients(*registry);
    RegisterNnGradients(*registry);
    RegisterParsingGradients(*registry);
    RegisterRandomGradients(*registry);
    RegisterResourceGradients(*registry);
    RegisterSparseGradients(*registry);
    RegisterStateGradients(*registry);
    RegisterStringGradients(*registry);
    RegisterSummaryGradients(*registry);
    RegisterTrainingGradients(*registry);
    return registry;
  }();
  return gradients;
}

}  // namespace weft
