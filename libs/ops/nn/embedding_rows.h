// What the lookups of embedding_ops.h have in common. Internal to this room.
//
// Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_NN_EMBEDDING_ROWS_H_
#define WEFT_LIBS_OPS_NN_EMBEDDING_ROWS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/nn/embedding_params.h"
#include "libs/ops/scope.h"

namespace weft::nn {

// INVALID_ARGUMENT for a table, ids or a strategy that no lookup can have.
// REQUIRES: `ids` is not null.
absl::Status CheckLookup(const EmbeddingParams& params, const Output& ids,
                         const std::string& strategy);

// The distinct values of `ids`, a vector, and which of them each is. A step
// with an id that a table of several parts has no row for fails here, where its
// number of rows is known.
ops::UniqueOutputs UniqueIds(const Scope& scope, const EmbeddingParams& params,
                             const Output& ids);

// The rows of `ids`, a vector none of which occurs twice. REQUIRES: CheckLookup
// was OK.
Output LookUpDistinct(const Scope& scope, const EmbeddingParams& params,
                      const Output& ids, const std::string& strategy,
                      const std::optional<float>& max_norm);

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_EMBEDDING_ROWS_H_
