// What accumulators hold is data: they have no gradients.
#include "absl/strings/str_cat.h"
#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterAccumulatorGradients(GradientRegistry& registry) {
  for (const char* op : {"ConditionalAccumulator", "AccumulatorApplyGradient",
                         "AccumulatorTakeGradient", "AccumulatorNumAccumulated",
                         "AccumulatorSetGlobalStep"}) {
    registry.RegisterNone(op);
    registry.RegisterNone(absl::StrCat("Resource", op));
  }
  for (const char* op :
       {"SparseConditionalAccumulator", "SparseAccumulatorApplyGradient",
        "SparseAccumulatorTakeGradient"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
