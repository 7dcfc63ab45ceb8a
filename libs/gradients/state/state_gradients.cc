// Gradients of reads of variables. The gradient with respect to a variable is
// the gradient of its reference or handle.
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/array/array_gradients.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/state/state_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

absl::StatusOr<Gradients> PassOn(const Scope&, const Node&,
                                 const Gradients& grads) {
  return Gradients{grads[0]};
}

// A Const if the shape is declared, so that no data crosses from the variable's
// device.
Output SizesOfVariable(const Scope& scope, const Output& handle) {
  const PartialShape* declared = handle.node()->attr<PartialShape>("shape");
  if (declared == nullptr || !declared->IsFullyDefined()) {
    return ops::VariableShape(scope.ColocateWith(handle), handle);
  }
  std::vector<int32_t> sizes;
  for (const int64_t size : declared->dims()) {
    if (size > std::numeric_limits<int32_t>::max()) {
      return ops::VariableShape(scope.ColocateWith(handle), handle, DT_INT64);
    }
    sizes.push_back(static_cast<int32_t>(size));
  }
  return ops::Const(scope, Tensor::Vector(absl::Span<const int32_t>(sizes)));
}

// The gradient is sparse: no tensor of the variable's size is created.
absl::StatusOr<Gradients> OfResourceGather(const Scope& scope, const Node& node,
                                           const Gradients& grads) {
  if (*node.attr<int64_t>("batch_dims") != 0) {
    return absl::UnimplementedError(
        absl::StrCat("the gradient of ", node.name(),
                     " (ResourceGather) with batch_dims is not supported; "
                     "gather from the value read instead"));
  }
  const Output sizes = SizesOfVariable(scope, Output(node.input(0)));
  return Gradients{GatheredRows(scope, node, grads[0].dense, sizes),
                   Gradient()};
}

// Ops that create a variable, change it, or do not return its value.
constexpr const char* kWithoutGradient[] = {
    "Variable",
    "VariableV2",
    "IsVariableInitialized",
    "Assign",
    "AssignAdd",
    "AssignSub",
    "CountUpTo",
    "ScatterAdd",
    "ScatterSub",
    "ScatterMul",
    "ScatterDiv",
    "ScatterMin",
    "ScatterMax",
    "ScatterUpdate",
    "ScatterNdUpdate",
    "ScatterNdAdd",
    "ScatterNdSub",
    "StridedSliceAssign",
    "TemporaryVariable",
    "DestroyTemporaryVariable",
    "VarHandleOp",
    "VarIsInitializedOp",
    "VariableShape",
    "WaitForVariable",
    "WaitForRefVariable",
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "DestroyResourceOp",
    "DisableCopyOnRead",
    "ResourceCountUpTo",
    "ResourceScatterAdd",
    "ResourceScatterSub",
    "ResourceScatterMul",
    "ResourceScatterDiv",
    "ResourceScatterMin",
    "ResourceScatterMax",
    "ResourceScatterUpdate",
    "ResourceScatterNdUpdate",
    "ResourceScatterNdAdd",
    "ResourceScatterNdSub",
    "ResourceStridedSliceAssign",
};

}  // namespace

void RegisterStateGradients(GradientRegistry& registry) {
  registry.Register("ReadVariableOp", PassOn, /*takes_sparse=*/true);
  registry.Register("RefIdentity", PassOn, /*takes_sparse=*/true);
  registry.Register("ResourceGather", OfResourceGather);
  for (const char* op : kWithoutGradient) registry.RegisterNone(op);
}

}  // namespace weft
