// Gradients of lists of tensors: the gradient of a list is a list of gradients.
// Gradients of reads are written to it, and gradients of writes are read from
// it. As in TensorFlow's list_ops.py.
#include "libs/base/status.h"
#include "libs/gradients/control/control_gradients.h"
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

Output ElementShape(const Scope& scope, const Output& list) {
  return scope.AddOutput("TensorListElementShape", {list},
                         {{"shape_type", DT_INT32}});
}

Output EmptyLike(const Scope& scope, const Output& list, DataType dtype) {
  return scope.AddOutput("EmptyTensorList", {ElementShape(scope, list), -1},
                         {{"element_dtype", dtype}});
}

// The shape of a row.
Output RowShape(const Scope& scope, const Output& rows) {
  return scope.AddOutput("Slice",
                         {ShapeOf(scope, rows), Tensor::Vector<int32_t>({1}),
                          Tensor::Vector<int32_t>({-1})});
}

absl::StatusOr<Gradients> PushBackGrad(const Scope& scope, const Node& node,
                                       const Gradients& grads) {
  const Output item = Output(node.input(1));
  const Output list = scope.AddOutput("TensorListPopBack",
                                      {grads[0].dense, ShapeOf(scope, item)},
                                      {{"element_dtype", item.dtype()}});
  if (!list) return Gradients(2);
  return Gradients{list, Output(list.node(), 1)};
}

absl::StatusOr<Gradients> PopBackGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  const Output item(&node, 1);
  const Output list = grads[0].IsNone()
                          ? EmptyLike(scope, Output(&node, 0), item.dtype())
                          : grads[0].dense;
  const Output pushed =
      grads[1].IsNone() ? ops::ZerosLike(scope, item) : grads[1].dense;
  return Gradients{scope.AddOutput("TensorListPushBack", {list, pushed}),
                   Gradient()};
}

absl::StatusOr<Gradients> StackGrad(const Scope& scope, const Node&,
                                    const Gradients& grads) {
  return Gradients{
      scope.AddOutput("TensorListFromTensor",
                      {grads[0].dense, RowShape(scope, grads[0].dense)}),
      Gradient()};
}

absl::StatusOr<Gradients> FromTensorGrad(const Scope& scope, const Node& node,
                                         const Gradients& grads) {
  const Output tensor = Output(node.input(0));
  const PartialShape& shape = tensor.shape();
  const bool is_known = shape.has_rank() && shape.rank() > 0;
  return Gradients{
      scope.AddOutput("TensorListStack",
                      {grads[0].dense, RowShape(scope, tensor)},
                      {{"element_dtype", tensor.dtype()},
                       {"num_elements", is_known ? shape.dim(0) : -1}}),
      Gradient()};
}

absl::StatusOr<Gradients> GetItemGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  const Output list = Output(node.input(0));
  const Output size = scope.AddOutput("TensorListLength", {list});
  const Output zeros =
      scope.AddOutput("TensorListReserve", {ElementShape(scope, list), size},
                      {{"element_dtype", grads[0].dense.dtype()}});
  return Gradients{
      scope.AddOutput("TensorListSetItem",
                      {zeros, Output(node.input(1)), grads[0].dense}),
      Gradient(), Gradient()};
}

// Resizes the gradient of a resized list to the list's original length.
Output AsLongAs(const Scope& scope, const Output& grad, const Output& list) {
  return scope.AddOutput("TensorListResize",
                         {grad, scope.AddOutput("TensorListLength", {list})});
}

absl::StatusOr<Gradients> SetItemGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  const Output index = Output(node.input(1));
  const Output item = Output(node.input(2));
  Output list =
      scope.AddOutput("TensorListSetItem",
                      {grads[0].dense, index, ops::ZerosLike(scope, item)});
  const auto* resizes = node.attr<bool>("resize_if_index_out_of_bounds");
  if (resizes != nullptr && *resizes) {
    list = AsLongAs(scope, list, Output(node.input(0)));
  }
  const Output set = scope.AddOutput(
      "TensorListGetItem", {grads[0].dense, index, ShapeOf(scope, item)},
      {{"element_dtype", item.dtype()}});
  return Gradients{list, Gradient(), set};
}

// As in TensorFlow, only the last row of a repeated index counts: the gradient
// is that row and not a sum.
absl::StatusOr<Gradients> ListGatherGrad(const Scope& scope, const Node& node,
                                         const Gradients& grads) {
  const Output list = Output(node.input(0));
  const Output zeros = scope.AddOutput(
      "TensorListReserve",
      {ElementShape(scope, list), scope.AddOutput("TensorListLength", {list})},
      {{"element_dtype", grads[0].dense.dtype()}});
  return Gradients{
      scope.AddOutput("TensorListScatterIntoExistingList",
                      {zeros, grads[0].dense, Output(node.input(1))}),
      Gradient(), Gradient()};
}

// As in TensorFlow, every row of a repeated index gets the gradient, even rows
// that are not in the list.
absl::StatusOr<Gradients> ListScatterGrad(const Scope& scope, const Node& node,
                                          const Gradients& grads) {
  const Output rows = Output(node.input(1));
  const Output indices = Output(node.input(2));
  const Output list =
      scope.AddOutput("TensorListScatterIntoExistingList",
                      {grads[0].dense, ops::ZerosLike(scope, rows), indices});
  const Output scattered = scope.AddOutput(
      "TensorListGather", {grads[0].dense, indices, RowShape(scope, rows)},
      {{"element_dtype", rows.dtype()}});
  return Gradients{list, scattered, Gradient()};
}

absl::StatusOr<Gradients> ResizeGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  return Gradients{AsLongAs(scope, grads[0].dense, Output(node.input(0))),
                   Gradient()};
}

// The gradient of rows that were made into a list.
absl::StatusOr<Gradients> NewScatterGrad(const Scope& scope, const Node& node,
                                         const Gradients& grads) {
  const Output rows = Output(node.input(0));
  Gradients result(node.num_inputs());
  result[0] = scope.AddOutput(
      "TensorListGather",
      {grads[0].dense, Output(node.input(1)), RowShape(scope, rows)},
      {{"element_dtype", rows.dtype()}});
  return result;
}

// The gradient of both versions of TensorListConcat; the lengths have none.
absl::StatusOr<Gradients> ListConcatGrad(const Scope& scope, const Node& node,
                                         const Gradients& grads) {
  Gradients gradients(node.num_inputs());
  if (grads[0].IsNone()) return gradients;
  gradients[0] = scope.AddOutput(
      "TensorListSplit",
      {grads[0].dense, ElementShape(scope, Output(node.input(0))),
       Output(&node, 1)});
  return gradients;
}

absl::StatusOr<Gradients> ListSplitGrad(const Scope& scope, const Node& node,
                                        const Gradients& grads) {
  const Output tensor = Output(node.input(0));
  const Output shape = scope.AddOutput(
      "ConcatV2", {Tensor::Vector<int32_t>({-1}), RowShape(scope, tensor), 0});
  const Output joined = scope.AddOutput(
      "TensorListConcatV2", {grads[0].dense, shape, Output(node.input(2))},
      {{"element_dtype", tensor.dtype()}});
  return Gradients{joined, Gradient(), Gradient()};
}

}  // namespace

void RegisterListGradients(GradientRegistry& registry) {
  registry.Register("TensorListPushBack", PushBackGrad);
  registry.Register("TensorListPopBack", PopBackGrad);
  registry.Register("TensorListStack", StackGrad);
  registry.Register("TensorListFromTensor", FromTensorGrad);
  registry.Register("TensorListGetItem", GetItemGrad);
  registry.Register("TensorListSetItem", SetItemGrad);
  registry.Register("TensorListGather", ListGatherGrad);
  registry.Register("TensorListScatterIntoExistingList", ListScatterGrad);
  registry.Register("TensorListResize", ResizeGrad);
  registry.Register("TensorListScatter", NewScatterGrad);
  registry.Register("TensorListScatterV2", NewScatterGrad);
  registry.Register("TensorListConcat", ListConcatGrad);
  registry.Register("TensorListConcatV2", ListConcatGrad);
  registry.Register("TensorListSplit", ListSplitGrad);
  // These take no tensors.
  for (const char* op : {"EmptyTensorList", "TensorListReserve",
                         "TensorListLength", "TensorListElementShape",
                         "TensorListConcatLists", "TensorListPushBackBatch"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
