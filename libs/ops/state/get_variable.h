// GetVariable creates or finds a variable that is shared by name, by the rules
// of its variable scope (variable_scope.h). It is TensorFlow's get_variable.
//
// Errors stick to the scope; variables are then null.
// Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_STATE_GET_VARIABLE_H_
#define WEFT_LIBS_OPS_STATE_GET_VARIABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/initializers.h"
#include "libs/ops/state/partitioners.h"
#include "libs/ops/state/variable.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::ops {

struct GetVariableOptions {
  DataType dtype = DT_INVALID;  // default: the dtype of the scope
  // Default: that of the scope; if it has none, Glorot uniform for
  // floating-point types, zeros for integers and bool, INVALID_ARGUMENT for
  // others.
  Initializer initializer;
  // An initial value. It determines the shape, so `shape` must not be given.
  std::optional<Input> initial_value;
  Regularizer regularizer;
  Partitioner partitioner;
  bool trainable = true;
  std::vector<std::string> collections;  // empty: "variables"
  std::optional<bool> use_resource;
  bool validate_shape = true;
};

// Returns INVALID_ARGUMENT with TensorFlow's texts: for an existing variable if
// reuse is not allowed, for a missing one if reuse is required, for another
// shape or dtype, and if a partitioner applies (see partitioned_variable.h).
Variable GetVariable(const Scope& scope, absl::string_view name,
                     const PartialShape& shape,
                     const GetVariableOptions& options = {});
Variable GetVariable(const Scope& scope, absl::string_view name,
                     const GetVariableOptions& options);

// The following declarations serve partitioned_variable.h.

// The arguments of one call of get_variable, combined from scope and options.
struct VariableRequest {
  VariableRequest(const Scope& scope, absl::string_view base_name,
                  const PartialShape& wanted_shape,
                  const GetVariableOptions& options);
  // Takes the dtype of a value other than a C++ scalar, unless a dtype was
  // given.
  void TakeTypeOfValue();

  std::string name;  // full
  PartialShape shape;
  DataType dtype = DT_FLOAT;
  bool dtype_given = false;
  Reuse reuse = Reuse::kFalse;
  Initializer initializer;
  std::optional<Input> initial_value;
  Regularizer regularizer;
  Partitioner partitioner;
  VariableOptions variable;
};

// Finds the variable of the name that `request` gives, or creates it, by the
// scope's reuse rule. `partition` describes the part of a partitioned variable;
// null for a whole one.
absl::StatusOr<Variable> FindOrCreate(const Scope& scope,
                                      const VariableRequest& request,
                                      const PartitionInfo* partition);

// The scope for creating a variable with this full name, without name scopes
// and control dependencies of the caller.
Scope CreationScope(const Scope& scope, const std::string& full_name);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_STATE_GET_VARIABLE_H_
