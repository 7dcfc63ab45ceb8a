// Builders of ops on sparse tensors, one for each op, with TensorFlow's names.
// A sparse tensor is indices [n, rank], values [n] and a dense shape [rank].
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_SPARSE_SPARSE_OPS_H_
#define WEFT_LIBS_OPS_SPARSE_SPARSE_OPS_H_

#include "libs/ops/scope.h"

namespace weft::ops {

struct SparseOutputs {
  Output indices;
  Output values;
  Output shape;
};

SparseOutputs SparseConcat(const Scope& scope, const InputList& indices,
                           const InputList& values, const InputList& shapes,
                           int64_t concat_dim);

struct SparseCrossAttrs {
  bool hashed_output = true;
  int64_t num_buckets = 0;
  int64_t hash_key = 0;
  DataType out_type = DT_INT64;  // or DT_STRING, with internal_type DT_STRING
  DataType internal_type = DT_INT64;
};
// Crosses feature columns: sparse ones, then dense ones.
SparseOutputs SparseCross(const Scope& scope, const InputList& indices,
                          const InputList& values, const InputList& shapes,
                          const InputList& dense_inputs,
                          const SparseCrossAttrs& attrs = {});

struct SparseFillEmptyRowsOutputs {
  Output output_indices;
  Output output_values;
  Output empty_row_indicator;
  Output reverse_index_map;
};
SparseFillEmptyRowsOutputs SparseFillEmptyRows(const Scope& scope,
                                               const Input& indices,
                                               const Input& values,
                                               const Input& dense_shape,
                                               const Input& default_value);
struct SparseFillEmptyRowsGradOutputs {
  Output d_values;
  Output d_default_value;
};
SparseFillEmptyRowsGradOutputs SparseFillEmptyRowsGrad(
    const Scope& scope, const Input& reverse_index_map,
    const Input& grad_values);

Output SparseReduceSum(const Scope& scope, const Input& input_indices,
                       const Input& input_values, const Input& input_shape,
                       const Input& reduction_axes, bool keep_dims = false);

struct SparseReorderOutputs {
  Output output_indices;
  Output output_values;
};
SparseReorderOutputs SparseReorder(const Scope& scope,
                                   const Input& input_indices,
                                   const Input& input_values,
                                   const Input& input_shape);

struct SparseReshapeOutputs {
  Output output_indices;
  Output output_shape;
};
SparseReshapeOutputs SparseReshape(const Scope& scope,
                                   const Input& input_indices,
                                   const Input& input_shape,
                                   const Input& new_shape);

SparseOutputs SparseSlice(const Scope& scope, const Input& indices,
                          const Input& values, const Input& shape,
                          const Input& start, const Input& size);
Output SparseSliceGrad(const Scope& scope, const Input& backprop_val_grad,
                       const Input& input_indices, const Input& input_start,
                       const Input& output_indices);

struct SparseTensorDenseMatMulAttrs {
  bool adjoint_a = false;
  bool adjoint_b = false;
};
Output SparseTensorDenseMatMul(const Scope& scope, const Input& a_indices,
                               const Input& a_values, const Input& a_shape,
                               const Input& b,
                               const SparseTensorDenseMatMulAttrs& attrs = {});

Output SparseToDense(const Scope& scope, const Input& sparse_indices,
                     const Input& output_shape, const Input& sparse_values,
                     const Input& default_value, bool validate_indices = true);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_SPARSE_SPARSE_OPS_H_
