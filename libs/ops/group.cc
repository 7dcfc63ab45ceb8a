#include "libs/ops/group.h"

#include <map>

namespace weft::ops {

Operation NoOp(const Scope& scope) { return scope.AddNode("NoOp", {}); }

Operation Group(const Scope& scope, const std::vector<Operation>& operations,
                absl::string_view name) {
  std::map<std::string, std::vector<Operation>> by_device;
  for (const Operation& operation : operations) {
    // Null after an error, which sticks to the scope.
    if (!operation) return Operation();
    by_device[operation.node()->requested_device()].push_back(operation);
  }
  const Scope named = scope.own_name().empty() ? scope.WithName(name) : scope;
  if (by_device.empty()) return NoOp(named);
  if (by_device.size() == 1) {
    const auto& [device, on_device] = *by_device.begin();
    return NoOp(named.WithDevice(device).WithControlDependencies(on_device));
  }
  const Scope inner = named.CompositeScope(name);
  std::vector<Operation> groups;
  for (const auto& [device, on_device] : by_device) {
    groups.push_back(
        NoOp(inner.WithDevice(device).WithControlDependencies(on_device)));
  }
  return NoOp(scope.WithName(inner.prefix()).WithControlDependencies(groups));
}

}  // namespace weft::ops
