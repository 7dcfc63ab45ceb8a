#include "libs/gradients/gradient_registry.h"

namespace weft {

// Optimizers end a graph: nothing flows back through them.
void RegisterTrainingGradients(GradientRegistry& registry) {
  for (const char* op : {"ApplyGradientDescent",
                         "ResourceApplyGradientDescent",
                         "ApplyMomentum",
                         "ResourceApplyMomentum",
                         "SparseApplyMomentum",
                         "ResourceSparseApplyMomentum",
                         "ApplyAdagrad",
                         "ResourceApplyAdagrad",
                         "SparseApplyAdagrad",
                         "ResourceSparseApplyAdagrad",
                         "ApplyAdagradV2",
                         "ResourceApplyAdagradV2",
                         "SparseApplyAdagradV2",
                         "ResourceSparseApplyAdagradV2",
                         "ApplyAdam",
                         "ResourceApplyAdam",
                         "ApplyAdaMax",
                         "ResourceApplyAdaMax",
                         "ApplyAdadelta",
                         "ResourceApplyAdadelta",
                         "SparseApplyAdadelta",
                         "ResourceSparseApplyAdadelta",
                         "ApplyAdagradDA",
                         "ResourceApplyAdagradDA",
                         "SparseApplyAdagradDA",
                         "ResourceSparseApplyAdagradDA",
                         "ApplyRMSProp",
                         "ResourceApplyRMSProp",
                         "SparseApplyRMSProp",
                         "ResourceSparseApplyRMSProp",
                         "ApplyCenteredRMSProp",
                         "ResourceApplyCenteredRMSProp",
                         "SparseApplyCenteredRMSProp",
                         "ResourceSparseApplyCenteredRMSProp",
                         "ApplyFtrl",
                         "ResourceApplyFtrl",
                         "SparseApplyFtrl",
                         "ResourceSparseApplyFtrl",
                         "ApplyFtrlV2",
                         "ResourceApplyFtrlV2",
                         "SparseApplyFtrlV2",
                         "ResourceSparseApplyFtrlV2",
                         "ApplyProximalGradientDescent",
                         "ResourceApplyProximalGradientDescent",
                         "SparseApplyProximalGradientDescent",
                         "ResourceSparseApplyProximalGradientDescent",
                         "ApplyProximalAdagrad",
                         "ResourceApplyProximalAdagrad",
                         "SparseApplyProximalAdagrad",
                         "ResourceSparseApplyProximalAdagrad"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
