#include "libs/graph/function_library.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/fnv1a.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Adds to `names` the functions that `function` may call: the ops of its nodes,
// and the functions that the nodes' attrs name.
void AddCallees(const FunctionDef& function, std::vector<std::string>& names) {
  for (const FunctionNode& node : function.nodes) {
    names.push_back(node.op);
    for (const auto& [name, value] : node.attrs) AddFunctionNames(value, names);
  }
}

// Returns the fingerprint of a list of texts after `text` is appended to it.
uint64_t ExtendFingerprint(uint64_t fingerprint, absl::string_view text) {
  return fingerprint * kFnv1aPrime + ExtendFnv1a(kFnv1aOffset, text);
}

}  // namespace

void AddFunctionNames(const AttrValue& value, std::vector<std::string>& names) {
  const auto add = [&names](const NameAttrList& function) {
    names.push_back(function.name);
    if (function.attrs == nullptr) return;
    for (const auto& [name, inner] : *function.attrs) {
      AddFunctionNames(inner, names);
    }
  };
  if (const auto* one = value.Get<NameAttrList>()) add(*one);
  if (const auto* list = value.Get<std::vector<NameAttrList>>()) {
    absl::c_for_each(*list, add);
  }
}

const FunctionDef* FunctionLibrary::Find(absl::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second.get();
}

absl::string_view FunctionLibrary::FindGradient(absl::string_view name) const {
  const auto it = gradients_.find(name);
  return it == gradients_.end() ? absl::string_view() : it->second;
}

absl::StatusOr<std::shared_ptr<const FunctionLibrary>> FunctionLibrary::With(
    absl::Span<const FunctionPtr> functions,
    const std::map<std::string, std::string, std::less<>>& gradients) const {
  const auto result = std::make_shared<FunctionLibrary>();
  const auto add = [&](const FunctionPtr& function) {
    std::string name = function->name();  // copied before it is moved
    return result->by_name_.emplace(std::move(name), function);
  };
  absl::c_for_each(functions_, add);
  result->functions_ = functions_;
  result->gradients_ = gradients_;
  for (const FunctionPtr& function : functions) {
    const auto [it, is_new] = add(function);
    if (is_new) {
      result->functions_.push_back(function);
    } else if (it->second->serialized != function->serialized) {
      return absl::InvalidArgumentError(
          absl::StrCat("Cannot add function '", function->name(),
                       "' because a different function with the same name "
                       "already exists."));
    }
  }
  for (const auto& [name, gradient] : gradients) {
    const auto [it, is_new] = result->gradients_.emplace(name, gradient);
    if (is_new || it->second == gradient) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Cannot assign gradient function '", gradient, "' to '", name,
        "' because it already has gradient function '", it->second, "'"));
  }
  return std::shared_ptr<const FunctionLibrary>(result);
}

std::shared_ptr<const FunctionLibrary> FunctionLibrary::ReachableFrom(
    absl::Span<const std::string> names) const {
  FlatHashSet<absl::string_view> reached;
  std::vector<std::string> waiting(names.begin(), names.end());
  std::map<std::string, std::string, std::less<>> gradients;
  while (!waiting.empty()) {
    const FunctionDef* function = Find(waiting.back());
    waiting.pop_back();
    if (function == nullptr || !reached.insert(function->name()).second) {
      continue;
    }
    AddCallees(*function, waiting);
    const absl::string_view gradient = FindGradient(function->name());
    if (gradient.empty()) continue;
    gradients.emplace(function->name(), gradient);
    waiting.emplace_back(gradient);
  }
  auto result = std::make_shared<FunctionLibrary>();
  result->gradients_ = std::move(gradients);
  for (const FunctionPtr& function : functions_) {
    if (!reached.contains(function->name())) continue;
    result->functions_.push_back(function);
    result->by_name_.emplace(function->name(), function);
  }
  return result;
}

// The fingerprint covers the text of each function that can be called and the
// name of its gradient function, in the order in which a walk over the bodies
// meets them. It includes the names of functions, which are the same in another
// program that uses the same library.
uint64_t FunctionLibrary::Fingerprint(absl::string_view name) const {
  FlatHashSet<absl::string_view> reached;
  std::vector<std::string> waiting = {std::string(name)};
  uint64_t result = 0;
  while (!waiting.empty()) {
    const FunctionDef* function = Find(waiting.back());
    waiting.pop_back();
    if (function == nullptr || !reached.insert(function->name()).second) {
      continue;
    }
    result = ExtendFingerprint(result, function->serialized);
    AddCallees(*function, waiting);
    const absl::string_view gradient = FindGradient(function->name());
    if (gradient.empty()) continue;
    result = ExtendFingerprint(result, gradient);
    waiting.emplace_back(gradient);
  }
  return result;
}

}  // namespace weft
