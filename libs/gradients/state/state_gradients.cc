// Gradients of reads of variables. The gradient with respect to a variable is
// that of its reference or handle.
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/gradient_registry.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/state/state_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

absl::StatusOr<Gradients> PassOn(const Scope&, const Node&,
                                 const Gradients& grads) {
  return Gradients{grads[0]};
}

// The gradient of rows is rows: no tensor of the variable's size is made.
absl::StatusOr<Gradients> OfResourceGather(const Scope& scope, const Node& node,
                                           const Gradients& grads) {
  if (*node.attr<int64_t>("batch_dims") != 0) {
    return absl::UnimplementedError(
        absl::StrCat("the gradient of ", node.name(),
                     " (ResourceGather) with batch_dims is not supported; "
                     "gather from the value read instead"));
  }
  const Output handle = node.input(0);
  const Output indices = node.input(1);
  const Output shape = ops::VariableShape(scope, handle);
  const Output count = ops::ExpandDims(scope, ops::Size(scope, indices), 0);
  const Output row =
      ops::Slice(scope, shape, Tensor::Vector({1}), Tensor::Vector({-1}));
  Gradient gradient;
  gradient.values =
      ops::Reshape(scope, grads[0].dense, ops::Concat(scope, {count, row}, 0));
  gradient.indices = ops::Reshape(scope, indices, count);
  gradient.dense_shape = shape;
  return Gradients{gradient, Gradient()};
}

// They make a variable, change it, or tell something else than its value.
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
};

}  // namespace

void RegisterStateGradients(GradientRegistry& registry) {
  registry.Register("ReadVariableOp", PassOn, /*takes_sparse=*/true);
  registry.Register("RefIdentity", PassOn, /*takes_sparse=*/true);
  registry.Register("ResourceGather", OfResourceGather);
  for (const char* op : kWithoutGradient) registry.RegisterNone(op);
}

}  // namespace weft
