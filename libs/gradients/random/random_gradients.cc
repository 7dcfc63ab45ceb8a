#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterRandomGradients(GradientRegistry& registry) {
  for (const char* op :
       {"RandomUniform", "RandomStandardNormal", "TruncatedNormal",
        "RandomUniformInt", "RandomShuffle", "Multinomial",
        "StatelessMultinomial", "LogUniformCandidateSampler"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
