// Activations and their gradients, element by element. Formulas are
// TensorFlow's (core/kernels/{relu,elu,softplus,softsign}_op_functor.h).
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/element_loops.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/isa/nn_loops.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"

namespace weft {
namespace {

// Each activation has Apply(x) and Grad(gradient, x or activation), both in the
// type used for computation.
struct ReluFunction {
  template <typename T>
  static T Apply(T x) {
    return x < T(0) ? T(0) : x;
  }
  // A product, as in TensorFlow: infinity and NaN give NaN.
  template <typename T>
  static T Grad(T gradient, T x) {
    return static_cast<T>(gradient * T(x > T(0)));
  }
};

struct Relu6Function {
  template <typename T>
  static T Apply(T x) {
    return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
  }
  template <typename T>
  static T Grad(T gradient, T x) {
    return static_cast<T>(gradient * T(x > T(0) && x < T(6)));
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
    // Beyond the threshold, log(1 + exp(x)) equals x, or exp(x), to full
    // precision.
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

// Kernels treat elements as bytes, so that one kernel serves all functions and
// types; these loops know the type.
using ActivationLoop = UnaryLoop;
using ActivationGradLoop = PairLoop;  // of the gradient and x

template <typename T, typename Function>
void Activate(const void* features, void* activations, int64_t n) {
  const T* const x = static_cast<const T*>(features);
  T* const out = static_cast<T*>(activations);
  if constexpr (kHasNarrowLoops<T>) {
    InFloats(x, out, n, &Activate<float, Function>);
  } else if constexpr (kHasNnLoops<T> &&
                       std::is_same_v<Function, ReluFunction>) {
    BestNnLoops<T>().relu(x, out, n);
  } else if constexpr (kHasNnLoops<T> &&
                       std::is_same_v<Function, Relu6Function>) {
    BestNnLoops<T>().relu6(x, out, n);
  } else if constexpr (kHasNnLoops<T> &&
                       std::is_same_v<Function, EluFunction>) {
    BestNnLoops<T>().elu(x, out, n);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = Function::Apply(x[i]);
    }
  }
}

template <typename T, typename Function>
void ActivateGrad(const void* gradients, const void* features, void* backprops,
                  int64_t n) {
  const T* const g = static_cast<const T*>(gradients);
  const T* const x = static_cast<const T*>(features);
  T* const out = static_cast<T*>(backprops);
  if constexpr (kHasNarrowLoops<T>) {
    InFloats(g, x, out, n, &ActivateGrad<float, Function>);
  } else if constexpr (kHasNnLoops<T> &&
                       std::is_same_v<Function, ReluFunction>) {
    BestNnLoops<T>().relu_grad(g, x, out, n);
  } else if constexpr (kHasNnLoops<T> &&
                       std::is_same_v<Function, Relu6Function>) {
    BestNnLoops<T>().relu6_grad(g, x, out, n);
  } else if constexpr (kHasNnLoops<T> &&
                       std::is_same_v<Function, EluFunction>) {
    BestNnLoops<T>().elu_grad(g, x, out, n);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = Function::Grad(g[i], x[i]);
    }
  }
}

const char* BytesOf(const Tensor& tensor) {
  return static_cast<const char*>(tensor.data());
}

class ActivationKernel : public ElementKernel {
 public:
  ActivationKernel(const OpKernelConstruction& construction,
                   ActivationLoop loop)
      : ElementKernel(construction), loop_(loop) {}

  ElementLoops loops() const override { return {.unary = loop_}; }

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& features = context.input(0);
    const auto size = static_cast<int64_t>(DataTypeSize(features.dtype()));
    const char* const x = BytesOf(features);
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, features.shape()));
    char* const out = static_cast<char*>(output->mutable_data());
    ParallelLoop(context, output->num_elements(), 1,
                 [&](int64_t begin, int64_t end) {
                   loop_(x + begin * size, out + begin * size, end - begin);
                 });
    return absl::OkStatus();
  }

 private:
  const ActivationLoop loop_;
};

class ActivationGradKernel : public ElementKernel {
 public:
  ActivationGradKernel(const OpKernelConstruction& construction,
                       ActivationGradLoop loop)
      : ElementKernel(construction), loop_(loop) {}

  ElementLoops loops() const override { return {.pair = loop_}; }

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& gradient = context.input(0);
    const Tensor& other = context.input(1);
    RETURN_IF_ERROR(CheckGradientShapes(gradient.shape(), other.shape()));
    const auto size = static_cast<int64_t>(DataTypeSize(gradient.dtype()));
    const char* const g = BytesOf(gradient);
    const char* const x = BytesOf(other);
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0, 1}, 0, gradient.shape()));
    char* const out = static_cast<char*>(output->mutable_data());
    ParallelLoop(context, output->num_elements(), 1,
                 [&](int64_t begin, int64_t end) {
                   loop_(g + begin * size, x + begin * size, out + begin * size,
                         end - begin);
                 });
    return absl::OkStatus();
  }

 private:
  const ActivationGradLoop loop_;
};

// This one has an attribute, so it is not among the functions above.
template <typename T>
void LeakyRelu(const void* features, float alpha, void* activations,
               int64_t n) {
  const T* const x = static_cast<const T*>(features);
  T* const out = static_cast<T*>(activations);
  if constexpr (kHasNarrowLoops<T>) {
    const float rounded = static_cast<T>(alpha);
    InFloats(x, out, n, [&](const float* from, float* to, int64_t count) {
      BestNnLoops<float>().leaky_relu(from, rounded, to, count);
    });
  } else {
    BestNnLoops<T>().leaky_relu(x, T(alpha), out, n);
  }
}

template <typename T>
void LeakyReluGrad(const void* gradients, const void* features, float alpha,
                   void* backprops, int64_t n) {
  const T* const g = static_cast<const T*>(gradients);
  const T* const x = static_cast<const T*>(features);
  T* const out = static_cast<T*>(backprops);
  if constexpr (kHasNarrowLoops<T>) {
    const float rounded = static_cast<T>(alpha);
    InFloats(g, x, out, n,
             [&](const float* gradient, const float* value, float* to,
                 int64_t count) {
               BestNnLoops<float>().leaky_relu_grad(gradient, value, rounded,
                                                    to, count);
             });
  } else {
    BestNnLoops<T>().leaky_relu_grad(g, x, T(alpha), out, n);
  }
}

class LeakyReluKernel : public OpKernel {
 public:
  explicit LeakyReluKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        alpha_(construction.GetAttr<float>("alpha").value_or(0.2f)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const void* const x = context.input(0).data();
    ASSIGN_OR_RETURN(Tensor * output, context.ForwardOrAllocate(
                                          {0}, 0, context.input(0).shape()));
    return DispatchType(FloatingTypes{}, output->dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          LeakyRelu<T>(x, alpha_, output->mutable_data(),
                                       output->num_elements());
                          return absl::OkStatus();
                        });
  }

 private:
  const float alpha_;
};

class LeakyReluGradKernel : public OpKernel {
 public:
  explicit LeakyReluGradKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        alpha_(construction.GetAttr<float>("alpha").value_or(0.2f)) {}

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckGradientShapes(context.input(0).shape(),
                                        context.input(1).shape()));
    const void* const g = context.input(0).data();
    const void* const x = context.input(1).data();
    ASSIGN_OR_RETURN(Tensor * output, context.ForwardOrAllocate(
                                          {0, 1}, 0, context.input(0).shape()));
    return DispatchType(FloatingTypes{}, output->dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          LeakyReluGrad<T>(g, x, alpha_, output->mutable_data(),
                                           output->num_elements());
                          return absl::OkStatus();
                        });
  }

 private:
  const float alpha_;
};

void RegisterLoops(KernelRegistry& registry, const char* name,
                   const char* gradient, DataType type, ActivationLoop loop,
                   ActivationGradLoop grad_loop) {
  registry.Register({.op = name, .types = {{"T", {type}}}, .is_cheap = true},
                    [loop](const OpKernelConstruction& construction) {
                      return std::make_unique<ActivationKernel>(construction,
                                                                loop);
                    });
  registry.Register(
      {.op = gradient, .types = {{"T", {type}}}, .is_cheap = true},
      [grad_loop](const OpKernelConstruction& construction) {
        return std::make_unique<ActivationGradKernel>(construction, grad_loop);
      });
}

template <typename Function, typename... Ts>
void RegisterActivation(KernelRegistry& registry, const char* name,
                        const char* gradient, TypeList<Ts...>) {
  (RegisterLoops(registry, name, gradient, DataTypeOf<Ts>::value,
                 &Activate<Ts, Function>, &ActivateGrad<Ts, Function>),
   ...);
}

}  // namespace

void RegisterActivationKernels(KernelRegistry& registry) {
  RegisterActivation<ReluFunction>(registry, "Relu", "ReluGrad", RealNumbers{});
  RegisterActivation<Relu6Function>(registry, "Relu6", "Relu6Grad",
                                    RealNumbers{});
  RegisterActivation<EluFunction>(registry, "Elu", "EluGrad", FloatingTypes{});
  RegisterActivation<SeluFunction>(registry, "Selu", "SeluGrad",
                                   FloatingTypes{});
  RegisterActivation<SoftplusFunction>(registry, "Softplus", "SoftplusGrad",
                                       FloatingTypes{});
  RegisterActivation<SoftsignFunction>(registry, "Softsign", "SoftsignGrad",
                                       FloatingTypes{});
  for (DataType type : DataTypesOf(FloatingTypes{})) {
    registry.Register<LeakyReluKernel>("LeakyRelu", {{"T", {type}}});
    registry.Register<LeakyReluGradKernel>("LeakyReluGrad", {{"T", {type}}});
  }
}

}  // namespace weft
