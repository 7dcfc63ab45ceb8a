// VariableScope: names, reuse rules and defaults for the variables that
// GetVariable (get_variable.h) makes inside; TensorFlow's variable_scope.
//
//   Scope layer =
//       ops::VariableScope(root, "layer", {.reuse = ops::kAutoReuse});
//   ops::Variable w = ops::GetVariable(layer, "w", {784, 10});  // "layer/w"
//
// A variable scope opens a name scope of that name too; opened twice, nodes get
// "layer_1/..." but variables are "layer/..." again.
//
// Errors stick to the scope. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_STATE_VARIABLE_SCOPE_H_
#define WEFT_LIBS_OPS_STATE_VARIABLE_SCOPE_H_

#include <functional>
#include <optional>
#include <string>

#include "libs/ops/scope.h"
#include "libs/ops/state/initializers.h"
#include "libs/ops/state/partitioners.h"

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

}  // namespace weft::ops

namespace weft {

// What the scopes outside add up to; at the root, the values here.
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
