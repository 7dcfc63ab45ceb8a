#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterRandomGradients(GradientRegistry& registry) {
  for (const char* op :
       {"RandomUniform", "RandomStandardNormal", "TruncatedNormal",
        "RandomUniformInt", "RandomShuffle", "Multinomial",
        "StatelessMultinomial", "LogUniformCandidateSampler"}) {
    registry.RegisterNone(op);
  }
  for (const char* op :
       {"StatelessRandomGetAlg", "StatelessRandomGetKeyCounter",
        "StatelessRandomGetKeyCounterAlg", "StatelessRandomNormal",
        "StatelessRandomNormalV2", "StatelessRandomUniform",
        "StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2",
        "StatelessRandomUniformInt", "StatelessRandomUniformIntV2",
        "StatelessRandomUniformV2", "StatelessTruncatedNormal",
        "StatelessTruncatedNormalV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
