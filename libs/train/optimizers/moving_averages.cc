#include "libs/train/optimizers/moving_averages.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/adapt_value.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/state/initializers.h"
#include "libs/ops/state/variable_scope.h"
#include "libs/train/optimizers/shared_names.h"

namespace weft::train {
namespace {

// Returns 1 - decay, in the type of the variable. A C++ number is subtracted at
// graph construction, in full precision.
Output OneMinus(const Scope& scope, const Input& decay, DataType dtype) {
  if (decay.value() && decay.adapts()) {
    absl::StatusOr<Tensor> number = AdaptValue(*decay.value(), DT_DOUBLE);
    if (number.ok() && number->num_elements() == 1) {
      return ops::AsTensor(scope, 1.0 - number->scalar<double>(), dtype,
                           "decay");
    }
  }
  const Output given = ops::AsTensor(scope, decay, DT_FLOAT, "decay");
  return ops::CastTo(scope, ops::Sub(scope.WithName("sub"), 1.0f, given), dtype,
                     "decay");
}

// Returns a variable of zeros colocated with `variable`. As in TensorFlow, it
// is in a variable scope that has the name of `variable`, inside the current
// variable scope.
ops::Variable ZerosBeside(const Scope& scope, const ops::Variable& variable,
                          absl::string_view name, const TensorShape& shape) {
  const std::string outer = ops::VariableScopeName(scope);
  ops::VariableOptions options;
  options.dtype = variable.dtype();
  options.trainable = false;
  const Scope named = BesideVariable(
      scope.ReenterScope("").WithName(absl::StrCat(
          outer, outer.empty() ? "" : "/", variable.name(), "/", name)),
      variable.handle());
  return ops::Variable(named, ops::initializers::Zeros(), shape, options);
}

// Updates an average that started at 0, which is a separate variable. Sets
// `variable` to that average divided by the bias correction 1 - decay ^
// updates.
Output AssignDebiased(const Scope& scope, const ops::Variable& variable,
                      const Output& value, const Output& one_minus_decay) {
  if (!variable.shape().IsFullyDefined()) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("zero_debias: the shape of variable '", variable.name(),
                     "' must be known, but is ", variable.shape().ToString())));
    return Output();
  }
  const Scope sub = scope.WithName("sub");
  const ops::Variable biased =
      ZerosBeside(scope, variable, "biased", variable.shape().ToShape());
  const ops::Variable steps =
      ZerosBeside(scope, variable, "local_step", TensorShape());
  if (!biased || !steps) return Output();
  const Output difference = ops::Sub(sub, biased.Read(scope), value);
  const Output average = ops::AssignSub(
      scope, biased,
      ops::Mul(scope.WithName("mul"), difference, one_minus_decay));
  const Output step = ops::AssignAdd(scope, steps, 1.0);
  const Output decay = ops::Sub(sub, 1.0, one_minus_decay);
  const Output factor = ops::Sub(sub, 1.0, ops::Pow(scope, decay, step));
  return ops::Assign(scope.WithName(scope.prefix()), variable,
                     ops::RealDiv(scope.WithName("truediv"), average, factor));
}

bool CheckAveraged(const Scope& scope, DataType dtype, absl::string_view name) {
  if (IsFloatingType(RemoveRefType(dtype))) return true;
  scope.UpdateStatus(absl::InvalidArgumentError(
      absl::StrCat("The variables must be half, float, or double: ", name)));
  return false;
}

}  // namespace

Output AssignMovingAverage(const Scope& scope, const ops::Variable& variable,
                           const Input& value, const Input& decay,
                           bool zero_debias) {
  if (!scope.ok()) return Output();
  if (!variable) {
    scope.UpdateStatus(
        absl::InvalidArgumentError("assign_moving_average: variable is null"));
    return Output();
  }
  const Scope named = scope.CompositeScope("AssignMovingAvg");
  const Output rest = OneMinus(named, decay, variable.dtype());
  const Scope inner = named.ColocateWith(variable.handle());
  const Output now = ops::AsTensor(inner, value, variable.dtype(), "value");
  if (!now || !ops::CheckSameShape(inner, variable.value(), now)) {
    return Output();
  }
  if (zero_debias) return AssignDebiased(inner, variable, now, rest);
  const Output difference =
      ops::Sub(inner.WithName("sub"), variable.Read(inner), now);
  const Output delta = ops::Mul(inner.WithName("mul"), difference, rest);
  return ops::AssignSub(
      variable.is_resource() ? inner : inner.WithName(inner.prefix()), variable,
      delta);
}

ExponentialMovingAverage::ExponentialMovingAverage(
    Input decay, ExponentialMovingAverageOptions options)
    : decay_(std::move(decay)), options_(std::move(options)) {}

namespace {

// Returns the variable's value if it has one, otherwise its initial value.
Output InitializedValue(const Scope& scope, const ops::Variable& variable) {
  const Output has_value = variable.IsInitialized(scope);
  const Output handle = variable.handle();
  const Output present =
      variable.is_resource()
          ? scope.AddOutput("ReadVariableOp",
                            {ops::Switch(scope, handle, has_value).output_true},
                            {{"dtype", variable.dtype()}})
          : ops::Identity(scope,
                          ops::RefSwitch(scope, handle, has_value).output_true);
  const Output first =
      ops::Switch(scope, variable.initial_value(), has_value).output_false;
  const Output value = ops::Merge(scope, {first, present}).output;
  return ops::EnsureShape(scope, value, variable.shape());
}

}  // namespace

void ExponentialMovingAverage::MakeAverage(const Scope& scope,
                                           const ops::Variable& variable) {
  ops::VariableOptions options;
  options.dtype = variable.dtype();
  options.trainable = false;
  options.use_resource = variable.is_resource();
  const Output handle = variable.handle();
  const Scope beside =
      BesideVariable(scope.WithName(AverageName(variable)), handle);
  const auto begin = [&variable](const Scope& at, const TensorShape&, DataType,
                                 const ops::PartitionInfo*) {
    return InitializedValue(at, variable);
  };
  averages_[{handle.node(), 0}] =
      ops::Variable(beside, begin, TensorShape(), options);
  scope.AddToCollection(kMovingAverageVariables, handle);
}

void ExponentialMovingAverage::MakeAverage(const Scope& scope,
                                           const Output& tensor) {
  if (!tensor.shape().IsFullyDefined()) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat(name(), ": the shape of '", tensor.name(),
                     "' must be known to keep its average, but is ",
                     tensor.shape().ToString())));
    return;
  }
  ops::VariableOptions options;
  options.dtype = RemoveRefType(tensor.dtype());
  options.trainable = false;
  averages_[{tensor.node(), tensor.index()}] = ops::Variable(
      scope.WithName(AverageName(tensor)), ops::initializers::Zeros(),
      tensor.shape().ToShape(), options);
}

Operation ExponentialMovingAverage::Apply(
    const Scope& scope, const std::vector<ops::Variable>& variables) {
  const Scope root = scope.ReenterScope("").WithoutControlDependencies();
  std::vector<Averaged> averaged;
  for (const ops::Variable& variable : variables) {
    if (!scope.ok()) return Operation();
    if (!variable) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat(name(), ": a variable is null")));
      return Operation();
    }
    if (!CheckAveraged(scope, variable.dtype(), variable.name())) {
      return Operation();
    }
    if (!Average(variable)) MakeAverage(root, variable);
    averaged.push_back({variable.handle(), Output(), false});
  }
  return Update(scope, averaged);
}

Operation ExponentialMovingAverage::Apply(const Scope& scope) {
  return Apply(scope, ops::TrainableVariables(scope));
}

Operation ExponentialMovingAverage::ApplyToTensors(
    const Scope& scope, const std::vector<Output>& tensors) {
  const Scope root = scope.ReenterScope("").WithoutControlDependencies();
  std::vector<Averaged> averaged;
  for (const Output& tensor : tensors) {
    if (!scope.ok()) return Operation();
    if (!tensor) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat(name(), ": a tensor is null")));
      return Operation();
    }
    if (!CheckAveraged(scope, tensor.dtype(), tensor.name())) {
      return Operation();
    }
    // As in TensorFlow, only an average that is created here is debiased.
    const bool is_new = !Average(tensor);
    if (is_new) MakeAverage(root, tensor);
    averaged.push_back({tensor, tensor, is_new && options_.zero_debias});
  }
  return Update(scope, averaged);
}

Output ExponentialMovingAverage::DecayTensor(const Scope& scope) const {
  const Output decay = ops::AsTensor(scope, decay_, DT_FLOAT, "decay");
  if (!options_.num_updates.value() && !options_.num_updates.output()) {
    return decay;
  }
  const Output updates =
      ops::CastTo(scope.WithName("num_updates"), options_.num_updates, DT_FLOAT,
                  "num_updates");
  const Scope add = scope.WithName("add");
  const Output early =
      ops::RealDiv(scope.WithName("truediv"), ops::AddV2(add, 1.0f, updates),
                   ops::AddV2(add, 10.0f, updates));
  return ops::Minimum(scope, decay, early);
}

Operation ExponentialMovingAverage::Update(
    const Scope& scope, const std::vector<Averaged>& averaged) const {
  if (!scope.ok()) return Operation();
  const Scope inner = scope.CompositeScope(name());
  const Output decay = DecayTensor(inner);
  std::vector<Operation> updates;
  for (const Averaged& item : averaged) {
    const ops::Variable average = Find(item.key);
    if (!scope.ok() || !average) return Operation();
    Output value = item.value;
    // The value of a variable is read on the variable's device, where its
    // average is, too.
    if (!value) {
      value = ops::FindVariable(scope, item.key)
                  .Read(inner.ColocateWith(average.handle()));
    }
    updates.push_back(
        AssignMovingAverage(inner, average, value, decay, item.zero_debias));
  }
  if (!scope.ok()) return Operation();
  return ops::Group(inner.WithName(inner.prefix()), updates);
}

ops::Variable ExponentialMovingAverage::Find(const Output& key) const {
  const auto it = averages_.find({key.node(), key.index()});
  return it == averages_.end() ? ops::Variable() : it->second;
}

ops::Variable ExponentialMovingAverage::Average(
    const ops::Variable& variable) const {
  return variable ? Find(variable.handle()) : ops::Variable();
}

ops::Variable ExponentialMovingAverage::Average(const Output& tensor) const {
  return tensor ? Find(tensor) : ops::Variable();
}

std::string ExponentialMovingAverage::AverageName(
    const ops::Variable& variable) const {
  if (const ops::Variable average = Average(variable)) return average.name();
  return variable ? absl::StrCat(variable.name(), "/", name()) : "";
}

std::string ExponentialMovingAverage::AverageName(const Output& tensor) const {
  if (const ops::Variable average = Average(tensor)) return average.name();
  return tensor ? absl::StrCat(tensor.node()->name(), "/", name()) : "";
}

}  // namespace weft::train
