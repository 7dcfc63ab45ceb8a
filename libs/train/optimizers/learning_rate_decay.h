// Learning rate schedules, which are functions of the global step. Their result
// is given to an optimizer. Names, formulas and defaults are those of
// tf.train.exponential_decay and the related functions.
//
//   auto step = train::GetOrCreateGlobalStep(scope);
//   Output rate = train::ExponentialDecay(scope, 0.1, step, 100000, 0.96,
//                                         {.staircase = true});
//   train::GradientDescent(rate).Minimize(scope, loss, {.global_step = step});
//
// C++ numbers become floats. The rate is computed in the type of
// `learning_rate`. Errors stick to the scope; outputs are null then. The
// functions are as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_LEARNING_RATE_DECAY_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_LEARNING_RATE_DECAY_H_

#include "libs/ops/scope.h"

namespace weft::train {

struct DecayOptions {
  // If true, global_step / decay_steps is rounded down, so the rate drops only
  // once every decay_steps.
  bool staircase = false;
};

// Returns learning_rate * decay_rate ^ (global_step / decay_steps).
Output ExponentialDecay(const Scope& scope, const Input& learning_rate,
                        const Input& global_step, const Input& decay_steps,
                        const Input& decay_rate,
                        const DecayOptions& options = {});
// Returns learning_rate * exp(-decay_rate * global_step / decay_steps).
Output NaturalExpDecay(const Scope& scope, const Input& learning_rate,
                       const Input& global_step, const Input& decay_steps,
                       const Input& decay_rate,
                       const DecayOptions& options = {});
// Returns learning_rate / (1 + decay_rate * global_step / decay_steps).
Output InverseTimeDecay(const Scope& scope, const Input& learning_rate,
                        const Input& global_step, const Input& decay_steps,
                        const Input& decay_rate,
                        const DecayOptions& options = {});

struct PolynomialDecayOptions {
  Input end_learning_rate = 0.0001;
  Input power = 1.0;
  // What happens after decay_steps. If false, the end rate is kept. If true,
  // decay_steps is extended to the next multiple, and the decay continues.
  bool cycle = false;
};
// (learning_rate - end_learning_rate) * (1 - step / n) ^ power
//     + end_learning_rate
// where n = decay_steps and step = min(global_step, n); if it cycles,
// n = decay_steps * max(1, ceil(global_step / decay_steps)) and
// step = global_step.
Output PolynomialDecay(const Scope& scope, const Input& learning_rate,
                       const Input& global_step, const Input& decay_steps,
                       const PolynomialDecayOptions& options = {});

// Returns values[0] while x <= boundaries[0], values[1] while x <=
// boundaries[1], ..., then the last value. INVALID_ARGUMENT unless there is one
// more value than boundaries. Boundaries have the type of x.
Output PiecewiseConstant(const Scope& scope, const Input& x,
                         const InputList& boundaries, const InputList& values);

// Half a cosine wave from learning_rate to alpha * learning_rate:
//   learning_rate * ((1 - alpha) * wave(x) + alpha)
// where wave(x) = (1 + cos(pi * x)) / 2, also below, and
// x = min(global_step, decay_steps) / decay_steps.
Output CosineDecay(const Scope& scope, const Input& learning_rate,
                   const Input& global_step, const Input& decay_steps,
                   double alpha = 0.0);

struct CosineDecayRestartsOptions {
  double t_mul = 2.0;  // factor of each period's length; > 0
  double m_mul = 1.0;  // factor of each period's height
  double alpha = 0.0;
};
// CosineDecay that restarts after `first_decay_steps`:
//   learning_rate * ((1 - alpha) * m_mul ^ i * wave(x) + alpha)
// in period i, counted from 0; x is the fraction of the period that has passed.
// INVALID_ARGUMENT for a t_mul that is not positive.
Output CosineDecayRestarts(const Scope& scope, const Input& learning_rate,
                           const Input& global_step,
                           const Input& first_decay_steps,
                           const CosineDecayRestartsOptions& options = {});

struct LinearCosineDecayOptions {
  double num_periods = 0.5;
  double alpha = 0.0;
  double beta = 0.001;
};
// A cosine whose amplitude falls linearly to 0:
//   learning_rate * ((alpha + 1 - x) * wave(2 * num_periods * x) + beta)
// where x is as in CosineDecay.
Output LinearCosineDecay(const Scope& scope, const Input& learning_rate,
                         const Input& global_step, const Input& decay_steps,
                         const LinearCosineDecayOptions& options = {});

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_LEARNING_RATE_DECAY_H_
