// The rules of optimizers: they turn an op's attributes and scalar inputs into
// a step of training_steps.h, and run the loop over it.
//
// A rule R<T>, with T float or double, has
//   kVariables       the number of variables it changes, including slots
//   kScalars         names of the op's scalar inputs
//   R(construction)  reads its attributes
//   Set(scalars)     takes the scalars' values, in the order of kScalars
//   Check()          optional; INVALID_ARGUMENT for scalars that all its ops
//                    reject
//   CheckSparse()    optional; the same for the sparse ops alone. The dense ops
//                    compute with such scalars
//   Loop(v, g, n)    changes n elements of v[0 .. kVariables), the variable and
//                    its slots in the op's order, with the gradient's elements
#ifndef WEFT_LIBS_KERNELS_TRAINING_TRAINING_RULES_H_
#define WEFT_LIBS_KERNELS_TRAINING_TRAINING_RULES_H_

#include <array>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "libs/kernels/isa/training_loops.h"
#include "libs/kernels/isa/training_steps.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/resource/update_checks.h"

namespace weft {

// The base of rules with one loop.
template <typename T, typename Step,
          TrainingLoop<T, Step> TrainingLoops<T>::*kLoop>
class StepRule {
 public:
  static constexpr int kVariables = Step::kVariables;

  void Loop(T* const* v, const T* g, int64_t n) const {
    (BestTrainingLoops<T>().*kLoop)(step_, v, g, n);
  }

 protected:
  Step step_ = {};
};

template <typename T>
class GradientDescentRule
    : public StepRule<T, GradientDescentStep<T>,
                      &TrainingLoops<T>::gradient_descent> {
 public:
  static constexpr std::array<const char*, 1> kScalars = {"alpha"};

  explicit GradientDescentRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 1>& scalars) {
    this->step_ = {.alpha = scalars[0]};
  }
};

template <typename T>
class MomentumRule
    : public StepRule<T, MomentumStep<T>, &TrainingLoops<T>::momentum> {
 public:
  static constexpr std::array<const char*, 2> kScalars = {"lr", "momentum"};

  explicit MomentumRule(const OpKernelConstruction& construction)
      : use_nesterov_(
            construction.GetAttr<bool>("use_nesterov").value_or(false)) {}
  void Set(const std::array<T, 2>& scalars) {
    this->step_ = {.lr = scalars[0],
                   .momentum = scalars[1],
                   .use_nesterov = use_nesterov_};
  }

 private:
  const bool use_nesterov_;
};

template <typename T>
class AdagradRule
    : public StepRule<T, AdagradStep<T>, &TrainingLoops<T>::adagrad> {
 public:
  static constexpr std::array<const char*, 1> kScalars = {"lr"};

  explicit AdagradRule(const OpKernelConstruction& construction)
      : update_slots_(
            construction.GetAttr<bool>("update_slots").value_or(true)) {}
  void Set(const std::array<T, 1>& scalars) {
    this->step_ = {.lr = scalars[0], .update_slots = update_slots_};
  }

 private:
  const bool update_slots_;
};

template <typename T>
class AdagradV2Rule
    : public StepRule<T, AdagradV2Step<T>, &TrainingLoops<T>::adagrad_v2> {
 public:
  static constexpr std::array<const char*, 2> kScalars = {"lr", "epsilon"};

  explicit AdagradV2Rule(const OpKernelConstruction& construction)
      : update_slots_(
            construction.GetAttr<bool>("update_slots").value_or(true)) {}
  void Set(const std::array<T, 2>& scalars) {
    this->step_ = {
        .lr = scalars[0], .epsilon = scalars[1], .update_slots = update_slots_};
  }

 private:
  const bool update_slots_;
};

template <typename T>
class AdamRule : public StepRule<T, AdamStep<T>, &TrainingLoops<T>::adam> {
 public:
  static constexpr std::array<const char*, 6> kScalars = {
      "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"};

  explicit AdamRule(const OpKernelConstruction& construction)
      : use_nesterov_(
            construction.GetAttr<bool>("use_nesterov").value_or(false)) {}
  void Set(const std::array<T, 6>& scalars) {
    const T alpha =
        scalars[2] * std::sqrt(T(1) - scalars[1]) / (T(1) - scalars[0]);
    this->step_ = {.alpha = alpha,
                   .beta1 = scalars[3],
                   .beta2 = scalars[4],
                   .epsilon = scalars[5],
                   .use_nesterov = use_nesterov_};
  }

 private:
  const bool use_nesterov_;
};

template <typename T>
class AdaMaxRule
    : public StepRule<T, AdaMaxStep<T>, &TrainingLoops<T>::ada_max> {
 public:
  static constexpr std::array<const char*, 5> kScalars = {
      "beta1_power", "lr", "beta1", "beta2", "epsilon"};

  explicit AdaMaxRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 5>& scalars) {
    this->step_ = {.alpha = scalars[1] / (T(1) - scalars[0]),
                   .beta1 = scalars[2],
                   .beta2 = scalars[3],
                   .epsilon = scalars[4]};
  }
};

template <typename T>
class AdadeltaRule
    : public StepRule<T, AdadeltaStep<T>, &TrainingLoops<T>::adadelta> {
 public:
  static constexpr std::array<const char*, 3> kScalars = {"lr", "rho",
                                                          "epsilon"};

  explicit AdadeltaRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 3>& scalars) {
    this->step_ = {.lr = scalars[0], .rho = scalars[1], .epsilon = scalars[2]};
  }
};

template <typename T>
class RMSPropRule
    : public StepRule<T, RMSPropStep<T>, &TrainingLoops<T>::rms_prop> {
 public:
  static constexpr std::array<const char*, 4> kScalars = {
      "lr", "rho", "momentum", "epsilon"};

  explicit RMSPropRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 4>& scalars) {
    this->step_ = {.lr = scalars[0],
                   .rho = scalars[1],
                   .momentum = scalars[2],
                   .epsilon = scalars[3]};
  }
};

template <typename T>
class CenteredRMSPropRule
    : public StepRule<T, CenteredRMSPropStep<T>,
                      &TrainingLoops<T>::centered_rms_prop> {
 public:
  static constexpr std::array<const char*, 4> kScalars = {
      "lr", "rho", "momentum", "epsilon"};

  explicit CenteredRMSPropRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 4>& scalars) {
    this->step_ = {.lr = scalars[0],
                   .rho = scalars[1],
                   .momentum = scalars[2],
                   .epsilon = scalars[3]};
  }
};

// The base of the Ftrl rules.
template <typename T>
class FtrlBase {
 public:
  static constexpr int kVariables = 3;

  void Loop(T* const* v, const T* g, int64_t n) const {
    const T scale = multiply_linear_by_lr_ ? scalars_.lr : T(1);
    const T rate = multiply_linear_by_lr_ ? T(1) : scalars_.lr;
    const FtrlScalars<T> s = {rate,
                              scale,
                              scalars_.l1,
                              scalars_.l2,
                              scalars_.l2_shrinkage,
                              scalars_.lr_power,
                              !is_sparse_};
    const TrainingLoops<T>& loops = BestTrainingLoops<T>();
    if (s.lr_power == T(-0.5)) {
      loops.ftrl_square_root({s}, v, g, n);
    } else {
      loops.ftrl_power({s}, v, g, n);
    }
  }

  absl::Status CheckSparse() const {
    const Scalars& s = scalars_;
    return CheckFtrlScalars(s.lr, s.l1, s.l2, s.l2_shrinkage, s.lr_power,
                            multiply_linear_by_lr_);
  }

 protected:
  struct Scalars {
    T lr = 0, l1 = 0, l2 = 0, l2_shrinkage = 0, lr_power = 0;
  };
  explicit FtrlBase(const OpKernelConstruction& construction)
      : multiply_linear_by_lr_(
            construction.GetAttr<bool>("multiply_linear_by_lr")
                .value_or(false)),
        is_sparse_(absl::StrContains(construction.node().type(), "Sparse")) {}

  Scalars scalars_;

 private:
  const bool multiply_linear_by_lr_;
  const bool is_sparse_;
};

template <typename T>
class FtrlRule : public FtrlBase<T> {
 public:
  static constexpr std::array<const char*, 4> kScalars = {"lr", "l1", "l2",
                                                          "lr_power"};

  explicit FtrlRule(const OpKernelConstruction& construction)
      : FtrlBase<T>(construction) {}
  void Set(const std::array<T, 4>& scalars) {
    this->scalars_ = {scalars[0], scalars[1], scalars[2], T(0), scalars[3]};
  }
};

template <typename T>
class FtrlV2Rule : public FtrlBase<T> {
 public:
  static constexpr std::array<const char*, 5> kScalars = {
      "lr", "l1", "l2", "l2_shrinkage", "lr_power"};

  explicit FtrlV2Rule(const OpKernelConstruction& construction)
      : FtrlBase<T>(construction) {}
  void Set(const std::array<T, 5>& scalars) {
    this->scalars_ = {scalars[0], scalars[1], scalars[2], scalars[3],
                      scalars[4]};
  }
};

template <typename T>
class ProximalGradientDescentRule
    : public StepRule<T, ProximalGradientDescentStep<T>,
                      &TrainingLoops<T>::proximal_gradient_descent> {
 public:
  static constexpr std::array<const char*, 3> kScalars = {"alpha", "l1", "l2"};

  explicit ProximalGradientDescentRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 3>& scalars) {
    this->step_ = {.alpha = scalars[0], .l1 = scalars[1], .l2 = scalars[2]};
  }
};

template <typename T>
class ProximalAdagradRule
    : public StepRule<T, ProximalAdagradStep<T>,
                      &TrainingLoops<T>::proximal_adagrad> {
 public:
  static constexpr std::array<const char*, 3> kScalars = {"lr", "l1", "l2"};

  explicit ProximalAdagradRule(const OpKernelConstruction&) {}
  absl::Status Check() const { return CheckPositiveRate(this->step_.lr); }
  void Set(const std::array<T, 3>& scalars) {
    this->step_ = {.lr = scalars[0], .l1 = scalars[1], .l2 = scalars[2]};
  }
};

// Dual averaging: the variable is a function of the sums of all gradients.
template <typename T>
class AdagradDARule
    : public StepRule<T, AdagradDAStep<T>, &TrainingLoops<T>::adagrad_da> {
 public:
  static constexpr std::array<const char*, 4> kScalars = {"lr", "l1", "l2",
                                                          "global_step"};

  explicit AdagradDARule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 4>& scalars) {
    this->step_ = {.lr = scalars[0],
                   .l1 = scalars[1],
                   .l2 = scalars[2],
                   .global_step = scalars[3]};
  }
};

// Keras's momentum: the learning rate is part of the accumulated value.
template <typename T>
class KerasMomentumRule {
 public:
  static constexpr int kVariables = 2;
  static constexpr std::array<const char*, 2> kScalars = {"lr", "momentum"};

  explicit KerasMomentumRule(const OpKernelConstruction& construction)
      : use_nesterov_(
            construction.GetAttr<bool>("use_nesterov").value_or(false)) {}
  void Set(const std::array<T, 2>& scalars) { scalars_ = scalars; }

  void Loop(T* const* v, const T* g, int64_t n) const {
    const auto [lr, momentum] = scalars_;
    for (int64_t i = 0; i < n; ++i) {
      v[1][i] = v[1][i] * momentum - g[i] * lr;
      v[0][i] += use_nesterov_ ? v[1][i] * momentum - g[i] * lr : v[1][i];
    }
  }

 private:
  const bool use_nesterov_;
  std::array<T, 2> scalars_ = {};
};

// Adam divided by the maximum of the second moments so far.
template <typename T>
class AmsgradRule {
 public:
  static constexpr int kVariables = 4;
  static constexpr std::array<const char*, 6> kScalars = {
      "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"};

  explicit AmsgradRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 6>& scalars) {
    alpha_ = scalars[2] * std::sqrt(T(1) - scalars[1]) / (T(1) - scalars[0]);
    beta1_ = scalars[3];
    beta2_ = scalars[4];
    epsilon_ = scalars[5];
  }

  void Loop(T* const* v, const T* g, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      v[1][i] += (g[i] - v[1][i]) * (T(1) - beta1_);
      v[2][i] += (g[i] * g[i] - v[2][i]) * (T(1) - beta2_);
      if (v[2][i] > v[3][i]) v[3][i] = v[2][i];
      v[0][i] -= v[1][i] * alpha_ / (std::sqrt(v[3][i]) + epsilon_);
    }
  }

 private:
  T alpha_ = 0, beta1_ = 0, beta2_ = 0, epsilon_ = 0;
};

// The base of AddSign and PowerSign, which depend on whether the gradient
// agrees with the mean of earlier gradients.
template <typename T>
class SignRule {
 public:
  static constexpr int kVariables = 2;

  explicit SignRule(const OpKernelConstruction&) {}

 protected:
  // Adds the gradient to the mean; returns 1, 0 or -1 times `sign_decay`.
  static T Agreement(T& mean, T g, T beta, T sign_decay) {
    mean = mean * beta + g * (T(1) - beta);
    const auto sign = [](T x) { return T((x > T(0)) - (x < T(0))); };
    return sign_decay * sign(g) * sign(mean);
  }
};

template <typename T>
class AddSignRule : public SignRule<T> {
 public:
  static constexpr std::array<const char*, 4> kScalars = {"lr", "alpha",
                                                          "sign_decay", "beta"};
  using SignRule<T>::SignRule;
  void Set(const std::array<T, 4>& scalars) { scalars_ = scalars; }

  void Loop(T* const* v, const T* g, int64_t n) const {
    const auto [lr, alpha, sign_decay, beta] = scalars_;
    for (int64_t i = 0; i < n; ++i) {
      const T agreement = this->Agreement(v[1][i], g[i], beta, sign_decay);
      v[0][i] -= lr * (alpha + agreement) * g[i];
    }
  }

 private:
  std::array<T, 4> scalars_ = {};
};

template <typename T>
class PowerSignRule : public SignRule<T> {
 public:
  static constexpr std::array<const char*, 4> kScalars = {"lr", "logbase",
                                                          "sign_decay", "beta"};
  using SignRule<T>::SignRule;
  void Set(const std::array<T, 4>& scalars) { scalars_ = scalars; }

  void Loop(T* const* v, const T* g, int64_t n) const {
    const auto [lr, logbase, sign_decay, beta] = scalars_;
    for (int64_t i = 0; i < n; ++i) {
      const T agreement = this->Agreement(v[1][i], g[i], beta, sign_decay);
      v[0][i] -= lr * std::exp(logbase * agreement) * g[i];
    }
  }

 private:
  std::array<T, 4> scalars_ = {};
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TRAINING_TRAINING_RULES_H_
