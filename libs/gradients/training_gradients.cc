#include "absl/strings/str_cat.h"
#include "libs/gradients/gradient_registry.h"

namespace weft {

// Optimizers end a graph: nothing flows back through them.
void RegisterTrainingGradients(GradientRegistry& registry) {
  for (const char* rule :
       {"GradientDescent", "Momentum", "Adagrad", "AdagradV2", "Adam", "AdaMax",
        "Adadelta", "AdagradDA", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2",
        "ProximalGradientDescent", "ProximalAdagrad"}) {
    for (const char* prefix :
         {"Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"}) {
      registry.RegisterNone(absl::StrCat(prefix, rule));
    }
  }
}

}  // namespace weft
