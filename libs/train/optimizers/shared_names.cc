#include "libs/train/optimizers/shared_names.h"

#include "absl/strings/str_cat.h"

namespace weft::train {
namespace {

constexpr char kUsualStep[] = "global_step";

// Returns the string attr `attr` of the variable's node; "" if the node does
// not have it.
std::string TextOf(const Output& variable, absl::string_view attr) {
  const auto* const text = variable.node()->attr<std::string>(attr);
  return text == nullptr ? std::string() : *text;
}

}  // namespace

Scope InContainerOf(const Scope& scope, const Output& variable) {
  return variable ? scope.WithContainer(TextOf(variable, "container")) : scope;
}

Scope BesideVariable(const Scope& scope, const Output& variable) {
  const Scope beside = scope.ColocateWith(variable);
  return scope.container().empty() ? InContainerOf(beside, variable) : beside;
}

std::string SharedNameBeside(const Output& global_step,
                             absl::string_view name) {
  if (!global_step) return std::string(name);
  std::string step = TextOf(global_step, "shared_name");
  if (step.empty()) step = global_step.node()->name();
  if (step == kUsualStep) return std::string(name);
  return absl::StrCat(step, "/", name);
}

}  // namespace weft::train
