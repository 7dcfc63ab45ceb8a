#include "libs/gradients/aggregate.h"

#include <algorithm>
#include <map>

namespace weft {
namespace {

Output AddN(const Scope& scope, const std::vector<Output>& terms) {
  if (terms.size() == 1) return terms[0];
  return scope.AddOutput("AddN", InputList(terms.begin(), terms.end()));
}

// Adds the terms of each device there first, so that one tensor crosses to the
// others.
Output AddOnDevices(const Scope& scope, const std::vector<Output>& terms) {
  std::map<std::string, std::vector<Output>> by_device;
  for (const Output& term : terms) {
    if (!term) return Output();  // an error, which sticks
    by_device[term.node()->requested_device()].push_back(term);
  }
  if (by_device.size() == 1) return AddN(scope, terms);
  std::vector<Output> sums;
  for (const auto& [device, on_device] : by_device) {
    const Scope there = scope.ColocateWith(on_device[0]);
    sums.push_back(AddN(there, on_device));
  }
  return AddN(scope, sums);
}

Output Concat(const Scope& scope, const InputList& values) {
  InputList inputs = values;
  inputs.emplace_back(0);  // the axis
  return scope.AddOutput("ConcatV2", inputs);
}

Gradient JoinRows(const Scope& scope, const std::vector<Gradient>& parts) {
  const bool wide =
      std::any_of(parts.begin(), parts.end(), [](const Gradient& part) {
        return part.indices && part.indices.dtype() == DT_INT64;
      });
  InputList values, indices;
  for (const Gradient& part : parts) {
    if (!part.indices) return Gradient();  // an error, which sticks
    Output rows = part.indices;
    if (wide && rows.dtype() != DT_INT64) {
      rows = scope.AddOutput("Cast", {rows}, {{"DstT", DT_INT64}});
    }
    values.emplace_back(part.values);
    indices.emplace_back(rows);
  }
  Gradient result;
  result.values = Concat(scope, values);
  result.indices = Concat(scope, indices);
  result.dense_shape = parts[0].dense_shape;
  return result;
}

}  // namespace

Gradient Aggregate(const Scope& scope, const std::vector<Gradient>& parts) {
  if (parts.empty()) return Gradient();
  if (parts.size() == 1) return parts[0];
  const bool sparse =
      std::all_of(parts.begin(), parts.end(),
                  [](const Gradient& part) { return part.IsSparse(); });
  if (sparse) return JoinRows(scope, parts);
  std::vector<Output> terms;
  for (const Gradient& part : parts) terms.push_back(ToDense(scope, part));
  return AddOnDevices(scope, terms);
}

}  // namespace weft
