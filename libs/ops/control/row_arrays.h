// RowArrays holds the TensorArrays that a loop over the rows of tensors reads
// and writes. Internal to libs/ops.
//
// Errors stick to the scope. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_CONTROL_ROW_ARRAYS_H_
#define WEFT_LIBS_OPS_CONTROL_ROW_ARRAYS_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

class RowArrays {
 public:
  RowArrays() = default;
  // Creates arrays for `size` rows, one for each of `dtypes`.
  static RowArrays Empty(const Scope& scope, const Output& size,
                         const DataTypeVector& dtypes, const std::string& name);
  // Creates arrays that contain the rows of `tensors`.
  static RowArrays Of(const Scope& scope, const Output& size,
                      const std::vector<Output>& tensors,
                      const std::string& name);

  // Reads row `index` of each array, in `scope`.
  std::vector<Output> Read(const Scope& scope, const Output& index) const;
  // Sets row `index` of each array, in `scope`, after the given flows; returns
  // the new flows. INVALID_ARGUMENT unless there is a value of the right type
  // for each.
  std::vector<Output> Write(const Scope& scope, const Output& index,
                            const std::vector<Output>& values,
                            const std::vector<Output>& flows);
  // Returns all rows, after `flows`. `size` is the size given at creation.
  std::vector<Output> Stack(const Scope& scope, const Output& size,
                            const std::vector<Output>& flows) const;

  const std::vector<Output>& flows() const { return flows_; }
  size_t size() const { return handles_.size(); }

 private:
  std::vector<Output> handles_;
  std::vector<Output> flows_;
  DataTypeVector dtypes_;
  std::vector<PartialShape> row_shapes_;  // as far as known
};

// Returns the number of rows of `tensor` as a scalar, which is a constant if
// the number is known.
Output NumRows(const Scope& scope, const Output& tensor);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_ROW_ARRAYS_H_
