// What is written to files, or read from them, has no gradients.
#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterIoGradients(GradientRegistry& registry) {
  for (const char* op :
       {"SaveV2", "_SaveVariables", "RestoreV2", "MergeV2Checkpoints",
        "ShardedFilename", "ReadFile", "WriteFile", "MatchingFiles"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
