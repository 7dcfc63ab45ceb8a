// Slot optimizers consist of hyperparameters, slots, and one op that applies
// the update rule, dense or sparse. Classes, names, defaults and errors are
// those of tf.train.
//
//   auto optimizer = train::RmsProp(1e-3, {.momentum = 0.9});
//   Operation train = optimizer.Minimize(scope, loss);
//
// Each rule is for one element `var` of a variable, its gradient `g`, and the
// elements of its slots. GetSlot takes the slot names that the rules use. Slots
// start at 0 unless an option says otherwise. The lines of a rule are evaluated
// in order. A sparse gradient changes only the rows that it names and their
// slots. l1, l2 and l2_shrinkage are short for options such as
// l1_regularization_strength, and
//
//   shrink(x, by) = sign(x) * max(|x| - by, 0)
//
// optimizer.h documents the rules common to all optimizers.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_OPTIMIZERS_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_OPTIMIZERS_H_

#include <string>
#include <utility>
#include <vector>

#include "libs/train/optimizers/optimizer.h"

namespace weft::train {

// SlotOptimizer is the common base of the optimizers below.
class SlotOptimizer : public Optimizer {
 protected:
  struct SlotSpec {
    std::string name;
    double initial_value;
  };
  // `slots` are in the order in which they are created. The order matters
  // because it determines the numbers in their names.
  SlotOptimizer(std::string name, std::vector<SlotSpec> slots,
                std::vector<Hyper> hypers);

  // Adds the op that applies the update. `hypers` have the type of the
  // variable.
  virtual Operation Apply(const Scope& scope, const ops::Variable& variable,
                          const Gradient& gradient,
                          const InputList& hypers) = 0;
  // Returns INVALID_ARGUMENT for invalid options.
  virtual absl::Status CheckOptions() const { return absl::OkStatus(); }

  void CreateSlots(const Scope& scope,
                   const std::vector<ops::Variable>& variables) final;
  void Prepare(const Scope& scope) override;
  Operation ApplyDense(const Scope& scope, const ops::Variable& variable,
                       const Output& gradient) final;
  Operation ApplySparseUnique(const Scope& scope, const ops::Variable& variable,
                              const Gradient& gradient) final;

 private:
  InputList HypersFor(const Scope& scope, const ops::Variable& variable) const;

  const std::vector<SlotSpec> slot_specs_;
  std::vector<Hyper> hypers_;
};

struct MomentumOptions {
  bool use_nesterov = false;
};
//   momentum_slot = momentum * momentum_slot + g
//   var -= learning_rate * momentum_slot, or with use_nesterov
//   var -= learning_rate * (g + momentum * momentum_slot)
//
// Momentum applies this rule, where momentum_slot is slot "momentum".
class Momentum : public SlotOptimizer {
 public:
  Momentum(Input learning_rate, Input momentum,
           const MomentumOptions& options = {});

 protected:
  Operation Apply(const Scope& scope, const ops::Variable& variable,
                  const Gradient& gradient, const InputList& hypers) override;

 private:
  const MomentumOptions options_;
};

struct AdagradOptions {
  double initial_accumulator_value = 0.1;  // > 0
};
//   accumulator += g ^ 2
//   var -= learning_rate * g / sqrt(accumulator)
class Adagrad : public SlotOptimizer {
 public:
  explicit Adagrad(Input learning_rate, const AdagradOptions& options = {});

 protected:
  absl::Status CheckOptions() const override;
  Operation Apply(const Scope& scope, const ops::Variable& variable,
                  const Gradient& gradient, const InputList& hypers) override;

 private:
  const AdagradOptions options_;
};

struct AdadeltaOptions {
  Input rho = 0.95;
  Input epsilon = 1e-8;
};
//   accum = rho * accum + (1 - rho) * g ^ 2
//   update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * g
//   var -= learning_rate * update
//   accum_update = rho * accum_update + (1 - rho) * update ^ 2
class Adadelta : public SlotOptimizer {
 public:
  explicit Adadelta(Input learning_rate = 0.001,
                    const AdadeltaOptions& options = {});

 protected:
  Operation Apply(const Scope& scope, const ops::Variable& variable,
                  const Gradient& gradient, const InputList& hypers) override;
};

struct AdagradDaOptions {
  double initial_gradient_squared_accumulator_value = 0.1;  // > 0
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
};
// AdagradDa is dual averaging, for sparse linear models: the variable is
// computed from the sums of all gradients; its previous value is not used. With
// t = global_step + 1:
//
//   gradient_accumulator += g
//   gradient_squared_accumulator += g ^ 2
//   var = -learning_rate * shrink(gradient_accumulator, l1 * t) /
//         (l2 * t * learning_rate + sqrt(gradient_squared_accumulator))
//
// The optimizer only reads the global step. Minimize and ApplyGradients
// increment it if it is also given to them. INVALID_ARGUMENT if it is null.
class AdagradDa : public SlotOptimizer {
 public:
  AdagradDa(Input learning_rate, const ops::Variable& global_step,
            const AdagradDaOptions& options = {});

 protected:
  absl::Status CheckOptions() const override;
  void Prepare(const Scope& scope) override;
  Operation Apply(const Scope& scope, const ops::Variable& variable,
                  const Gradient& gradient, const InputList& hypers) override;

 private:
  const AdagradDaOptions options_;
  const ops::Variable global_step_;
  Output next_step_;
};

struct RmsPropOptions {
  Input decay = 0.9;
  Input momentum = 0.0;
  Input epsilon = 1e-10;
  bool centered = false;  // divides by the variance, not the mean square
};
//   rms = decay * rms + (1 - decay) * g ^ 2
//   mg = decay * mg + (1 - decay) * g                if centered
//   square = centered ? rms - mg ^ 2 : rms
//   momentum_slot = momentum * momentum_slot +
//                   learning_rate * g / sqrt(square + epsilon)
//   var -= momentum_slot
//
// where momentum_slot is slot "momentum", and rms begins with 1.
class RmsProp : public SlotOptimizer {
 public:
  explicit RmsProp(Input learning_rate, const RmsPropOptions& options = {});

 protected:
  Operation Apply(const Scope& scope, const ops::Variable& variable,
                  const Gradient& gradient, const InputList& hypers) override;

 private:
  const bool centered_;
};

struct FtrlOptions {
  double learning_rate_power = -0.5;        // <= 0
  double initial_accumulator_value = 0.1;   // >= 0
  double l1_regularization_strength = 0.0;  // >= 0
  double l2_regularization_strength = 0.0;  // >= 0
  // Must be >= 0. Penalizes the size of the variable, while
  // l2_regularization_strength penalizes the size of its steps. A sparse
  // gradient applies the penalty only to the rows that it names.
  double l2_shrinkage_regularization_strength = 0.0;
};
//   before = accum ^ -learning_rate_power
//   accum += g ^ 2
//   after = accum ^ -learning_rate_power
//   linear += g + 2 * l2_shrinkage * var
//             - (after - before) / learning_rate * var
//   var = -shrink(linear, l1) / (after / learning_rate + 2 * l2)
//
// A sparse gradient fails the step (INVALID_ARGUMENT) if the learning rate is
// not positive.
class Ftrl : public SlotOptimizer {
 public:
  explicit Ftrl(Input learning_rate, const FtrlOptions& options = {});

 protected:
  absl::Status CheckOptions() const override;
  Operation Apply(const Scope& scope, const ops::Variable& variable,
                  const Gradient& gradient, const InputList& hypers) override;

 private:
  static std::vector<Hyper> HypersOf(Input learning_rate,
                                     const FtrlOptions& options);

  const FtrlOptions options_;
};

struct ProximalOptions {
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
};
//   var -= learning_rate * g
//   var = shrink(var, learning_rate * l1) / (1 + learning_rate * l2)
class ProximalGradientDescent : public SlotOptimizer {
 public:
  explicit ProximalGradientDescent(Input learning_rate,
                                   const ProximalOptions& options = {});

 protected:
  Operation Apply(const Scope& scope, const ops::Variable& variable,
                  const Gradient& gradient, const InputList& hypers) override;
};

struct ProximalAdagradOptions {
  double initial_accumulator_value = 0.1;  // > 0
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
};
//   accumulator += g ^ 2
//   rate = learning_rate / sqrt(accumulator)
//   var -= rate * g
//   var = shrink(var, rate * l1) / (1 + rate * l2)
//
// A learning rate that is not positive fails the step (INVALID_ARGUMENT).
class ProximalAdagrad : public SlotOptimizer {
 public:
  explicit ProximalAdagrad(Input learning_rate,
                           const ProximalAdagradOptions& options = {});

 protected:
  absl::Status CheckOptions() const override;
  Operation Apply(const Scope& scope, const ops::Variable& variable,
                  const Gradient& gradient, const InputList& hypers) override;

 private:
  const ProximalAdagradOptions options_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_OPTIMIZERS_H_
