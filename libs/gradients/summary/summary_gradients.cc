// Summaries have no gradients.
#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterSummaryGradients(GradientRegistry& registry) {
  for (const char* op :
       {"AudioSummary", "AudioSummaryV2", "HistogramSummary", "ImageSummary",
        "MergeSummary", "ScalarSummary", "TensorSummary", "TensorSummaryV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
