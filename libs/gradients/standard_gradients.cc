#include "libs/gradients/gradient_registry.h"

namespace weft {

const GradientRegistry& StandardGradients() {
  static const GradientRegistry& gradients = *[] {
    auto* registry = new GradientRegistry;
    RegisterAccumulatorGradients(*registry);
    RegisterArrayGradients(*registry);
    RegisterControlFlowGradients(*registry);
    RegisterLoggingGradients(*registry);
    RegisterLookupGradients(*registry);
    RegisterMathGradients(*registry);
    RegisterNnGradients(*registry);
    RegisterQueueGradients(*registry);
    RegisterRandomGradients(*registry);
    RegisterSparseGradients(*registry);
    RegisterStateGradients(*registry);
    RegisterStringGradients(*registry);
    RegisterTensorArrayGradients(*registry);
    RegisterTrainingGradients(*registry);
    return registry;
  }();
  return gradients;
}

}  // namespace weft
