// Lookups by sparse ids: EmbeddingLookupSparse, SafeEmbeddingLookupSparse.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/nn/embedding_ops.h"
#include "libs/ops/nn/embedding_rows.h"

namespace weft::nn {
namespace {

absl::Status CheckIds(const ops::SparseOutputs& ids,
                      const std::string& combiner) {
  if (!ids.indices || !ids.values || !ids.shape) {
    return absl::InvalidArgumentError(
        "sparse ids need indices, values and a shape, but one of them is null");
  }
  if (combiner == "sum" || combiner == "mean" || combiner == "sqrtn") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("combiner must be one of 'mean', 'sqrtn' or 'sum', not '",
                   combiner, "'"));
}

bool CheckSparse(const Scope& scope, const ops::SparseOutputs& ids,
                 const ops::SparseOutputs& weights,
                 const std::string& combiner) {
  if (!scope.ok()) return false;
  scope.UpdateStatus(CheckIds(ids, combiner));
  if (!scope.ok() || !weights.values) return scope.ok();
  return ops::CheckSameShape(scope, ids.values, weights.values);
}

// The first column of the indices: the row of each id.
Output RowOfEach(const Scope& scope, const ops::SparseOutputs& ids) {
  const Output rows = ops::StridedSlice(
      scope, ids.indices, ops::Ints({0, 0}), ops::Ints({0, 1}),
      ops::Ints({1, 1}),
      {.begin_mask = 1, .end_mask = 1, .shrink_axis_mask = 2});
  return ops::Cast(scope, rows, DT_INT32);
}

Output CombineEqually(const Scope& result, const std::string& combiner,
                      const Output& rows, const Output& idx,
                      const Output& segments) {
  if (combiner == "sum") {
    return ops::SparseSegmentSum(result, rows, idx, segments);
  }
  if (combiner == "mean") {
    return ops::SparseSegmentMean(result, rows, idx, segments);
  }
  return ops::SparseSegmentSqrtN(result, rows, idx, segments);
}

// Reshapes [n] to [n, 1, 1, ...] with the rank of `rows`.
Output AsColumn(const Scope& scope, const Output& weights, const Output& rows) {
  if (rows.shape().has_rank()) {
    std::vector<int32_t> sizes(rows.shape().rank(), 1);
    sizes[0] = -1;
    return ops::Reshape(scope, weights,
                        Tensor::Vector(absl::Span<const int32_t>(sizes)));
  }
  const Output missing = ops::ExpandDims(
      scope, ops::Sub(scope.WithName("sub"), ops::Rank(scope, rows), 1), 0);
  const Output ones = ops::Fill(scope, missing, Tensor::Scalar<int32_t>(1));
  return ops::Reshape(scope, weights,
                      ops::Concat(scope.WithName("concat"),
                                  {ops::Shape(scope, weights), ones}, 0));
}

Output CombineWeighted(const Scope& scope, const Scope& result,
                       const std::string& combiner, const Output& rows,
                       const Output& weights, const Output& segments) {
  const Scope mul = scope.WithName("mul");
  const Output column = AsColumn(scope, weights, rows);
  const Output weighted = ops::Mul(mul, rows, column);
  if (combiner == "sum") return ops::SegmentSum(result, weighted, segments);
  const Output sums = ops::SegmentSum(scope, weighted, segments);
  if (combiner == "mean") {
    return ops::RealDiv(result, sums, ops::SegmentSum(scope, column, segments));
  }
  const Output squares =
      ops::SegmentSum(scope, ops::Mul(mul, column, column), segments);
  return ops::RealDiv(result, sums, ops::Sqrt(scope, squares));
}

// Uses a scope whose name the result has. `weights` may be null.
Output LookUpSparse(const Scope& scope, const EmbeddingParams& params,
                    const ops::SparseOutputs& ids, const Output& weights,
                    const EmbeddingLookupSparseOptions& options) {
  scope.UpdateStatus(
      CheckLookup(params, ids.values, options.partition_strategy));
  if (!scope.ok()) return Output();
  const Output segments = RowOfEach(scope, ids);
  const auto unique = UniqueIds(scope, params, ids.values);
  if (!scope.ok()) return Output();
  Output rows =
      LookUpDistinct(scope.SubScope("embedding_lookup"), params, unique.y,
                     options.partition_strategy, options.max_norm);
  if (!scope.ok()) return Output();
  if (rows.dtype() == DT_HALF || rows.dtype() == DT_BFLOAT16) {
    rows = ops::Cast(scope, rows, DT_FLOAT);
  }
  const Scope result = scope.WithName(scope.prefix());
  if (!weights) {
    return CombineEqually(result, options.combiner, rows, unique.idx, segments);
  }
  const Output each = ops::GatherV2(scope, rows, unique.idx, 0);
  return CombineWeighted(scope, result, options.combiner, each,
                         ops::InType(scope, weights, rows.dtype()), segments);
}

}  // namespace

Output EmbeddingLookupSparse(const Scope& scope, const EmbeddingParams& params,
                             const ops::SparseOutputs& sp_ids,
                             const ops::SparseOutputs& sp_weights,
                             const EmbeddingLookupSparseOptions& options) {
  if (!CheckSparse(scope, sp_ids, sp_weights, options.combiner)) {
    return Output();
  }
  return LookUpSparse(scope.CompositeScope("embedding_lookup_sparse"), params,
                      sp_ids, sp_weights.values, options);
}

namespace {

// Ids and their weights (may be null) at the same indices.
struct Weighted {
  ops::SparseOutputs ids;
  Output weights;
};

// The entries selected by `keep`, a vector of bool.
Weighted Retain(const Scope& scope, const Weighted& all, const Output& keep) {
  const Scope inner = scope.SubScope("SparseRetain");
  const Output at =
      ops::Reshape(inner, ops::Where(inner, keep), ops::Ints({-1}));
  Weighted result = all;
  result.ids.indices = ops::GatherV2(inner, all.ids.indices, at, 0);
  result.ids.values = ops::GatherV2(inner, all.ids.values, at, 0);
  if (all.weights) result.weights = ops::GatherV2(inner, all.weights, at, 0);
  return result;
}

Weighted Prune(const Scope& scope, Weighted all, const std::string& combiner) {
  all = Retain(scope, all, ops::GreaterEqual(scope, all.ids.values, 0));
  if (!all.weights || combiner == "sum" || !scope.ok()) return all;
  return Retain(scope, all, ops::Greater(scope, all.weights, 0));
}

// Returns whether it is known to have two dimensions.
bool IsMatrix(const ops::SparseOutputs& ids) {
  const PartialShape sizes = ids.shape.shape();
  return sizes.has_rank() && sizes.rank() == 1 && sizes.dim(0) == 2;
}

// The index of the last dimension.
Output Last(const Scope& scope, const ops::SparseOutputs& ids) {
  return ops::Sub(scope.WithName("sub"), ops::Size(scope, ids.shape), 1);
}

// Joins all dimensions but the last.
ops::SparseOutputs AsMatrix(const Scope& scope, const ops::SparseOutputs& ids,
                            const Output& last) {
  const Output outer = ops::Slice(scope, ids.shape, ops::Ints({0}),
                                  ops::ExpandDims(scope, last, 0));
  const Output rows = ops::Prod(scope, outer, 0);
  const Output columns = ops::GatherV2(scope, ids.shape, last, 0);
  const auto reshaped = ops::SparseReshape(scope, ids.indices, ids.shape,
                                           ops::Stack(scope, {rows, columns}));
  return {reshaped.output_indices, ids.values, reshaped.output_shape};
}

struct Filled {
  Weighted ids;
  Output is_row_empty;
};

Output ConstOfIdType(const Scope& scope, int64_t value, const Output& like) {
  return ops::AsTensor(scope, value, RemoveRefType(like.dtype()), "Const");
}

// Gives rows without an id the id `id`, with weight 1.
Filled FillEmptyRows(const Scope& scope, const Weighted& some, int64_t id) {
  const ops::SparseOutputs& ids = some.ids;
  const auto filled =
      ops::SparseFillEmptyRows(scope, ids.indices, ids.values, ids.shape,
                               ConstOfIdType(scope, id, ids.values));
  Filled result;
  result.ids.ids = {filled.output_indices, filled.output_values, ids.shape};
  result.is_row_empty = filled.empty_row_indicator;
  if (!some.weights || !scope.ok()) return result;
  result.ids.weights =
      ops::SparseFillEmptyRows(scope, ids.indices, some.weights, ids.shape,
                               ConstOfIdType(scope, 1, some.weights))
          .output_values;
  return result;
}

// Sets rows that were empty to 0, whatever row 0 of the table holds.
Output ZeroWhereEmpty(const Scope& scope, const Output& rows,
                      const Output& is_empty) {
  if (!scope.ok()) return Output();
  return ops::SelectV2(scope.WithName(scope.prefix()),
                       AsColumn(scope, is_empty, rows),
                       ops::ZerosLike(scope, rows), rows);
}

// Reshapes [rows, ...] to [outer dimensions of the ids, ...].
Output WithOuterShape(const Scope& scope, const Output& rows,
                      const Output& ids_shape, const Output& last) {
  const Output outer =
      ops::Slice(scope, ops::Cast(scope, ids_shape, DT_INT32), ops::Ints({0}),
                 ops::ExpandDims(scope, last, 0));
  const Output row = ops::Slice(scope, ops::Shape(scope, rows), ops::Ints({1}),
                                ops::Ints({-1}));
  return ops::Reshape(scope, rows,
                      ops::Concat(scope.WithName("concat"), {outer, row}, 0));
}

}  // namespace

Output SafeEmbeddingLookupSparse(
    const Scope& scope, const EmbeddingParams& embedding_weights,
    const ops::SparseOutputs& sparse_ids,
    const ops::SparseOutputs& sparse_weights,
    const SafeEmbeddingLookupSparseOptions& options) {
  if (!CheckSparse(scope, sparse_ids, sparse_weights, options.combiner)) {
    return Output();
  }
  const Scope inner = scope.CompositeScope("embedding_lookup");
  const bool is_matrix = IsMatrix(sparse_ids);
  const Output last = is_matrix ? Output() : Last(inner, sparse_ids);
  Weighted ids = {is_matrix ? sparse_ids : AsMatrix(inner, sparse_ids, last),
                  sparse_weights.values};
  if (!scope.ok()) return Output();
  ids = Prune(inner, ids, options.combiner);
  if (!scope.ok()) return Output();
  const Filled filled =
      FillEmptyRows(inner, ids, options.default_id.value_or(0));
  if (!scope.ok()) return Output();
  Output rows = LookUpSparse(
      inner.SubScope("embedding_lookup_sparse"), embedding_weights,
      filled.ids.ids, filled.ids.weights,
      {options.partition_strategy, options.combiner, options.max_norm});
  if (!scope.ok()) return Output();
  if (!options.default_id) {
    rows = ZeroWhereEmpty(inner, rows, filled.is_row_empty);
  }
  return is_matrix ? rows : WithOuterShape(inner, rows, sparse_ids.shape, last);
}

}  // namespace weft::nn
