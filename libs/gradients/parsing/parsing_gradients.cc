// Parsing ops have no gradients: their results are data.
#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterParsingGradients(GradientRegistry& registry) {
  for (const char* op :
       {"DecodeCSV", "_DecodeCSVAndPack", "ParseExample", "ParseExampleV2",
        "ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleExample",
        "ParseSingleSequenceExample", "ParseTensor", "SerializeTensor"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
