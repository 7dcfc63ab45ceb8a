// Lookups of rows in tables of any size: tf.nn.embedding_lookup and its
// neighbours, with their formulas and, where they make the same nodes, names.
//
//   auto table = ops::GetPartitionedVariable(
//       scope, "embedding", {10'000'000, 20},
//       {.partitioner = ops::FixedSizePartitioner(3)});
//   Output rows = nn::EmbeddingLookup(scope, table, ids);  // [ids..., 20]
//
// Each id is looked up once in a step, however often it occurs: ids are made
// unique first, each part gathers its rows where it lies, and only these cross
// to another task. The gradient comes back in the same way: for each part the
// rows that were looked up, summed already (IndexedSlices).
//
// Whoever feeds a tensor in the midst of a lookup must keep the ids of each
// part distinct.
//
// Errors stick to the scope; outputs are null then. An id that the table does
// not have is INVALID_ARGUMENT in the step. Threads: as the scope's.
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
  // Which row of which of n parts an id names. "mod": row id / n of part id %
  // n. "div": ids in order, of parts whose sizes differ by at most one, larger
  // ones first; as a PartitionedVariable is cut.
  std::string partition_strategy = "mod";
  // Rows of a larger L2 norm are scaled down to it.
  std::optional<float> max_norm;
};
// ids: int32 or int64, of any shape. The result has one row for each of them:
// shape(ids) + shape(table)[1:].
Output EmbeddingLookup(const Scope& scope, const EmbeddingParams& params,
                       const Input& ids,
                       const EmbeddingLookupOptions& options = {});

struct EmbeddingLookupSparseOptions {
  std::string partition_strategy = "mod";
  // "sum"; "mean", the weighted sum divided by the sum of weights; "sqrtn",
  // divided by the root of the sum of their squares.
  std::string combiner = "mean";
  std::optional<float> max_norm;
};
// One row for each row of `sp_ids`, combined of the rows of its ids.
//   sp_ids: int32 or int64, [d0, d1], in order, each row with an id;
//   sp_weights: null, for weights of 1, or a float for each id. Its indices
//   are taken to be those of sp_ids.
// Halves and bfloat16 are combined as floats, and stay so.
Output EmbeddingLookupSparse(const Scope& scope, const EmbeddingParams& params,
                             const ops::SparseOutputs& sp_ids,
                             const ops::SparseOutputs& sp_weights = {},
                             const EmbeddingLookupSparseOptions& options = {});

struct SafeEmbeddingLookupSparseOptions {
  std::string combiner = "mean";
  // The id of rows that have none; unset: their result is 0.
  std::optional<int64_t> default_id;
  std::string partition_strategy = "div";
  std::optional<float> max_norm;
};
// The same for rows that may be empty, and ids of any rank of 2 and more, of
// which all dimensions but the last are kept. Negative ids are left out, and,
// unless the combiner is "sum", so are those with weights of 0 and less.
Output SafeEmbeddingLookupSparse(
    const Scope& scope, const EmbeddingParams& embedding_weights,
    const ops::SparseOutputs& sparse_ids,
    const ops::SparseOutputs& sparse_weights = {},
    const SafeEmbeddingLookupSparseOptions& options = {});

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_EMBEDDING_OPS_H_
