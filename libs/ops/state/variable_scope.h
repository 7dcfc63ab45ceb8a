// VariableScope opens a scope of names, reuse rules and defaults for the
// variables that GetVariable (get_variable.h) creates. It is TensorFlow's
// variable_scope.
//
//   Scope layer =
//       ops::VariableScope(root, "layer", {.reuse = ops::kAutoReuse});
//   ops::Variable w = ops::GetVariable(layer, "w", {784, 10});  // "layer/w"
//
// A variable scope also opens a name scope of the same name. If it is opened
// twice, nodes are named "layer_1/...", but variables are "layer/..." again.
//
// Errors stick to the scope. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_STATE_VARIABLE_SCOPE_H_
#define WEFT_LIBS_OPS_STATE_VARIABLE_SCOPE_H_

#include <functional>
#include <optional>
#include <string>

#include "libs/ops/scope.h"
#include "libs/ops/state/initializers.h"
#include "libs/ops/state/partitioners.h"

namespace weft::ops {

// Whether GetVariable creates variables, finds them, or either.
enum class Reuse { kFalse, kTrue, kAuto };
inline constexpr Reuse kAutoReuse = Reuse::kAuto;

// A loss that depends on a variable's value; null for none.
using Regularizer = std::function<Output(const Scope& scope, Output value)>;

// Options of a variable scope. Unset options are inherited from the outer
// scope.
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
// Uses a unique name: `default_name`, with "_1", "_2" appended if that scope
// was opened before.
Scope UniqueVariableScope(const Scope& scope, absl::string_view default_name,
                          const VariableScopeOptions& options = {});
// Re-enters the variable scope of `of`, with the name scope of `scope`.
Scope ReenterVariableScope(const Scope& scope, const Scope& of,
                           const VariableScopeOptions& options = {});

// The full name of the variable scope, "" at the root.
std::string VariableScopeName(const Scope& scope);
// The reuse rule of GetVariable in this scope.
Reuse VariableScopeReuse(const Scope& scope);

}  // namespace weft::ops

namespace weft {

// The combined options of the enclosing scopes; at the root, the defaults here.
struct Scope::VariableScopeState {
  static const VariableScopeState& Of(const Scope& scope);
  // The full name of a variable or scope called `inner` here.
  std::string FullName(absl::string_view inner) const;

  std::string name;  // full; "" at the root
  ops::Reuse reuse = ops::Reuse::kFalse;
  ops::Initializer initializer;
  ops::Regularizer regularizer;
  ops::Partitioner partitioner;
  DataType dtype = DT_FLOAT;
  bool use_resource = true;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_STATE_VARIABLE_SCOPE_H_
