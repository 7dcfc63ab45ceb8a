#include "libs/train/optimizers/optimizer.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/ops/adapt_value.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable_scope.h"
#include "libs/train/optimizers/shared_names.h"
#include "libs/train/optimizers/slot_keys.h"
#include "libs/train/optimizers/update_order.h"

namespace weft::train {
namespace {

std::string NamesOf(const std::vector<GradientAndVariable>& gradients) {
  return absl::StrJoin(
      gradients, ", ", [](std::string* out, const GradientAndVariable& item) {
        absl::StrAppend(out, item.variable ? item.variable.name() : "(null)");
      });
}

absl::Status CheckGradients(const std::vector<GradientAndVariable>& gradients) {
  if (gradients.empty()) {
    return absl::InvalidArgumentError("No variables provided.");
  }
  std::set<const Node*> seen;
  bool any = false;
  for (const GradientAndVariable& item : gradients) {
    if (!item.variable) {
      return absl::InvalidArgumentError("a variable to be trained is null");
    }
    if (!seen.insert(item.variable.handle().node()).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variable '", item.variable.name(), "' has two gradients"));
    }
    any = any || !item.gradient.IsNone();
  }
  if (any) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "No gradients provided for any variable: ", NamesOf(gradients), "."));
}

// Returns, for each item, the reads of its variable that must precede the
// update of that variable.
std::vector<std::vector<Operation>> ReadersBeforeUpdates(
    const Graph& graph, const std::vector<GradientAndVariable>& items) {
  std::vector<Gradient> gradients;
  for (const GradientAndVariable& item : items) {
    gradients.push_back(item.gradient);
  }
  const UpdateOrder order(graph, gradients);
  std::vector<std::vector<Operation>> result;
  for (const GradientAndVariable& item : items) {
    result.push_back(order.ReadersBefore(item.variable, item.gradient));
  }
  return result;
}

// Returns the gradient with the rows of each index summed.
Gradient SumRepeatedRows(const Scope& scope, const Gradient& gradient) {
  const auto unique = ops::Unique(scope, gradient.indices);
  if (!unique.y) return Gradient();
  const Output count = ops::Size(scope, unique.y);
  Gradient result;
  result.indices = unique.y;
  result.values =
      ops::UnsortedSegmentSum(scope, gradient.values, unique.idx, count);
  result.dense_shape = gradient.dense_shape;
  result.is_distinct = true;
  return result;
}

}  // namespace

std::vector<GradientAndVariable> Optimizer::ComputeGradients(
    const Scope& scope, const Output& loss,
    const ComputeGradientsOptions& options) {
  if (!scope.ok()) return {};
  std::vector<ops::Variable> variables = options.var_list;
  if (variables.empty()) variables = ops::TrainableVariables(scope);
  std::vector<Output> handles;
  for (const ops::Variable& variable : variables) {
    handles.push_back(variable.handle());
  }
  if (handles.empty()) {
    scope.UpdateStatus(absl::InvalidArgumentError("No variables to optimize."));
    return {};
  }
  GradientOptions gradient_options;
  gradient_options.colocate_gradients_with_ops =
      options.colocate_gradients_with_ops;
  if (options.grad_loss) gradient_options.grad_ys = {options.grad_loss};
  absl::StatusOr<std::vector<Gradient>> gradients =
      AddGradients(scope, {loss}, handles, gradient_options);
  if (!gradients.ok()) {
    scope.UpdateStatus(gradients.status());
    return {};
  }
  std::vector<GradientAndVariable> result;
  for (size_t i = 0; i < variables.size(); ++i) {
    result.push_back({(*gradients)[i], variables[i]});
  }
  return result;
}

Operation Optimizer::Minimize(const Scope& scope, const Output& loss,
                              const MinimizeOptions& options) {
  // The scope's own name is meant for the training operation, not for the
  // gradients.
  const std::vector<GradientAndVariable> gradients =
      ComputeGradients(scope.WithName(""), loss,
                       {options.var_list, options.colocate_gradients_with_ops,
                        options.grad_loss});
  if (!scope.ok()) return Operation();
  const bool none = std::all_of(
      gradients.begin(), gradients.end(),
      [](const GradientAndVariable& item) { return item.gradient.IsNone(); });
  if (none) {
    scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "No gradients provided for any variable, check your graph for ops that "
        "do not support gradients, between variables [",
        NamesOf(gradients), "] and loss ", loss.name(), ".")));
    return Operation();
  }
  return ApplyGradients(scope, gradients, {options.global_step, options.name});
}

Operation Optimizer::ApplyGradients(
    const Scope& scope, const std::vector<GradientAndVariable>& gradients,
    const ApplyGradientsOptions& options) {
  if (!scope.ok()) return Operation();
  if (absl::Status status = CheckGradients(gradients); !status.ok()) {
    scope.UpdateStatus(Annotate(status, name_));
    return Operation();
  }
  std::vector<GradientAndVariable> items;
  std::vector<ops::Variable> variables;
  for (const GradientAndVariable& item : gradients) {
    if (item.gradient.IsNone()) continue;
    items.push_back(item);
    variables.push_back(item.variable);
  }
  const std::vector<std::vector<Operation>> readers =
      ReadersBeforeUpdates(scope.graph(), items);
  CreateSlots(scope.WithoutControlDependencies(), variables);
  const Scope named =
      (options.name.empty() ? scope : scope.WithName(options.name))
          .CompositeScope(name_);
  Prepare(named);
  std::vector<Operation> updates;
  for (size_t i = 0; i < items.size() && scope.ok(); ++i) {
    updates.push_back(AddUpdate(named, items[i], readers[i]));
  }
  if (!scope.ok()) return Operation();
  const Operation last = AddFinish(named, updates, options.global_step);
  scope.AddToCollection(collection::kTrainOp, last);
  return last;
}

Operation Optimizer::AddUpdate(const Scope& scope,
                               const GradientAndVariable& item,
                               const std::vector<Operation>& after) {
  const ops::Variable& variable = item.variable;
  const Scope beside = scope.SubScope(absl::StrCat("update_", variable.name()))
                           .ColocateWith(variable.handle())
                           .WithControlDependencies(after);
  return item.gradient.IsSparse()
             ? ApplySparse(beside, variable, item.gradient)
             : ApplyDense(beside, variable, item.gradient.dense);
}

// Adds the last operation, which has the name of the optimizer.
Operation Optimizer::AddFinish(const Scope& named,
                               const std::vector<Operation>& updates,
                               const ops::Variable& global_step) {
  std::vector<Operation> all = updates;
  for (const Operation& extra : Finish(named, updates)) all.push_back(extra);
  const Scope last = named.WithName(named.prefix());
  if (!global_step) return ops::Group(last, all);
  const Operation update = ops::Group(named.WithName("update"), all);
  if (!update) return Operation();
  // If the counter is a resource, it is read after its increment, so that the
  // step ends with the increment.
  const Scope after =
      last.WithControlDependencies({update}).ColocateWith(global_step.handle());
  const absl::StatusOr<Tensor> one =
      AdaptValue(Tensor::Scalar(1), global_step.dtype());
  if (!one.ok()) {
    named.UpdateStatus(one.status());
    return Operation();
  }
  return after.AddNode(
      global_step.is_resource() ? "AssignAddVariableOp" : "AssignAdd",
      {global_step.handle(), *one});
}

void Optimizer::CreateSlots(const Scope&, const std::vector<ops::Variable>&) {}

Operation Optimizer::ApplySparse(const Scope& scope,
                                 const ops::Variable& variable,
                                 const Gradient& gradient) {
  if (gradient.is_distinct) return ApplySparseUnique(scope, variable, gradient);
  const Gradient unique = SumRepeatedRows(scope, gradient);
  if (!scope.ok()) return Operation();
  return ApplySparseUnique(scope, variable, unique);
}

std::vector<Operation> Optimizer::Finish(const Scope&,
                                         const std::vector<Operation>&) {
  return {};
}

void Optimizer::PrepareHyper(const Scope& scope, Hyper& hyper) {
  const Scope named = scope.WithName(hyper.name);
  if (!hyper.value.value() || !hyper.value.adapts()) {
    hyper.tensor = named.ToOutput(hyper.value, hyper.name);
    return;
  }
  // Converts any C++ number to float, as in TensorFlow.
  absl::StatusOr<Tensor> value = AdaptValue(*hyper.value.value(), DT_FLOAT);
  if (!value.ok()) {
    scope.UpdateStatus(Annotate(value.status(), hyper.name));
    return;
  }
  hyper.tensor = named.ToOutput(*std::move(value), hyper.name);
}

Output Optimizer::HyperFor(const Scope& scope, const Hyper& hyper,
                           const ops::Variable& variable) {
  if (!hyper.tensor) return Output();
  if (RemoveRefType(hyper.tensor.dtype()) == variable.dtype()) {
    return hyper.tensor;
  }
  return ops::Cast(scope, hyper.tensor, variable.dtype());
}

ops::Variable Optimizer::GetSlot(const ops::Variable& variable,
                                 const std::string& slot) const {
  if (!variable) return ops::Variable();
  const auto it = slots_.find({variable.handle().node(), slot});
  return it == slots_.end() ? ops::Variable() : it->second;
}

void Optimizer::MakeSlot(const Scope& scope, const ops::Variable& variable,
                         const std::string& slot, const std::string& node_name,
                         const ops::Initializer& initializer) {
  if (!scope.ok() || GetSlot(variable, slot)) return;
  if (!variable.shape().IsFullyDefined()) {
    scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        name_, " keeps a slot beside variable '", variable.name(),
        "', whose shape must be known but is ", variable.shape().ToString())));
    return;
  }
  ops::VariableOptions options;
  options.dtype = variable.dtype();
  options.trainable = false;
  options.use_resource = variable.is_resource();
  const Scope beside =
      BesideVariable(scope.ReenterScope("").WithName(
                         Scope::VariableScopeState::Of(scope).FullName(
                             absl::StrCat(variable.name(), "/", node_name))),
                     variable.handle());
  const ops::Variable made(beside, initializer, variable.shape().ToShape(),
                           options);
  slots_[{variable.handle().node(), slot}] = made;
  if (!made) return;
  const GraphWriter::Turn turn(scope.graph().writer());
  if (!turn) return;
  VariableStore& store = VariableStore::Of(scope);
  store.primaries[made.handle().node()] = variable.handle().node();
  // The slots of a variable's partitions are the partitions of one slot. If
  // there is only one partition, its slot has TensorFlow's key.
  auto& slices = store.slices;
  const auto part = slices.find(variable.handle().node());
  if (part == slices.end()) return;
  ops::SaveSliceInfo slice = part->second;
  const SlotKeys keys =
      KeysOfSlot(slice.full_name, variable.name(), made.name());
  const bool is_only_part = slice.full_shape == variable.shape().ToShape();
  slice.full_name = is_only_part ? keys.of_part : keys.of_all_parts;
  slices[made.handle().node()] = std::move(slice);
}

Output Optimizer::Slot(const ops::Variable& variable,
                       const std::string& slot) const {
  return GetSlot(variable, slot).handle();
}

Operation Optimizer::AddApply(const Scope& scope, const ops::Variable& variable,
                              const Gradient& gradient, const char* rule,
                              const std::vector<std::string>& slots,
                              const InputList& before, const InputList& after,
                              AttrMap attrs) const {
  InputList inputs = {variable.handle()};
  for (const std::string& slot : slots) inputs.push_back(Slot(variable, slot));
  inputs.insert(inputs.end(), before.begin(), before.end());
  if (gradient.IsSparse()) {
    inputs.push_back(gradient.values);
    inputs.push_back(gradient.indices);
  } else {
    inputs.push_back(gradient.dense);
  }
  inputs.insert(inputs.end(), after.begin(), after.end());
  return scope.AddNode(
      absl::StrCat(variable.is_resource() ? "Resource" : "",
                   gradient.IsSparse() ? "Sparse" : "", "Apply", rule),
      inputs, std::move(attrs));
}

}  // namespace weft::train
