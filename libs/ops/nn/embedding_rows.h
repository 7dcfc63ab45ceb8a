// Helpers of the lookups in embedding_ops.h. Internal to this folder.
//
// Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_NN_EMBEDDING_ROWS_H_
#define WEFT_LIBS_OPS_NN_EMBEDDING_ROWS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/nn/embedding_params.h"
#include "libs/ops/scope.h"

namespace weft::nn {

// Returns INVALID_ARGUMENT for an invalid table, ids or strategy. REQUIRES:
// `ids` is not null.
absl::Status CheckLookup(const EmbeddingParams& params, const Output& ids,
                         const std::string& strategy);

// Returns the distinct values of `ids`, a vector, and the position of each id
// among them. For a table in several parts with a known number of rows, a step
// with an id out of range fails here.
ops::UniqueOutputs UniqueIds(const Scope& scope, const EmbeddingParams& params,
                             const Output& ids);

// Returns the rows of `ids`, a vector of distinct ids. REQUIRES: CheckLookup
// was OK.
Output LookUpDistinct(const Scope& scope, const EmbeddingParams& params,
                      const Output& ids, const std::string& strategy,
                      const std::optional<float>& max_norm);

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_EMBEDDING_ROWS_H_
