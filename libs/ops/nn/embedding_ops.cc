#include "libs/ops/nn/embedding_ops.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/nn/embedding_rows.h"
#include "libs/ops/nn/lookup_attrs.h"

namespace weft::nn {
namespace {

Output ConstLike(const Scope& scope, int64_t value, const Output& like) {
  return ops::AsTensor(scope, value, RemoveRefType(like.dtype()), "Const");
}

// The part of each id, and its row there.
struct Assignment {
  Output part;
  Output row;
};

Assignment ByMod(const Scope& scope, const Output& ids, int parts) {
  const Output n = ConstLike(scope, parts, ids);
  return {ops::FloorMod(scope.WithName("FloorMod"), ids, n),
          ops::FloorDiv(scope.WithName("floordiv"), ids, n)};
}

Output RowsInAll(const Scope& scope, const EmbeddingParams& params,
                 const Output& ids) {
  const PartialShape table = params.shape();
  if (table.has_rank() && table.dim(0) >= 0) {
    return ConstLike(scope, table.dim(0), ids);
  }
  InputList rows;
  for (int i = 0; i < params.num_parts(); ++i) {
    rows.emplace_back(params.RowsOf(scope, i, RemoveRefType(ids.dtype())));
  }
  return ops::Sum(scope, ops::Stack(scope, rows), 0);
}

// The first `extras` parts have one row more than the others.
Assignment ByDiv(const Scope& scope, const EmbeddingParams& params,
                 const Output& ids) {
  const Output n = ConstLike(scope, params.num_parts(), ids);
  const Output total = RowsInAll(scope, params, ids);
  const Scope div = scope.WithName("floordiv"),
              mod = scope.WithName("FloorMod");
  const Output per_part = ops::FloorDiv(div, total, n);
  const Output extras = ops::FloorMod(mod, total, n);
  const Output larger = ops::Add(scope.WithName("add"), per_part, 1);
  const Output past = ops::Sub(scope.WithName("sub"), ids, extras);
  const Output part = ops::Maximum(scope, ops::FloorDiv(div, ids, larger),
                                   ops::FloorDiv(div, past, per_part));
  return {part, ops::SelectV2(scope, ops::Less(scope, part, extras),
                              ops::FloorMod(mod, ids, larger),
                              ops::FloorMod(mod, past, per_part))};
}

// All dimensions but the first.
Output AxesOfRow(const Scope& scope, const Output& rows) {
  if (!rows.shape().has_rank()) {
    return ops::Range(scope.WithName("range"), 1, ops::Rank(scope, rows), 1);
  }
  std::vector<int32_t> axes(rows.shape().rank() - 1);
  std::iota(axes.begin(), axes.end(), 1);
  return ops::Const(scope, Tensor::Vector(absl::Span<const int32_t>(axes)));
}

// tf.clip_by_norm of each row. The gradient of the square root at 0 is 0.
Output ClipRows(const Scope& outer, const Output& rows, float max_norm) {
  if (!outer.ok()) return Output();
  const Scope scope = outer.SubScope("clip_by_norm");
  const Scope mul = scope.WithName("mul");
  const Output squares = ops::Sum(scope, ops::Mul(mul, rows, rows),
                                  AxesOfRow(scope, rows), {.keep_dims = true});
  const Output some = ops::Greater(scope, squares, 0.0f);
  const Output safe =
      ops::SelectV2(scope, some, squares,
                    ops::OnesLike(scope.WithName("ones_like"), squares));
  const Output norm =
      ops::SelectV2(scope, some, ops::Sqrt(scope, safe), squares);
  const Output clipped =
      ops::RealDiv(scope.WithName("truediv"), ops::Mul(mul, rows, max_norm),
                   ops::Maximum(scope, norm, max_norm));
  return ops::Identity(scope.WithName(scope.prefix()), clipped);
}

// Ids are distinct, so no row is requested twice from a part.
Output RowsOfDistinct(const Scope& scope, const EmbeddingParams& params,
                      const Output& ids, const std::string& strategy) {
  const Scope result = scope.WithName(scope.prefix());
  const ops::SparseReadOptions read = {.distinct_indices = true};
  const int parts = params.num_parts();
  if (parts == 1) return params.Gather(result, 0, ids, read);
  const Assignment at =
      strategy == "mod" ? ByMod(scope, ids, parts) : ByDiv(scope, params, ids);
  const Output part = ops::Cast(scope, at.part, DT_INT32);
  const Output places =
      ops::Range(scope.WithName("range"), 0, ops::Size(scope, ids), 1);
  const auto rows_of = ops::DynamicPartition(scope, at.row, part, parts);
  const auto places_of = ops::DynamicPartition(scope, places, part, parts);
  InputList found;
  for (int i = 0; i < parts && scope.ok(); ++i) {
    found.emplace_back(params.Gather(scope, i, rows_of[i], read));
  }
  if (!scope.ok()) return Output();
  return ops::ParallelDynamicStitch(
      result, InputList(places_of.begin(), places_of.end()), found);
}

bool HasRank(const Output& x, int rank) {
  return x.shape().has_rank() && x.shape().rank() == rank;
}

// `x`, a vector, reshaped to the shape of `like`.
Output InShapeOf(const Scope& scope, const Output& x, const Output& like) {
  if (HasRank(like, 1)) return x;
  return ops::Reshape(scope, x, ops::Shape(scope, like));
}

}  // namespace

absl::Status CheckLookup(const EmbeddingParams& params, const Output& ids,
                         const std::string& strategy) {
  RETURN_IF_ERROR(params.Check());
  if (strategy != "mod" && strategy != "div") {
    return absl::InvalidArgumentError(
        absl::StrCat("Unrecognized partition strategy: ", strategy));
  }
  const DataType dtype = RemoveRefType(ids.dtype());
  if (dtype != DT_INT32 && dtype != DT_INT64) {
    return absl::InvalidArgumentError(
        absl::StrCat("ids must be int32 or int64, but '", ids.name(), "' is ",
                     DataTypeName(dtype)));
  }
  const PartialShape table = params.shape();
  if (strategy == "div" && table.has_rank() && table.dim(0) >= 0 &&
      table.dim(0) < params.num_parts()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "partition strategy div needs a row in each part, but there are ",
        table.dim(0), " rows in ", params.num_parts(), " parts"));
  }
  return absl::OkStatus();
}

ops::UniqueOutputs UniqueIds(const Scope& scope, const EmbeddingParams& params,
                             const Output& ids) {
  AttrMap attrs = {{"out_idx", DT_INT32}};
  const PartialShape table = params.shape();
  if (params.num_parts() > 1 && table.has_rank() && table.dim(0) >= 0) {
    attrs[kLookupTableAttr] = params.name();
    attrs[kLookupRowsAttr] = table.dim(0);
  }
  const Node* node = scope.AddNode("Unique", {ids}, std::move(attrs));
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

Output LookUpDistinct(const Scope& scope, const EmbeddingParams& params,
                      const Output& ids, const std::string& strategy,
                      const std::optional<float>& max_norm) {
  const Output rows = RowsOfDistinct(scope, params, ids, strategy);
  return max_norm ? ClipRows(scope, rows, *max_norm) : rows;
}

Output EmbeddingLookup(const Scope& scope, const EmbeddingParams& params,
                       const Input& ids,
                       const EmbeddingLookupOptions& options) {
  const Scope inner = scope.CompositeScope("embedding_lookup");
  const Output all = ops::AsTensor(inner, ids, DT_INT32, "ids");
  if (!scope.ok()) return Output();
  inner.UpdateStatus(CheckLookup(params, all, options.partition_strategy));
  if (!scope.ok()) return Output();
  const Output flat =
      HasRank(all, 1) ? all : ops::Reshape(inner, all, ops::Ints({-1}));
  const auto unique = UniqueIds(inner, params, flat);
  if (!scope.ok()) return Output();
  // Placed before the rows, so that the last two nodes can be fused
  // (libs/passes/parted_lookup_fusion.h).
  const Output at = InShapeOf(inner, unique.idx, all);
  const Output rows = LookUpDistinct(
      inner, params, unique.y, options.partition_strategy, options.max_norm);
  return ops::GatherV2(inner, rows, at, 0);
}

}  // namespace weft::nn
