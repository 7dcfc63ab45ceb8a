// Embedding lookups in tables of any size: tf.nn.embedding_lookup and related
// functions, with TensorFlow's formulas and, for equal nodes, names.
//
//   auto table = ops::GetPartitionedVariable(
//       scope, "embedding", {10'000'000, 20},
//       {.partitioner = ops::FixedSizePartitioner(3)});
//   Output rows = nn::EmbeddingLookup(scope, table, ids);  // [ids..., 20]
//
// Each id is looked up once per step, however often it occurs: ids are first
// made unique, each part gathers its rows on its own device, and only these
// rows cross to another task. Gradients return in the same way: for each part,
// the summed rows that were looked up (IndexedSlices).
//
// A step that feeds an intermediate tensor of a lookup must keep the ids of
// each part distinct.
//
// Errors stick to the scope; outputs are then null. An id that the table does
// not have fails the step with INVALID_ARGUMENT. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_NN_EMBEDDING_OPS_H_
#define WEFT_LIBS_OPS_NN_EMBEDDING_OPS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "libs/ops/nn/embedding_params.h"
#include "libs/ops/scope.h"
#include "libs/ops/sparse/sparse_ops.h"

namespace weft::nn {

struct EmbeddingLookupOptions {
  // The assignment of ids to n parts. "mod": id is row id / n of part id % n.
  // "div": contiguous ids in parts whose sizes differ by at most one, larger
  // parts first, like a PartitionedVariable.
  std::string partition_strategy = "mod";
  // Rows with a larger L2 norm are scaled down to this norm.
  std::optional<float> max_norm;
};
// ids: int32 or int64, of any shape. Returns one row for each id: shape(ids) +
// shape(table)[1:].
Output EmbeddingLookup(const Scope& scope, const EmbeddingParams& params,
                       const Input& ids,
                       const EmbeddingLookupOptions& options = {});

struct EmbeddingLookupSparseOptions {
  std::string partition_strategy = "mod";
  // "sum"; "mean", the weighted sum divided by the sum of weights; "sqrtn",
  // divided by the square root of the sum of squared weights.
  std::string combiner = "mean";
  std::optional<float> max_norm;
};
// Returns one row for each row of `sp_ids`: the combined rows of its ids.
//   sp_ids: int32 or int64, [d0, d1], sorted, with an id in each row;
//   sp_weights: null for weights of 1, or a float for each id. Its indices
//   are assumed to equal those of sp_ids.
// half and bfloat16 are combined as floats; the result has the table's type.
Output EmbeddingLookupSparse(const Scope& scope, const EmbeddingParams& params,
                             const ops::SparseOutputs& sp_ids,
                             const ops::SparseOutputs& sp_weights = {},
                             const EmbeddingLookupSparseOptions& options = {});

struct SafeEmbeddingLookupSparseOptions {
  std::string combiner = "mean";
  // The id used for empty rows; not set: their result is 0.
  std::optional<int64_t> default_id;
  std::string partition_strategy = "div";
  std::optional<float> max_norm;
};
// Like EmbeddingLookupSparse, for rows that may be empty, and ids of rank 2 or
// more, of which all dimensions but the last are kept. Negative ids are
// ignored, and, unless the combiner is "sum", so are ids with weights <= 0.
Output SafeEmbeddingLookupSparse(
    const Scope& scope, const EmbeddingParams& embedding_weights,
    const ops::SparseOutputs& sparse_ids,
    const ops::SparseOutputs& sparse_weights = {},
    const SafeEmbeddingLookupSparseOptions& options = {});

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_EMBEDDING_OPS_H_
