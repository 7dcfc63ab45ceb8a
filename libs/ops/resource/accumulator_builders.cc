#include <utility>

#include "libs/ops/resource/accumulator_ops.h"

namespace weft::ops {
namespace {

AttrMap AttrsOf(DataType dtype, const PartialShape& shape,
                const AccumulatorAttrs& attrs) {
  AttrMap map = {{"dtype", dtype},
                 {"shape", shape},
                 {"shared_name", attrs.shared_name},
                 {"reduction_type", attrs.reduction_type}};
  if (!attrs.container.empty()) map["container"] = attrs.container;
  return map;
}

AttrMap AttrsOf(const AccumulatorApplyAttrs& attrs) {
  AttrMap map;
  if (attrs.replica) map["_replica"] = *attrs.replica;
  if (attrs.sums_repeated_rows) map["_sums_repeated_rows"] = true;
  return map;
}

AttrMap AttrsOf(const NumAccumulatedAttrs& attrs) {
  AttrMap map;
  if (attrs.at_least > 0) map["_at_least"] = attrs.at_least;
  return map;
}

AttrMap AttrsOf(const AccumulatorSetGlobalStepAttrs& attrs) {
  AttrMap map;
  if (attrs.begins_anew) map["_begins_anew"] = true;
  return map;
}

}  // namespace

Output ResourceConditionalAccumulator(const Scope& scope, DataType dtype,
                                      const PartialShape& shape,
                                      const AccumulatorAttrs& attrs) {
  return scope.AddOutput("ResourceConditionalAccumulator", {},
                         AttrsOf(dtype, shape, attrs));
}

Operation ResourceAccumulatorApplyGradient(const Scope& scope,
                                           const Input& handle,
                                           const Input& local_step,
                                           const Input& gradient,
                                           const AccumulatorApplyAttrs& attrs) {
  return scope.AddNode("ResourceAccumulatorApplyGradient",
                       {handle, local_step, gradient}, AttrsOf(attrs));
}

Output ResourceAccumulatorTakeGradient(const Scope& scope, const Input& handle,
                                       const Input& num_required,
                                       DataType dtype) {
  return scope.AddOutput("ResourceAccumulatorTakeGradient",
                         {handle, num_required}, {{"dtype", dtype}});
}

Output ResourceAccumulatorNumAccumulated(const Scope& scope,
                                         const Input& handle,
                                         const NumAccumulatedAttrs& attrs) {
  return scope.AddOutput("ResourceAccumulatorNumAccumulated", {handle},
                         AttrsOf(attrs));
}

Operation ResourceAccumulatorSetGlobalStep(
    const Scope& scope, const Input& handle, const Input& new_global_step,
    const AccumulatorSetGlobalStepAttrs& attrs) {
  return scope.AddNode("ResourceAccumulatorSetGlobalStep",
                       {handle, new_global_step}, AttrsOf(attrs));
}

Output ConditionalAccumulator(const Scope& scope, DataType dtype,
                              const PartialShape& shape,
                              const AccumulatorAttrs& attrs) {
  return scope.AddOutput("ConditionalAccumulator", {},
                         AttrsOf(dtype, shape, attrs));
}

Operation AccumulatorApplyGradient(const Scope& scope, const Input& handle,
                                   const Input& local_step,
                                   const Input& gradient) {
  return scope.AddNode("AccumulatorApplyGradient",
                       {handle, local_step, gradient});
}

Output AccumulatorTakeGradient(const Scope& scope, const Input& handle,
                               const Input& num_required, DataType dtype) {
  return scope.AddOutput("AccumulatorTakeGradient", {handle, num_required},
                         {{"dtype", dtype}});
}

Output AccumulatorNumAccumulated(const Scope& scope, const Input& handle,
                                 const NumAccumulatedAttrs& attrs) {
  return scope.AddOutput("AccumulatorNumAccumulated", {handle}, AttrsOf(attrs));
}

Operation AccumulatorSetGlobalStep(const Scope& scope, const Input& handle,
                                   const Input& new_global_step,
                                   const AccumulatorSetGlobalStepAttrs& attrs) {
  return scope.AddNode("AccumulatorSetGlobalStep", {handle, new_global_step},
                       AttrsOf(attrs));
}

Output SparseConditionalAccumulator(const Scope& scope, DataType dtype,
                                    const PartialShape& shape,
                                    const AccumulatorAttrs& attrs) {
  return scope.AddOutput("SparseConditionalAccumulator", {},
                         AttrsOf(dtype, shape, attrs));
}

Operation SparseAccumulatorApplyGradient(
    const Scope& scope, const Input& handle, const Input& local_step,
    const Input& gradient_indices, const Input& gradient_values,
    const Input& gradient_shape, bool has_known_shape,
    const AccumulatorApplyAttrs& attrs) {
  AttrMap map = AttrsOf(attrs);
  map["has_known_shape"] = has_known_shape;
  return scope.AddNode(
      "SparseAccumulatorApplyGradient",
      {handle, local_step, gradient_indices, gradient_values, gradient_shape},
      std::move(map));
}

SparseTakenGradient SparseAccumulatorTakeGradient(const Scope& scope,
                                                  const Input& handle,
                                                  const Input& num_required,
                                                  DataType dtype) {
  const Node* node = scope.AddNode("SparseAccumulatorTakeGradient",
                                   {handle, num_required}, {{"dtype", dtype}});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1), Output(node, 2)};
}

}  // namespace weft::ops
