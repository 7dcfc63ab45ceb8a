#include "libs/train/optimizers/learning_rate_decay.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"

namespace weft::train {
namespace {

// Decay is the common setup of all decays, with arithmetic in the type of the
// rate. After an error every member is a no-op.
class Decay {
 public:
  Decay(const Scope& scope, absl::string_view name, const Input& learning_rate,
        const Input& global_step)
      : inner_(scope.CompositeScope(name)) {
    if (!global_step.value() && !global_step.output()) {
      inner_.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("global_step is required for ", name, ".")));
    }
    rate_ =
        ops::AsTensor(inner_, learning_rate, DT_FLOAT, "initial_learning_rate");
    if (!rate_) return;
    dtype_ = RemoveRefType(rate_.dtype());
    step_ = Cast(global_step, "global_step");
  }

  const Output& rate() const { return rate_; }
  const Output& step() const { return step_; }
  const Scope& scope() const { return inner_; }

  Output Cast(const Input& input, absl::string_view name) const {
    return ops::CastTo(inner_, input, dtype_, name);
  }
  Output Add(const Input& a, const Input& b) const {
    return ops::AddV2(inner_.WithName("add"), a, b);
  }
  Output Sub(const Input& a, const Input& b) const {
    return ops::Sub(inner_.WithName("sub"), a, b);
  }
  Output Mul(const Input& a, const Input& b) const {
    return ops::Mul(inner_.WithName("mul"), a, b);
  }
  Output Div(const Input& a, const Input& b) const {
    return ops::RealDiv(inner_.WithName("truediv"), a, b);
  }
  // Returns (1 + cos(pi * x)) / 2.
  Output HalfWave(const Output& x) const {
    return Mul(0.5, Add(1.0, ops::Cos(inner_, Mul(x, M_PI))));
  }
  // Returns the scope of the last node, which has the name of the decay's
  // scope.
  Scope Last() const { return inner_.WithName(inner_.prefix()); }

 private:
  const Scope inner_;
  DataType dtype_ = DT_FLOAT;
  Output rate_;
  Output step_;
};

// Returns the number of completed periods of decay_steps.
Output Periods(const Decay& decay, const Input& decay_steps,
               const DecayOptions& options) {
  const Output p =
      decay.Div(decay.step(), decay.Cast(decay_steps, "decay_steps"));
  return options.staircase ? ops::Floor(decay.scope(), p) : p;
}

// Returns the fraction of decay_steps that has passed, at most 1.
Output CompletedFraction(const Decay& decay, const Output& decay_steps) {
  return decay.Div(ops::Minimum(decay.scope(), decay.step(), decay_steps),
                   decay_steps);
}

}  // namespace

Output ExponentialDecay(const Scope& scope, const Input& learning_rate,
                        const Input& global_step, const Input& decay_steps,
                        const Input& decay_rate, const DecayOptions& options) {
  const Decay decay(scope, "ExponentialDecay", learning_rate, global_step);
  const Output p = Periods(decay, decay_steps, options);
  const Output base = decay.Cast(decay_rate, "decay_rate");
  return ops::Mul(decay.Last(), decay.rate(), ops::Pow(decay.scope(), base, p));
}

Output NaturalExpDecay(const Scope& scope, const Input& learning_rate,
                       const Input& global_step, const Input& decay_steps,
                       const Input& decay_rate, const DecayOptions& options) {
  // As in TensorFlow, the base is computed outside the name scope of the decay.
  const Scope outside = scope.WithName("");
  const Output rate =
      ops::AsTensor(outside, decay_rate, DT_FLOAT, "decay_rate");
  const Output base = ops::Exp(outside, ops::Neg(outside, rate));
  if (!scope.ok()) return Output();
  return ExponentialDecay(scope, learning_rate, global_step, decay_steps, base,
                          options);
}

Output InverseTimeDecay(const Scope& scope, const Input& learning_rate,
                        const Input& global_step, const Input& decay_steps,
                        const Input& decay_rate, const DecayOptions& options) {
  const Decay decay(scope, "InverseTimeDecay", learning_rate, global_step);
  const Output p = Periods(decay, decay_steps, options);
  const Output slowed = decay.Mul(decay.Cast(decay_rate, "decay_rate"), p);
  return ops::RealDiv(decay.Last(), decay.rate(), decay.Add(1.0, slowed));
}

Output PolynomialDecay(const Scope& scope, const Input& learning_rate,
                       const Input& global_step, const Input& decay_steps,
                       const PolynomialDecayOptions& options) {
  const Decay decay(scope, "PolynomialDecay", learning_rate, global_step);
  const Scope& inner = decay.scope();
  const Output end = decay.Cast(options.end_learning_rate, "end_learning_rate");
  const Output power = decay.Cast(options.power, "power");
  Output steps = decay.Cast(decay_steps, "decay_steps");
  Output step = decay.step();
  if (options.cycle) {
    // The first period also contains step 0.
    const Output periods = ops::Ceil(inner, decay.Div(step, steps));
    steps = decay.Mul(steps, ops::SelectV2(inner, ops::Equal(inner, step, 0.0),
                                           1.0, periods));
  } else {
    step = ops::Minimum(inner, step, steps);
  }
  const Output left = decay.Sub(1.0, decay.Div(step, steps));
  const Output above =
      decay.Mul(decay.Sub(decay.rate(), end), ops::Pow(inner, left, power));
  return ops::AddV2(decay.Last(), above, end);
}

Output PiecewiseConstant(const Scope& scope, const Input& x,
                         const InputList& boundaries, const InputList& values) {
  if (!scope.ok()) return Output();
  if (boundaries.size() + 1 != values.size()) {
    scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "PiecewiseConstant: the length of boundaries should be 1 less than the "
        "length of values, but they are ",
        boundaries.size(), " and ", values.size())));
    return Output();
  }
  const Scope inner = scope.CompositeScope("PiecewiseConstant");
  const Output at = ops::AsTensor(inner, x, DT_FLOAT, "x");
  Output result = ops::AsTensor(inner, values.back(), DT_FLOAT, "Const");
  for (size_t i = boundaries.size(); i-- > 0 && scope.ok();) {
    const Output before = ops::LessEqual(inner, at, boundaries[i]);
    const Output value = ops::AsTensor(inner, values[i], DT_FLOAT, "Const");
    result = ops::Select(i == 0 ? inner.WithName("value") : inner, before,
                         value, result);
  }
  return result;
}

Output CosineDecay(const Scope& scope, const Input& learning_rate,
                   const Input& global_step, const Input& decay_steps,
                   double alpha) {
  const Decay decay(scope, "CosineDecay", learning_rate, global_step);
  const Output steps = decay.Cast(decay_steps, "decay_steps");
  const Output wave = decay.HalfWave(CompletedFraction(decay, steps));
  const Output factor = decay.Add(decay.Mul(1.0 - alpha, wave), alpha);
  // TensorFlow gives the name of the decay to the last product.
  return ops::Mul(decay.scope(), decay.rate(), factor);
}

namespace {

struct Period {
  Output number;    // of the period, counted from 0
  Output fraction;  // fraction of the period that has passed
};

// Returns the period after `completed` lengths of the first period, if each
// period is t_mul times longer than the previous one.
Period PeriodAt(const Decay& decay, const Output& completed, double t_mul) {
  const Scope& inner = decay.scope();
  if (t_mul == 1.0) {
    const Output number = ops::Floor(inner, completed);
    return {number, decay.Sub(completed, number)};
  }
  const Output periods = decay.Div(
      ops::Log(inner, decay.Sub(1.0, decay.Mul(completed, 1 - t_mul))),
      std::log(t_mul));
  const Output number = ops::Floor(inner, periods);
  const Output length = ops::Pow(inner, t_mul, number);
  const Output begin = decay.Div(decay.Sub(1.0, length), 1 - t_mul);
  return {number, decay.Div(decay.Sub(completed, begin), length)};
}

}  // namespace

Output CosineDecayRestarts(const Scope& scope, const Input& learning_rate,
                           const Input& global_step,
                           const Input& first_decay_steps,
                           const CosineDecayRestartsOptions& options) {
  if (!(options.t_mul > 0)) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        "CosineDecayRestarts: t_mul must be positive"));
    return Output();
  }
  const Decay decay(scope, "SGDRDecay", learning_rate, global_step);
  const Output completed = decay.Div(
      decay.step(), decay.Cast(first_decay_steps, "first_decay_steps"));
  const Period period = PeriodAt(decay, completed, options.t_mul);
  const Output height = ops::Pow(decay.scope(), options.m_mul, period.number);
  const Output wave = decay.Mul(height, decay.HalfWave(period.fraction));
  const Output factor =
      decay.Add(decay.Mul(1 - options.alpha, wave), options.alpha);
  return ops::Mul(decay.Last(), decay.rate(), factor);
}

Output LinearCosineDecay(const Scope& scope, const Input& learning_rate,
                         const Input& global_step, const Input& decay_steps,
                         const LinearCosineDecayOptions& options) {
  const Decay decay(scope, "LinearCosineDecay", learning_rate, global_step);
  const Output steps = decay.Cast(decay_steps, "decay_steps");
  const Output step = ops::Minimum(decay.scope(), decay.step(), steps);
  const Output line = decay.Div(decay.Sub(steps, step), steps);
  const Output periods =
      decay.Mul(2.0 * options.num_periods, decay.Div(step, steps));
  const Output factor = decay.Add(
      decay.Mul(decay.Add(options.alpha, line), decay.HalfWave(periods)),
      options.beta);
  return ops::Mul(decay.Last(), decay.rate(), factor);
}

}  // namespace weft::train
