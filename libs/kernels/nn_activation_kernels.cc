// Activations and their gradients, element by element. Formulas are
// TensorFlow's (core/kernels/{relu,elu,softplus,softsign}_op_functor.h).
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/nn_loops.h"
#include "libs/kernels/nn_registration.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/parallel_loop.h"

namespace weft {
namespace {

// Each activation has Apply(x) and Grad(gradient, x or activation), both in
// the type that is computed with.
struct ReluFunction {
  template <typename T>
  static T Apply(T x) {
    return x < T(0) ? T(0) : x;
  }
  template <typename T>
  static T Grad(T gradient, T x) {
    return x > T(0) ? gradient : T(0);
  }
};

struct Relu6Function {
  template <typename T>
  static T Apply(T x) {
    return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
  }
  template <typename T>
  static T Grad(T gradient, T x) {
    return x > T(0) && x < T(6) ? gradient : T(0);
  }
};

struct EluFunction {
  template <typename T>
  static T Apply(T x) {
    return x < T(0) ? std::expm1(x) : x;
  }
  template <typename T>
  static T Grad(T gradient, T activation) {
    return activation < T(0) ? gradient * (activation + T(1)) : gradient;
  }
};

struct SeluFunction {
  static constexpr double kScale = 1.0507009873554804934193349852946;
  static constexpr double kScaledAlpha = 1.7580993408473768599402175208123;
  template <typename T>
  static T Apply(T x) {
    return x < T(0) ? T(kScaledAlpha) * std::expm1(x) : T(kScale) * x;
  }
  template <typename T>
  static T Grad(T gradient, T activation) {
    return activation < T(0) ? gradient * (activation + T(kScaledAlpha))
                             : gradient * T(kScale);
  }
};

struct SoftplusFunction {
  template <typename T>
  static T Apply(T x) {
    // Beyond the threshold log(1 + exp(x)) is x, or exp(x), to all digits.
    static const T threshold =
        std::log(std::numeric_limits<T>::epsilon()) + T(2);
    if (x > -threshold) return x;
    if (x < threshold) return std::exp(x);
    return std::log1p(std::exp(x));
  }
  template <typename T>
  static T Grad(T gradient, T x) {
    return gradient / (std::exp(-x) + T(1));
  }
};

struct SoftsignFunction {
  template <typename T>
  static T Apply(T x) {
    return x / (T(1) + std::abs(x));
  }
  template <typename T>
  static T Grad(T gradient, T x) {
    const T base = T(1) + std::abs(x);
    return gradient / (base * base);
  }
};

template <typename T>
constexpr bool kHasLoops =
    std::is_same_v<T, float> || std::is_same_v<T, double>;

template <typename T, typename Function>
class ActivationKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& features = context.input(0);
    const T* x = features.flat<T>().data();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, features.shape()));
    T* out = output->mutable_flat<T>().data();
    ParallelLoop(context, output->num_elements(), 1,
                 [&](int64_t begin, int64_t end) {
                   Loop(x + begin, out + begin, end - begin);
                 });
    return absl::OkStatus();
  }

 private:
  static void Loop(const T* x, T* out, int64_t n) {
    if constexpr (kHasLoops<T> && std::is_same_v<Function, ReluFunction>) {
      BestNnLoops<T>().relu(x, out, n);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        out[i] = static_cast<T>(Function::Apply(static_cast<Wide<T>>(x[i])));
      }
    }
  }
};

absl::Status CheckGradientShapes(const Tensor& gradient, const Tensor& other) {
  if (gradient.shape() == other.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "g and a must be the same size: ", gradient.shape().ToString(), " vs. ",
      other.shape().ToString()));
}

template <typename T, typename Function>
class ActivationGradKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& gradient = context.input(0);
    const Tensor& other = context.input(1);
    RETURN_IF_ERROR(CheckGradientShapes(gradient, other));
    const T* g = gradient.flat<T>().data();
    const T* x = other.flat<T>().data();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0, 1}, 0, gradient.shape()));
    T* out = output->mutable_flat<T>().data();
    ParallelLoop(context, output->num_elements(), 1,
                 [&](int64_t begin, int64_t end) {
                   Loop(g + begin, x + begin, out + begin, end - begin);
                 });
    return absl::OkStatus();
  }

 private:
  static void Loop(const T* g, const T* x, T* out, int64_t n) {
    if constexpr (kHasLoops<T> && std::is_same_v<Function, ReluFunction>) {
      BestNnLoops<T>().relu_grad(g, x, out, n);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        out[i] = static_cast<T>(Function::Grad(static_cast<Wide<T>>(g[i]),
                                               static_cast<Wide<T>>(x[i])));
      }
    }
  }
};

// With an attribute, so not one of the functions above.
template <typename T>
class LeakyReluKernel : public OpKernel {
 public:
  explicit LeakyReluKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        alpha_(construction.GetAttr<float>("alpha").value_or(0.2f)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const absl::Span<const T> x = context.input(0).flat<T>();
    ASSIGN_OR_RETURN(Tensor * output, context.ForwardOrAllocate(
                                          {0}, 0, context.input(0).shape()));
    const absl::Span<T> out = output->mutable_flat<T>();
    for (size_t i = 0; i < x.size(); ++i) {
      const Wide<T> value = x[i];
      out[i] = static_cast<T>(value > 0 ? value : value * alpha_);
    }
    return absl::OkStatus();
  }

 private:
  const Wide<T> alpha_;
};

template <typename T>
class LeakyReluGradKernel : public OpKernel {
 public:
  explicit LeakyReluGradKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        alpha_(construction.GetAttr<float>("alpha").value_or(0.2f)) {}

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckGradientShapes(context.input(0), context.input(1)));
    const absl::Span<const T> g = context.input(0).flat<T>();
    const absl::Span<const T> x = context.input(1).flat<T>();
    ASSIGN_OR_RETURN(Tensor * output, context.ForwardOrAllocate(
                                          {0, 1}, 0, context.input(0).shape()));
    const absl::Span<T> out = output->mutable_flat<T>();
    for (size_t i = 0; i < x.size(); ++i) {
      const Wide<T> gradient = g[i];
      out[i] = static_cast<T>(
          static_cast<Wide<T>>(x[i]) > 0 ? gradient : gradient * alpha_);
    }
    return absl::OkStatus();
  }

 private:
  const Wide<T> alpha_;
};

template <typename T, typename Function>
void RegisterActivation(KernelRegistry& registry, const std::string& name) {
  const DataType type = DataTypeOf<T>::value;
  registry.Register<ActivationKernel<T, Function>>(name, {{"T", {type}}},
                                                   /*is_cheap=*/true);
  registry.Register<ActivationGradKernel<T, Function>>(
      name + "Grad", {{"T", {type}}}, /*is_cheap=*/true);
}

template <typename... Ts>
void RegisterRectifiers(KernelRegistry& registry, TypeList<Ts...>) {
  (RegisterActivation<Ts, ReluFunction>(registry, "Relu"), ...);
  (RegisterActivation<Ts, Relu6Function>(registry, "Relu6"), ...);
}

template <typename T>
void RegisterSmooth(KernelRegistry& registry) {
  const DataType type = DataTypeOf<T>::value;
  RegisterActivation<T, EluFunction>(registry, "Elu");
  RegisterActivation<T, SeluFunction>(registry, "Selu");
  RegisterActivation<T, SoftplusFunction>(registry, "Softplus");
  RegisterActivation<T, SoftsignFunction>(registry, "Softsign");
  registry.Register<LeakyReluKernel<T>>("LeakyRelu", {{"T", {type}}});
  registry.Register<LeakyReluGradKernel<T>>("LeakyReluGrad", {{"T", {type}}});
}

template <typename... Ts>
void RegisterAllSmooth(KernelRegistry& registry, TypeList<Ts...>) {
  (RegisterSmooth<Ts>(registry), ...);
}

}  // namespace

void RegisterActivationKernels(KernelRegistry& registry) {
  RegisterRectifiers(registry, RealNumbers{});
  RegisterAllSmooth(registry, FloatingTypes{});
}

}  // namespace weft
