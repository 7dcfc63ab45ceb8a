// PartitionedVariable is a variable that the partitioner of its variable scope
// divides into parts along one dimension. It is TensorFlow's get_variable with
// a partitioner.
//
// Errors stick to the scope; variables are then null.
// Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_STATE_PARTITIONED_VARIABLE_H_
#define WEFT_LIBS_OPS_STATE_PARTITIONED_VARIABLE_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/variable.h"

namespace weft::ops {

// A variable in parts along one dimension: variables "NAME/part_0", ...; or in
// one part, if it was created from a Variable.
class PartitionedVariable {
 public:
  PartitionedVariable() = default;
  PartitionedVariable(const Variable& whole);  // NOLINT: one part

  explicit operator bool() const { return !parts_.empty(); }
  const std::vector<Variable>& parts() const { return parts_; }
  const std::string& name() const { return name_; }  // without "/part_0"
  const TensorShape& shape() const { return shape_; }
  DataType dtype() const { return parts_[0].dtype(); }
  // The partitioned dimension.
  int axis() const { return axis_; }
  // The start of part `i`.
  const Dims& offset(int i) const { return offsets_[i]; }
  bool is_partitioned() const { return is_partitioned_; }
  // Returns the concatenated parts, by a new node
  // "NAME/ConcatPartitions/concat".
  Output AsTensor(const Scope& scope) const;

 private:
  friend PartitionedVariable GetPartitionedVariable(const Scope&,
                                                    absl::string_view,
                                                    const TensorShape&,
                                                    const GetVariableOptions&);
  std::string name_;
  TensorShape shape_;
  int axis_ = 0;
  bool is_partitioned_ = false;
  std::vector<Variable> parts_;
  std::vector<Dims> offsets_;
};

// Like GetVariable, divided by the partitioner if there is one and the shape is
// not a scalar's; otherwise in one part. Sizes differ by at most one, with
// larger parts first.
PartitionedVariable GetPartitionedVariable(
    const Scope& scope, absl::string_view name, const TensorShape& shape,
    const GetVariableOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_STATE_PARTITIONED_VARIABLE_H_
