#include "libs/ops/state/variable_scope.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/ops/state/variable.h"

namespace weft {

const Scope::VariableScopeState& Scope::VariableScopeState::Of(
    const Scope& scope) {
  static const auto& root = *new VariableScopeState;
  return scope.variable_scope() ? *scope.variable_scope() : root;
}

std::string Scope::VariableScopeState::FullName(absl::string_view inner) const {
  return name.empty() ? std::string(inner) : absl::StrCat(name, "/", inner);
}

namespace ops {
namespace {

using State = Scope::VariableScopeState;

State Inside(const State& outer, std::string name,
             const VariableScopeOptions& options) {
  State state = outer;
  state.name = std::move(name);
  // An outer kTrue cannot be overridden.
  if (options.reuse && state.reuse != Reuse::kTrue) {
    state.reuse = *options.reuse;
  }
  if (options.initializer) state.initializer = options.initializer;
  if (options.regularizer) state.regularizer = options.regularizer;
  if (options.partitioner) state.partitioner = options.partitioner;
  if (options.dtype != DT_INVALID) state.dtype = options.dtype;
  if (options.use_resource) state.use_resource = *options.use_resource;
  return state;
}

// Counts the opening of a scope, and resets the counts of the scopes inside it.
void CountOpening(const Scope& scope, const std::string& name) {
  const GraphWriter::Turn turn(scope.graph().writer());
  if (!turn) return;
  auto& counts = VariableStore::Of(scope).scope_counts;
  ++counts[name];
  for (auto& [other, count] : counts) {
    if (absl::StartsWith(other, absl::StrCat(name, "/"))) count = 0;
  }
}

std::string UnusedScopeName(const Scope& scope, const std::string& prefix) {
  const auto& counts = VariableStore::Of(scope).scope_counts;
  const auto is_used = [&](const std::string& name) {
    auto it = counts.find(name);
    return it != counts.end() && it->second > 0;
  };
  std::string name = prefix;
  for (int i = 1; is_used(name); ++i) name = absl::StrCat(prefix, "_", i);
  return name;
}

Scope Open(const Scope& scope, absl::string_view name,
           const VariableScopeOptions& options) {
  const State& outer = State::Of(scope);
  State state = Inside(outer, outer.FullName(name), options);
  CountOpening(scope, state.name);
  return scope.SubScope(name).WithVariableScope(
      std::make_shared<const State>(std::move(state)));
}

}  // namespace

Scope VariableScope(const Scope& scope, absl::string_view name,
                    const VariableScopeOptions& options) {
  if (!name.empty()) return Open(scope, name, options);
  scope.UpdateStatus(absl::InvalidArgumentError("variable_scope needs a name"));
  return scope;
}

Scope UniqueVariableScope(const Scope& scope, absl::string_view default_name,
                          const VariableScopeOptions& options) {
  const State& outer = State::Of(scope);
  if (options.reuse == Reuse::kTrue) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        "reuse=True cannot be used without a name_or_scope"));
  }
  const std::string full = UnusedScopeName(scope, outer.FullName(default_name));
  const size_t skip = outer.name.empty() ? 0 : outer.name.size() + 1;
  return VariableScope(scope, absl::string_view(full).substr(skip), options);
}

Scope ReenterVariableScope(const Scope& scope, const Scope& of,
                           const VariableScopeOptions& options) {
  const State& old = State::Of(of);
  State state = Inside(old, old.name, options);
  CountOpening(scope, state.name);
  const size_t slash = old.name.rfind('/');
  const std::string last =
      slash == std::string::npos ? old.name : old.name.substr(slash + 1);
  return (last.empty() ? scope : scope.SubScope(last))
      .WithVariableScope(std::make_shared<const State>(std::move(state)));
}

std::string VariableScopeName(const Scope& scope) {
  return State::Of(scope).name;
}

Reuse VariableScopeReuse(const Scope& scope) { return State::Of(scope).reuse; }

}  // namespace ops
}  // namespace weft
