// GetVariable: a variable shared by name, so that two places of a program mean
// the same one, by the rules of the variable scope it is called in
// (variable_scope.h); TensorFlow's get_variable.
//
// Errors stick to the scope; variables are null then. Threads: as the scope's.
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
  DataType dtype = DT_INVALID;  // that of the scope
  // That of the scope; where it has none, Glorot uniform for floating types,
  // zeros for integers and bool, INVALID_ARGUMENT for others.
  Initializer initializer;
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
// dtype; and where a partitioner applies (see partitioned_variable.h).
Variable GetVariable(const Scope& scope, absl::string_view name,
                     const PartialShape& shape,
                     const GetVariableOptions& options = {});
Variable GetVariable(const Scope& scope, absl::string_view name,
                     const GetVariableOptions& options);

// What follows serves partitioned_variable.h.

// What one call of get_variable comes to, scope and options taken together.
struct VariableRequest {
  VariableRequest(const Scope& scope, absl::string_view base_name,
                  const PartialShape& wanted_shape,
                  const GetVariableOptions& options);
  // A value that is no C++ scalar keeps its dtype, unless one was given.
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

// The variable of that name, or a new one, as the scope's reuse says.
// `partition`: what part of a variable it is; null for a whole one.
absl::StatusOr<Variable> FindOrCreate(const Scope& scope,
                                      const VariableRequest& request,
                                      const PartitionInfo* partition);

// A scope where a variable of that full name is made: no name scope and no
// control dependency of the caller's counts.
Scope CreationScope(const Scope& scope, const std::string& full_name);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_STATE_GET_VARIABLE_H_
