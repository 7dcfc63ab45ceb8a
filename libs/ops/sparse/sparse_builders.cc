#include "libs/ops/sparse/sparse_ops.h"

namespace weft::ops {
namespace {

SparseOutputs AllOf(const Node* node) {
  return {OutputOf(node, 0), OutputOf(node, 1), OutputOf(node, 2)};
}

}  // namespace

SparseOutputs SparseConcat(const Scope& scope, const InputList& indices,
                           const InputList& values, const InputList& shapes,
                           int64_t concat_dim) {
  InputList inputs = indices;
  inputs.insert(inputs.end(), values.begin(), values.end());
  inputs.insert(inputs.end(), shapes.begin(), shapes.end());
  return AllOf(scope.AddNode("SparseConcat", inputs,
                             {{"concat_dim", concat_dim},
                              {"N", static_cast<int64_t>(indices.size())}}));
}

SparseOutputs SparseCross(const Scope& scope, const InputList& indices,
                          const InputList& values, const InputList& shapes,
                          const InputList& dense_inputs,
                          const SparseCrossAttrs& attrs) {
  InputList inputs = indices;
  DataTypeVector sparse_types, dense_types;
  const auto append = [&](const InputList& list, DataTypeVector* types) {
    for (const Input& input : list) {
      const Output output = scope.ToOutput(input);
      inputs.emplace_back(output);
      if (types != nullptr && output) types->push_back(output.dtype());
    }
  };
  append(values, &sparse_types);
  append(shapes, nullptr);
  append(dense_inputs, &dense_types);
  return AllOf(scope.AddNode("SparseCross", inputs,
                             {{"N", static_cast<int64_t>(indices.size())},
                              {"sparse_types", sparse_types},
                              {"dense_types", dense_types},
                              {"hashed_output", attrs.hashed_output},
                              {"num_buckets", attrs.num_buckets},
                              {"hash_key", attrs.hash_key},
                              {"out_type", attrs.out_type},
                              {"internal_type", attrs.internal_type}}));
}

SparseFillEmptyRowsOutputs SparseFillEmptyRows(const Scope& scope,
                                               const Input& indices,
                                               const Input& values,
                                               const Input& dense_shape,
                                               const Input& default_value) {
  const Node* node = scope.AddNode(
      "SparseFillEmptyRows", {indices, values, dense_shape, default_value});
  return {OutputOf(node, 0), OutputOf(node, 1), OutputOf(node, 2),
          OutputOf(node, 3)};
}

SparseFillEmptyRowsGradOutputs SparseFillEmptyRowsGrad(
    const Scope& scope, const Input& reverse_index_map,
    const Input& grad_values) {
  const Node* node = scope.AddNode("SparseFillEmptyRowsGrad",
                                   {reverse_index_map, grad_values});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

Output SparseReduceSum(const Scope& scope, const Input& input_indices,
                       const Input& input_values, const Input& input_shape,
                       const Input& reduction_axes, bool keep_dims) {
  return scope.AddOutput(
      "SparseReduceSum",
      {input_indices, input_values, input_shape, reduction_axes},
      {{"keep_dims", keep_dims}});
}

SparseReorderOutputs SparseReorder(const Scope& scope,
                                   const Input& input_indices,
                                   const Input& input_values,
                                   const Input& input_shape) {
  const Node* node = scope.AddNode("SparseReorder",
                                   {input_indices, input_values, input_shape});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

SparseReshapeOutputs SparseReshape(const Scope& scope,
                                   const Input& input_indices,
                                   const Input& input_shape,
                                   const Input& new_shape) {
  const Node* node =
      scope.AddNode("SparseReshape", {input_indices, input_shape, new_shape});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

SparseOutputs SparseSlice(const Scope& scope, const Input& indices,
                          const Input& values, const Input& shape,
                          const Input& start, const Input& size) {
  return AllOf(
      scope.AddNode("SparseSlice", {indices, values, shape, start, size}));
}

Output SparseSliceGrad(const Scope& scope, const Input& backprop_val_grad,
                       const Input& input_indices, const Input& input_start,
                       const Input& output_indices) {
  return scope.AddOutput("SparseSliceGrad", {backprop_val_grad, input_indices,
                                             input_start, output_indices});
}

Output SparseTensorDenseMatMul(const Scope& scope, const Input& a_indices,
                               const Input& a_values, const Input& a_shape,
                               const Input& b,
                               const SparseTensorDenseMatMulAttrs& attrs) {
  return scope.AddOutput(
      "SparseTensorDenseMatMul", {a_indices, a_values, a_shape, b},
      {{"adjoint_a", attrs.adjoint_a}, {"adjoint_b", attrs.adjoint_b}});
}

Output SparseToDense(const Scope& scope, const Input& sparse_indices,
                     const Input& output_shape, const Input& sparse_values,
                     const Input& default_value, bool validate_indices) {
  return scope.AddOutput(
      "SparseToDense",
      {sparse_indices, output_shape, sparse_values, default_value},
      {{"validate_indices", validate_indices}});
}

}  // namespace weft::ops
