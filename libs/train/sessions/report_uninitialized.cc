#include "libs/train/sessions/report_uninitialized.h"

#include <cstdint>
#include <string>
#include <utility>

#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"

namespace weft::train {
namespace {

// TensorFlow's boolean_mask of a vector.
Output BooleanMask(const Scope& scope, const Output& values,
                   const Output& mask) {
  const Scope at = scope.SubScope("boolean_mask");
  const Output chosen = ops::Squeeze(at, ops::Where(at, mask), {.axis = {1}});
  return ops::GatherV2(at, values, chosen, 0);
}

Tensor NamesOf(absl::Span<const ops::Variable> variables) {
  Tensor names(DT_STRING, {static_cast<int64_t>(variables.size())});
  for (size_t i = 0; i < variables.size(); ++i) {
    names.mutable_flat<std::string>()[i] = variables[i].name();
  }
  return names;
}

}  // namespace

Output ReportUninitializedVariables(const Scope& scope,
                                    absl::Span<const ops::Variable> variables) {
  if (!scope.ok()) return Output();
  const Scope at = scope.CompositeScope("report_uninitialized_variables");
  const Scope here = at.WithoutDevice().WithDevice("/cpu:0");
  if (variables.empty()) return ops::Const(here, NamesOf(variables));
  InputList there;
  for (const ops::Variable& variable : variables) {
    there.push_back(variable.IsInitialized(at));
  }
  const Output missing = ops::LogicalNot(here, ops::Stack(here, there));
  return BooleanMask(here, ops::Const(here, NamesOf(variables)), missing);
}

Output ReportUninitializedVariables(const Scope& scope) {
  std::vector<ops::Variable> all = ops::GlobalVariables(scope);
  for (ops::Variable& local : ops::LocalVariables(scope)) {
    all.push_back(std::move(local));
  }
  return ReportUninitializedVariables(scope, all);
}

Operation WaitForVariables(const Scope& scope,
                           absl::Span<const ops::Variable> variables) {
  if (!scope.ok()) return Operation();
  const Scope at = scope.CompositeScope("wait_for_variables");
  std::vector<Operation> waits;
  for (const ops::Variable& variable : variables) {
    waits.emplace_back(at.ColocateWith(variable.handle())
                           .WithName(variable.name())
                           .AddNode(variable.is_resource()
                                        ? "WaitForVariable"
                                        : "WaitForRefVariable",
                                    {variable.handle()}));
  }
  return ops::Group(at, waits, "all");
}

}  // namespace weft::train
