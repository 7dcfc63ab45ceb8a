#include "libs/train/optimizers/slot_optimizers.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/state/initializers.h"

namespace weft::train {
namespace {

// Returns an error unless `value` >= 0. NaN also fails this check.
absl::Status CheckNotNegative(const char* name, double value) {
  if (value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", value, " needs to be positive or zero"));
}

absl::Status CheckPositive(const char* name, double value) {
  if (value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be positive: ", value));
}

constexpr char kL1[] = "l1_regularization_strength";
constexpr char kL2[] = "l2_regularization_strength";
constexpr char kL2Shrinkage[] = "l2_shrinkage_regularization_strength";

}  // namespace

SlotOptimizer::SlotOptimizer(std::string name, std::vector<SlotSpec> slots,
                             std::vector<Hyper> hypers)
    : Optimizer(std::move(name)),
      slot_specs_(std::move(slots)),
      hypers_(std::move(hypers)) {}

void SlotOptimizer::CreateSlots(const Scope& scope,
                                const std::vector<ops::Variable>& variables) {
  if (absl::Status status = CheckOptions(); !status.ok()) {
    scope.UpdateStatus(Annotate(status, name()));
    return;
  }
  for (const ops::Variable& variable : variables) {
    for (const SlotSpec& slot : slot_specs_) {
      MakeSlot(scope, variable, slot.name, name(),
               slot.initial_value == 0
                   ? ops::initializers::Zeros()
                   : ops::initializers::Constant(slot.initial_value));
    }
  }
}

void SlotOptimizer::Prepare(const Scope& scope) {
  for (Hyper& hyper : hypers_) PrepareHyper(scope, hyper);
}

InputList SlotOptimizer::HypersFor(const Scope& scope,
                                   const ops::Variable& variable) const {
  InputList result;
  for (const Hyper& hyper : hypers_) {
    result.push_back(HyperFor(scope, hyper, variable));
  }
  return result;
}

Operation SlotOptimizer::ApplyDense(const Scope& scope,
                                    const ops::Variable& variable,
                                    const Output& gradient) {
  return Apply(scope, variable, gradient, HypersFor(scope, variable));
}

Operation SlotOptimizer::ApplySparseUnique(const Scope& scope,
                                           const ops::Variable& variable,
                                           const Gradient& gradient) {
  return Apply(scope, variable, gradient, HypersFor(scope, variable));
}

Momentum::Momentum(Input learning_rate, Input momentum,
                   const MomentumOptions& options)
    : SlotOptimizer("Momentum", {{"momentum", 0}},
                    {Hyper(std::move(learning_rate), "learning_rate"),
                     Hyper(std::move(momentum), "momentum")}),
      options_(options) {}

Operation Momentum::Apply(const Scope& scope, const ops::Variable& variable,
                          const Gradient& gradient, const InputList& hypers) {
  return AddApply(scope, variable, gradient, "Momentum", {"momentum"},
                  {hypers[0]}, {hypers[1]},
                  {{"use_nesterov", options_.use_nesterov}});
}

Adagrad::Adagrad(Input learning_rate, const AdagradOptions& options)
    : SlotOptimizer("Adagrad",
                    {{"accumulator", options.initial_accumulator_value}},
                    {Hyper(std::move(learning_rate), "learning_rate")}),
      options_(options) {}

absl::Status Adagrad::CheckOptions() const {
  return CheckPositive("initial_accumulator_value",
                       options_.initial_accumulator_value);
}

Operation Adagrad::Apply(const Scope& scope, const ops::Variable& variable,
                         const Gradient& gradient, const InputList& hypers) {
  return AddApply(scope, variable, gradient, "Adagrad", {"accumulator"}, hypers,
                  {});
}

Adadelta::Adadelta(Input learning_rate, const AdadeltaOptions& options)
    : SlotOptimizer(
          "Adadelta", {{"accum", 0}, {"accum_update", 0}},
          {Hyper(std::move(learning_rate), "lr"), Hyper(options.rho, "rho"),
           Hyper(options.epsilon, "epsilon")}) {}

Operation Adadelta::Apply(const Scope& scope, const ops::Variable& variable,
                          const Gradient& gradient, const InputList& hypers) {
  return AddApply(scope, variable, gradient, "Adadelta",
                  {"accum", "accum_update"}, hypers, {});
}

AdagradDa::AdagradDa(Input learning_rate, const ops::Variable& global_step,
                     const AdagradDaOptions& options)
    : SlotOptimizer("AdagradDA",
                    {{"gradient_accumulator", 0},
                     {"gradient_squared_accumulator",
                      options.initial_gradient_squared_accumulator_value}},
                    {Hyper(std::move(learning_rate), "learning_rate"),
                     Hyper(options.l1_regularization_strength, kL1),
                     Hyper(options.l2_regularization_strength, kL2)}),
      options_(options),
      global_step_(global_step) {}

absl::Status AdagradDa::CheckOptions() const {
  if (!global_step_) {
    return absl::InvalidArgumentError("global_step must not be null");
  }
  return CheckPositive("initial_gradient_squared_accumulator_value",
                       options_.initial_gradient_squared_accumulator_value);
}

// The update rule counts steps from 1.
void AdagradDa::Prepare(const Scope& scope) {
  SlotOptimizer::Prepare(scope);
  const Output step = ops::CastTo(scope, global_step_, DT_INT64, "global_step");
  next_step_ = ops::AddV2(scope.WithName("add"), step, 1);
}

Operation AdagradDa::Apply(const Scope& scope, const ops::Variable& variable,
                           const Gradient& gradient, const InputList& hypers) {
  InputList after = hypers;
  after.push_back(next_step_);
  return AddApply(scope, variable, gradient, "AdagradDA",
                  {"gradient_accumulator", "gradient_squared_accumulator"}, {},
                  after);
}

RmsProp::RmsProp(Input learning_rate, const RmsPropOptions& options)
    : SlotOptimizer(
          "RMSProp",
          options.centered
              ? std::vector<SlotSpec>{{"rms", 1}, {"mg", 0}, {"momentum", 0}}
              : std::vector<SlotSpec>{{"rms", 1}, {"momentum", 0}},
          {Hyper(std::move(learning_rate), "learning_rate"),
           Hyper(options.decay, "decay"), Hyper(options.momentum, "momentum"),
           Hyper(options.epsilon, "epsilon")}),
      centered_(options.centered) {}

Operation RmsProp::Apply(const Scope& scope, const ops::Variable& variable,
                         const Gradient& gradient, const InputList& hypers) {
  if (centered_) {
    return AddApply(scope, variable, gradient, "CenteredRMSProp",
                    {"mg", "rms", "momentum"}, hypers, {});
  }
  return AddApply(scope, variable, gradient, "RMSProp", {"rms", "momentum"},
                  hypers, {});
}

Ftrl::Ftrl(Input learning_rate, const FtrlOptions& options)
    : SlotOptimizer(
          "Ftrl", {{"accum", options.initial_accumulator_value}, {"linear", 0}},
          HypersOf(std::move(learning_rate), options)),
      options_(options) {}

// The hyperparameters are in the order of the op's inputs.
std::vector<Optimizer::Hyper> Ftrl::HypersOf(Input learning_rate,
                                             const FtrlOptions& options) {
  std::vector<Hyper> hypers = {Hyper(std::move(learning_rate), "learning_rate"),
                               Hyper(options.l1_regularization_strength, kL1),
                               Hyper(options.l2_regularization_strength, kL2)};
  if (options.l2_shrinkage_regularization_strength > 0) {
    hypers.emplace_back(options.l2_shrinkage_regularization_strength,
                        kL2Shrinkage);
  }
  hypers.emplace_back(options.learning_rate_power, "learning_rate_power");
  return hypers;
}

absl::Status Ftrl::CheckOptions() const {
  RETURN_IF_ERROR(CheckNotNegative("initial_accumulator_value",
                                   options_.initial_accumulator_value));
  if (!(options_.learning_rate_power <= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("learning_rate_power ", options_.learning_rate_power,
                     " needs to be negative or zero"));
  }
  RETURN_IF_ERROR(CheckNotNegative(kL1, options_.l1_regularization_strength));
  RETURN_IF_ERROR(CheckNotNegative(kL2, options_.l2_regularization_strength));
  return CheckNotNegative(kL2Shrinkage,
                          options_.l2_shrinkage_regularization_strength);
}

Operation Ftrl::Apply(const Scope& scope, const ops::Variable& variable,
                      const Gradient& gradient, const InputList& hypers) {
  const bool shrinks = options_.l2_shrinkage_regularization_strength > 0;
  return AddApply(scope, variable, gradient, shrinks ? "FtrlV2" : "Ftrl",
                  {"accum", "linear"}, {}, hypers);
}

ProximalGradientDescent::ProximalGradientDescent(Input learning_rate,
                                                 const ProximalOptions& options)
    : SlotOptimizer("ProximalGradientDescent", {},
                    {Hyper(std::move(learning_rate), "learning_rate"),
                     Hyper(options.l1_regularization_strength, kL1),
                     Hyper(options.l2_regularization_strength, kL2)}) {}

Operation ProximalGradientDescent::Apply(const Scope& scope,
                                         const ops::Variable& variable,
                                         const Gradient& gradient,
                                         const InputList& hypers) {
  return AddApply(scope, variable, gradient, "ProximalGradientDescent", {},
                  hypers, {});
}

ProximalAdagrad::ProximalAdagrad(Input learning_rate,
                                 const ProximalAdagradOptions& options)
    : SlotOptimizer("ProximalAdagrad",
                    {{"accumulator", options.initial_accumulator_value}},
                    {Hyper(std::move(learning_rate), "learning_rate"),
                     Hyper(options.l1_regularization_strength, kL1),
                     Hyper(options.l2_regularization_strength, kL2)}),
      options_(options) {}

absl::Status ProximalAdagrad::CheckOptions() const {
  return CheckPositive("initial_accumulator_value",
                       options_.initial_accumulator_value);
}

Operation ProximalAdagrad::Apply(const Scope& scope,
                                 const ops::Variable& variable,
                                 const Gradient& gradient,
                                 const InputList& hypers) {
  return AddApply(scope, variable, gradient, "ProximalAdagrad", {"accumulator"},
                  hypers, {});
}

}  // namespace weft::train
