// The rules of optimizers: what one step does with one element of a variable
// and of its slots. Formulas are TensorFlow's (core/kernels/training_ops.cc).
//
// A rule R<T>, T float or double, has
//   kVariables       the variable and its slots, in the op's order
//   kScalars         names of the op's inputs that are scalars
//   R(construction)  reads its attributes
//   Set(scalars)     takes the scalars' values, in the order of kScalars
//   Step(v, g)       changes v[0 .. kVariables), given the gradient
//   CheckSparse()    optionally, INVALID_ARGUMENT for scalars that the sparse
//                    ops refuse; the dense ones compute what comes of them
//   Loop(...)        optionally, Step over whole arrays, in another way
#ifndef WEFT_LIBS_KERNELS_TRAINING_RULES_H_
#define WEFT_LIBS_KERNELS_TRAINING_RULES_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/training_loops.h"

namespace weft {

// Moves `x` towards 0 by `by`, stopping there.
template <typename T>
T Shrink(T x, T by) {
  const T size = std::abs(x) - by;
  if (!(size > 0)) return std::isnan(size) ? size : T(0);
  return x < 0 ? -size : size;
}

template <typename T>
class GradientDescentRule {
 public:
  static constexpr int kVariables = 1;
  static constexpr std::array<const char*, 1> kScalars = {"alpha"};

  explicit GradientDescentRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 1>& scalars) { alpha_ = scalars[0]; }
  void Step(T* v, T g) const { v[0] -= alpha_ * g; }
  void Loop(T* const* v, const T* g, int64_t n) const {
    BestTrainingLoops<T>().gradient_descent(v[0], g, alpha_, n);
  }

 private:
  T alpha_ = 0;
};

template <typename T>
class MomentumRule {
 public:
  static constexpr int kVariables = 2;
  static constexpr std::array<const char*, 2> kScalars = {"lr", "momentum"};

  explicit MomentumRule(const OpKernelConstruction& construction)
      : use_nesterov_(
            construction.GetAttr<bool>("use_nesterov").value_or(false)) {}
  void Set(const std::array<T, 2>& scalars) {
    lr_ = scalars[0];
    momentum_ = scalars[1];
  }
  void Step(T* v, T g) const {
    v[1] = v[1] * momentum_ + g;
    v[0] -= use_nesterov_ ? g * lr_ + v[1] * momentum_ * lr_ : v[1] * lr_;
  }
  void Loop(T* const* v, const T* g, int64_t n) const {
    BestTrainingLoops<T>().momentum(v[0], v[1], g, lr_, momentum_,
                                    use_nesterov_, n);
  }

 private:
  const bool use_nesterov_;
  T lr_ = 0;
  T momentum_ = 0;
};

template <typename T>
class AdagradRule {
 public:
  static constexpr int kVariables = 2;
  static constexpr std::array<const char*, 1> kScalars = {"lr"};

  explicit AdagradRule(const OpKernelConstruction& construction)
      : update_slots_(
            construction.GetAttr<bool>("update_slots").value_or(true)) {}
  void Set(const std::array<T, 1>& scalars) { lr_ = scalars[0]; }
  void Step(T* v, T g) const {
    if (update_slots_) v[1] += g * g;
    v[0] -= g * lr_ / std::sqrt(v[1]);
  }
  void Loop(T* const* v, const T* g, int64_t n) const {
    BestTrainingLoops<T>().adagrad(v[0], v[1], g, lr_, update_slots_, n);
  }

 private:
  const bool update_slots_;
  T lr_ = 0;
};

template <typename T>
class AdagradV2Rule {
 public:
  static constexpr int kVariables = 2;
  static constexpr std::array<const char*, 2> kScalars = {"lr", "epsilon"};

  explicit AdagradV2Rule(const OpKernelConstruction& construction)
      : update_slots_(
            construction.GetAttr<bool>("update_slots").value_or(true)) {}
  void Set(const std::array<T, 2>& scalars) {
    lr_ = scalars[0];
    epsilon_ = scalars[1];
  }
  void Step(T* v, T g) const {
    if (update_slots_) v[1] += g * g;
    v[0] -= g * lr_ / (std::sqrt(v[1]) + epsilon_);
  }

 private:
  const bool update_slots_;
  T lr_ = 0;
  T epsilon_ = 0;
};

template <typename T>
class AdamRule {
 public:
  static constexpr int kVariables = 3;
  static constexpr std::array<const char*, 6> kScalars = {
      "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"};

  explicit AdamRule(const OpKernelConstruction& construction)
      : use_nesterov_(
            construction.GetAttr<bool>("use_nesterov").value_or(false)) {}
  void Set(const std::array<T, 6>& scalars) {
    alpha_ = scalars[2] * std::sqrt(T(1) - scalars[1]) / (T(1) - scalars[0]);
    beta1_ = scalars[3];
    beta2_ = scalars[4];
    epsilon_ = scalars[5];
  }
  void Step(T* v, T g) const {
    v[1] += (g - v[1]) * (T(1) - beta1_);
    v[2] += (g * g - v[2]) * (T(1) - beta2_);
    const T step = use_nesterov_ ? g * (T(1) - beta1_) + beta1_ * v[1] : v[1];
    v[0] -= step * alpha_ / (std::sqrt(v[2]) + epsilon_);
  }
  void Loop(T* const* v, const T* g, int64_t n) const {
    BestTrainingLoops<T>().adam(v[0], v[1], v[2], g, alpha_, beta1_, beta2_,
                                epsilon_, use_nesterov_, n);
  }

 private:
  const bool use_nesterov_;
  T alpha_ = 0;
  T beta1_ = 0;
  T beta2_ = 0;
  T epsilon_ = 0;
};

template <typename T>
class AdaMaxRule {
 public:
  static constexpr int kVariables = 3;
  static constexpr std::array<const char*, 5> kScalars = {
      "beta1_power", "lr", "beta1", "beta2", "epsilon"};

  explicit AdaMaxRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 5>& scalars) {
    alpha_ = scalars[1] / (T(1) - scalars[0]);
    beta1_ = scalars[2];
    beta2_ = scalars[3];
    epsilon_ = scalars[4];
  }
  void Step(T* v, T g) const {
    v[1] += (g - v[1]) * (T(1) - beta1_);
    v[2] = std::max(beta2_ * v[2], std::abs(g));
    v[0] -= alpha_ * (v[1] / (v[2] + epsilon_));
  }

 private:
  T alpha_ = 0;
  T beta1_ = 0;
  T beta2_ = 0;
  T epsilon_ = 0;
};

template <typename T>
class AdadeltaRule {
 public:
  static constexpr int kVariables = 3;
  static constexpr std::array<const char*, 3> kScalars = {"lr", "rho",
                                                          "epsilon"};

  explicit AdadeltaRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 3>& scalars) {
    lr_ = scalars[0];
    rho_ = scalars[1];
    epsilon_ = scalars[2];
  }
  void Step(T* v, T g) const {
    v[1] = v[1] * rho_ + g * g * (T(1) - rho_);
    const T update =
        std::sqrt(v[2] + epsilon_) / std::sqrt(v[1] + epsilon_) * g;
    v[0] -= update * lr_;
    v[2] = v[2] * rho_ + update * update * (T(1) - rho_);
  }

 private:
  T lr_ = 0;
  T rho_ = 0;
  T epsilon_ = 0;
};

template <typename T>
class RMSPropRule {
 public:
  static constexpr int kVariables = 3;
  static constexpr std::array<const char*, 4> kScalars = {
      "lr", "rho", "momentum", "epsilon"};

  explicit RMSPropRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 4>& scalars) { scalars_ = scalars; }
  void Step(T* v, T g) const {
    const auto [lr, rho, momentum, epsilon] = scalars_;
    v[1] += (g * g - v[1]) * (T(1) - rho);
    v[2] = v[2] * momentum + g * lr / std::sqrt(v[1] + epsilon);
    v[0] -= v[2];
  }

 private:
  std::array<T, 4> scalars_ = {};
};

template <typename T>
class CenteredRMSPropRule {
 public:
  static constexpr int kVariables = 4;
  static constexpr std::array<const char*, 4> kScalars = {
      "lr", "rho", "momentum", "epsilon"};

  explicit CenteredRMSPropRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 4>& scalars) { scalars_ = scalars; }
  void Step(T* v, T g) const {
    const auto [lr, rho, momentum, epsilon] = scalars_;
    v[2] += (g * g - v[2]) * (T(1) - rho);
    v[1] += (g - v[1]) * (T(1) - rho);
    const T variance = v[2] - v[1] * v[1];
    v[3] = v[3] * momentum + g * lr / std::sqrt(variance + epsilon);
    v[0] -= v[3];
  }

 private:
  std::array<T, 4> scalars_ = {};
};

// What the rules of Ftrl have in common.
template <typename T>
class FtrlStep {
 public:
  static constexpr int kVariables = 3;

 protected:
  struct Scalars {
    T lr = 0, l1 = 0, l2 = 0, l2_shrinkage = 0, lr_power = 0;
  };
  explicit FtrlStep(const OpKernelConstruction& construction)
      : multiply_linear_by_lr_(
            construction.GetAttr<bool>("multiply_linear_by_lr")
                .value_or(false)) {}

  // `shrunk` is the gradient with the penalty on the size of the variable.
  void Step(const Scalars& s, T* v, T g, T shrunk) const {
    // The linear slot may be kept multiplied by the learning rate.
    const T scale = multiply_linear_by_lr_ ? s.lr : T(1);
    const T rate = multiply_linear_by_lr_ ? T(1) : s.lr;
    const T accum = v[1] + g * g;
    v[2] += shrunk * scale -
            (Power(accum, s.lr_power) - Power(v[1], s.lr_power)) / rate * v[0];
    v[1] = accum;
    const T quadratic = Power(accum, s.lr_power) / rate + T(2) * s.l2 * scale;
    v[0] = -Shrink(v[2], s.l1 * scale) / quadratic;
  }

  // NaN fails each of these.
  absl::Status CheckScalars(const Scalars& s) const {
    if (!(s.lr > 0 || (multiply_linear_by_lr_ && s.lr == 0))) {
      return absl::InvalidArgumentError(
          "lr is not a positive scalar (or zero if multiply_linear_by_lr is "
          "set)");
    }
    RETURN_IF_ERROR(CheckNotNegative("l1", s.l1));
    RETURN_IF_ERROR(CheckNotNegative("l2", s.l2));
    RETURN_IF_ERROR(CheckNotNegative("l2 shrinkage", s.l2_shrinkage));
    if (s.lr_power <= 0) return absl::OkStatus();
    return absl::InvalidArgumentError("lr_power is not a non-positive scalar");
  }

 private:
  static absl::Status CheckNotNegative(const char* what, T value) {
    if (value >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        what, " regularization strength is not a non-negative scalar"));
  }
  static T Power(T x, T lr_power) {
    return lr_power == T(-0.5) ? std::sqrt(x) : std::pow(x, -lr_power);
  }

  const bool multiply_linear_by_lr_;
};

template <typename T>
class FtrlRule : public FtrlStep<T> {
 public:
  static constexpr std::array<const char*, 4> kScalars = {"lr", "l1", "l2",
                                                          "lr_power"};

  explicit FtrlRule(const OpKernelConstruction& construction)
      : FtrlStep<T>(construction) {}
  void Set(const std::array<T, 4>& scalars) {
    scalars_ = {scalars[0], scalars[1], scalars[2], T(0), scalars[3]};
  }
  absl::Status CheckSparse() const { return this->CheckScalars(scalars_); }
  void Step(T* v, T g) const { FtrlStep<T>::Step(scalars_, v, g, g); }

 private:
  typename FtrlStep<T>::Scalars scalars_;
};

template <typename T>
class FtrlV2Rule : public FtrlStep<T> {
 public:
  static constexpr std::array<const char*, 5> kScalars = {
      "lr", "l1", "l2", "l2_shrinkage", "lr_power"};

  explicit FtrlV2Rule(const OpKernelConstruction& construction)
      : FtrlStep<T>(construction) {}
  void Set(const std::array<T, 5>& scalars) {
    scalars_ = {scalars[0], scalars[1], scalars[2], scalars[3], scalars[4]};
  }
  absl::Status CheckSparse() const { return this->CheckScalars(scalars_); }
  void Step(T* v, T g) const {
    FtrlStep<T>::Step(scalars_, v, g, g + T(2) * scalars_.l2_shrinkage * v[0]);
  }

 private:
  typename FtrlStep<T>::Scalars scalars_;
};

template <typename T>
class ProximalGradientDescentRule {
 public:
  static constexpr int kVariables = 1;
  static constexpr std::array<const char*, 3> kScalars = {"alpha", "l1", "l2"};

  explicit ProximalGradientDescentRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 3>& scalars) { scalars_ = scalars; }
  void Step(T* v, T g) const {
    const auto [alpha, l1, l2] = scalars_;
    T moved = v[0] - g * alpha;
    if (l1 > 0) moved = Shrink(moved, alpha * l1);
    v[0] = moved / (T(1) + l2 * alpha);
  }

 private:
  std::array<T, 3> scalars_ = {};
};

template <typename T>
class ProximalAdagradRule {
 public:
  static constexpr int kVariables = 2;
  static constexpr std::array<const char*, 3> kScalars = {"lr", "l1", "l2"};

  explicit ProximalAdagradRule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 3>& scalars) { scalars_ = scalars; }
  void Step(T* v, T g) const {
    const auto [lr, l1, l2] = scalars_;
    v[1] += g * g;
    const T rate = lr / std::sqrt(v[1]);
    T moved = v[0] - g * rate;
    if (l1 > 0) moved = Shrink(moved, rate * l1);
    v[0] = moved / (T(1) + l2 * rate);
  }

 private:
  std::array<T, 3> scalars_ = {};
};

// Dual averaging: the variable follows from the sums of all gradients.
template <typename T>
class AdagradDARule {
 public:
  static constexpr int kVariables = 3;
  static constexpr std::array<const char*, 4> kScalars = {"lr", "l1", "l2",
                                                          "global_step"};

  explicit AdagradDARule(const OpKernelConstruction&) {}
  void Set(const std::array<T, 4>& scalars) { scalars_ = scalars; }
  void Step(T* v, T g) const {
    const auto [lr, l1, l2, global_step] = scalars_;
    v[1] += g;
    v[2] += g * g;
    const T sum = l1 > 0 ? Shrink(v[1], l1 * global_step) : v[1];
    v[0] = -lr * sum / (l2 * global_step * lr + std::sqrt(v[2]));
  }

 private:
  std::array<T, 4> scalars_ = {};
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TRAINING_RULES_H_
