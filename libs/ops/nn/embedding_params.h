// EmbeddingParams: the table of a lookup: rows in one part or in several, each
// a variable or a tensor.
//
// A small value that refers to the graph. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_NN_EMBEDDING_PARAMS_H_
#define WEFT_LIBS_OPS_NN_EMBEDDING_PARAMS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/partitioned_variable.h"
#include "libs/ops/state/variable.h"

namespace weft::nn {

class EmbeddingParams {
 public:
  EmbeddingParams(const ops::PartitionedVariable& table);  // NOLINT
  EmbeddingParams(const ops::Variable& table);             // NOLINT: one part
  // A tensor in one part. A variable's own value is taken as the variable: no
  // more than the rows that are asked for leaves it then.
  EmbeddingParams(const Output& table);                      // NOLINT
  EmbeddingParams(const std::vector<ops::Variable>& parts);  // NOLINT
  EmbeddingParams(const std::vector<Output>& parts);         // NOLINT

  // INVALID_ARGUMENT where there are no parts, one is null, is a scalar, or has
  // another type or other rows than the first, or the table is cut along
  // another dimension than its rows.
  absl::Status Check() const;

  int num_parts() const { return static_cast<int>(parts_.size()); }
  // REQUIRES for the rest: Check() is OK.
  DataType dtype() const;
  // For error texts: the table's, without the number of a part.
  std::string name() const;
  // Of all parts; unknown dimensions are -1. Of unknown rank where nothing is
  // known.
  PartialShape shape() const;
  // The number of rows of part `i`, a scalar of `dtype`, computed there.
  Output RowsOf(const Scope& scope, int i, DataType dtype) const;
  // Rows of part `i`, gathered where the part is.
  Output Gather(const Scope& scope, int i, const Input& rows,
                const ops::SparseReadOptions& options = {}) const;

 private:
  struct Part {
    ops::Variable variable;  // or:
    Output tensor;
    PartialShape Shape() const;
    DataType Type() const;
    bool IsNull() const { return !variable && !tensor; }
  };
  absl::Status CheckPart(int i) const;

  std::vector<Part> parts_;
  int axis_ = 0;
};

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_EMBEDDING_PARAMS_H_
