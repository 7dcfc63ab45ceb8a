// VariableScope and GetVariable: variables that are shared by name, so that two
// places of a program mean the same one; TensorFlow's variable_scope and
// get_variable.
//
//   Scope layer = ops::VariableScope(root, "layer", {.reuse =
//   ops::kAutoReuse}); ops::Variable w = ops::GetVariable(layer, "w", {784,
//   10});   // "layer/w"
//
// A variable scope opens a name scope of that name too; opened twice, nodes get
// "layer_1/..." but variables are "layer/..." again.
//
// Errors stick to the scope; variables are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_VARIABLE_SCOPE_H_
#define WEFT_LIBS_OPS_VARIABLE_SCOPE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libs/ops/initializers.h"
#include "libs/ops/partitioners.h"
#include "libs/ops/scope.h"
#include "libs/ops/variable.h"

namespace weft::ops {

// Whether GetVariable makes variables, finds them, or does what is needed.
enum class Reuse { kFalse, kTrue, kAuto };
inline constexpr Reuse kAutoReuse = Reuse::kAuto;

// A loss that depends on a variable's value; null for none.
using Regularizer = std::function<Output(const Scope& scope, Output value)>;

// What is not set is that of the scope outside.
struct VariableScopeOptions {
  std::optional<Reuse> reuse;  // once kTrue, it stays kTrue inside
  Initializer initializer;
  Regularizer regularizer;
  Partitioner partitioner;
  DataType dtype = DT_INVALID;  // outermost: float
  std::optional<bool> use_resource;
};

// "outer/name". INVALID_ARGUMENT for an empty name.
Scope VariableScope(const Scope& scope, absl::string_view name,
                    const VariableScopeOptions& options = {});
// A name of its own: `default_name`, or "_1", "_2" after it when that scope
// has been opened before.
Scope UniqueVariableScope(const Scope& scope, absl::string_view default_name,
                          const VariableScopeOptions& options = {});
// The variable scope of `of`, entered again below the names of `scope`.
Scope ReenterVariableScope(const Scope& scope, const Scope& of,
                           const VariableScopeOptions& options = {});

// The full name of the variable scope, "" at the root.
std::string VariableScopeName(const Scope& scope);
// What GetVariable does here.
Reuse VariableScopeReuse(const Scope& scope);

struct GetVariableOptions {
  DataType dtype = DT_INVALID;  // that of the scope
  Initializer initializer;  // that of the scope, or Glorot uniform, or zeros
  // A value to begin with: it has the shape, so `shape` is not given.
  std::optional<Input> initial_value;
  Regularizer regularizer;
  Partitioner partitioner;
  bool trainable = true;
  std::vector<std::string> collections;  // empty: "variables"
  std::optional<bool> use_resource;
  bool validate_shape = true;
};

// INVALID_ARGUMENT, with TensorFlow's texts, for a variable that exists where
// reuse is not allowed, does not where it is asked for, or differs in shape or
// dtype; and where a partitioner applies (see GetPartitionedVariable).
Variable GetVariable(const Scope& scope, absl::string_view name,
                     const PartialShape& shape,
                     const GetVariableOptions& options = {});
Variable GetVariable(const Scope& scope, absl::string_view name,
                     const GetVariableOptions& options);

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

#endif  // WEFT_LIBS_OPS_VARIABLE_SCOPE_H_
