// EmbeddingParams is the table of a lookup: its rows in one or several parts,
// each a variable or a tensor.
//
// A small value that refers to the graph. Threads: as for the scope.
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
  // A tensor in one part. The value of a variable is treated as the variable,
  // so that only the requested rows leave its task.
  EmbeddingParams(const Output& table);                      // NOLINT
  EmbeddingParams(const std::vector<ops::Variable>& parts);  // NOLINT
  EmbeddingParams(const std::vector<Output>& parts);         // NOLINT

  // Returns INVALID_ARGUMENT if there are no parts, if one is null, a scalar,
  // or has another type or row shape than the first, or if the table is
  // partitioned along another dimension than its rows.
  absl::Status Check() const;

  int num_parts() const { return static_cast<int>(parts_.size()); }
  // REQUIRES for the remaining methods: Check() is OK.
  DataType dtype() const;
  // The name of the table for error texts, without a part's number.
  std::string name() const;
  // The shape of the whole table; unknown dimensions are -1. Of unknown rank if
  // nothing is known.
  PartialShape shape() const;
  // The number of rows of part `i`, a scalar of `dtype`, computed on its
  // device.
  Output RowsOf(const Scope& scope, int i, DataType dtype) const;
  // Rows of part `i`, gathered on its device.
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
