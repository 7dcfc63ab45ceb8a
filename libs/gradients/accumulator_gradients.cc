// What accumulators hold is data: they have no gradients.
#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterAccumulatorGradients(GradientRegistry& registry) {
  for (const char* op :
       {"ConditionalAccumulator", "ResourceConditionalAccumulator",
        "AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient",
        "AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient",
        "AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated",
        "AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep",
        "SparseConditionalAccumulator", "SparseAccumulatorApplyGradient",
        "SparseAccumulatorTakeGradient"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
