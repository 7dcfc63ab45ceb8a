// PartitionedVariable: a variable in parts along one dimension, as the
// partitioner of its variable scope says; TensorFlow's get_variable with a
// partitioner.
//
// Errors stick to the scope; variables are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_STATE_PARTITIONED_VARIABLE_H_
#define WEFT_LIBS_OPS_STATE_PARTITIONED_VARIABLE_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/variable.h"

namespace weft::ops {

// A variable in parts along one dimension: variables "NAME/part_0", ...; or in
// one, when it was made from a Variable.
class PartitionedVariable {
 public:
  PartitionedVariable() = default;
  PartitionedVariable(const Variable& whole);  // NOLINT: one part

  explicit operator bool() const { return !parts_.empty(); }
  const std::vector<Variable>& parts() const { return parts_; }
  const std::string& name() const { return name_; }  // without "/part_0"
  const TensorShape& shape() const { return shape_; }
  DataType dtype() const { return parts_[0].dtype(); }
  // The dimension that is cut.
  int axis() const { return axis_; }
  // Where part `i` begins.
  const Dims& offset(int i) const { return offsets_[i]; }
  bool is_partitioned() const { return is_partitioned_; }
  // The parts joined, by a new node "NAME/ConcatPartitions/concat".
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

// As GetVariable, cut by the partitioner, if there is one and the shape is not
// a scalar's; in one part else. Sizes differ by at most one, larger parts
// first.
PartitionedVariable GetPartitionedVariable(
    const Scope& scope, absl::string_view name, const TensorShape& shape,
    const GetVariableOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_STATE_PARTITIONED_VARIABLE_H_
