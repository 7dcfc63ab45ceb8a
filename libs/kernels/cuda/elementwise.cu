// Launches of binary and unary ops, comparisons and biases.
#include "libs/kernels/cuda/dims.cu.h"
#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/math.cu.h"

namespace weft::cuda {
namespace {

// As in the CPU's loops, the quotient of 16-bit floats is rounded to their type
// before it is rounded to an integer.
template <typename T>
__device__ Wide<T> Result(BinaryOp op, Wide<T> x, Wide<T> y) {
  if constexpr (sizeof(T) == 2) {
    if (op == BinaryOp::kFloorDiv) {
      return floorf(ToWide(FromWide<T>(x / y)));
    }
  }
  return Apply(op, x, y);
}

// `out` may be `x` or `y` if those have its shape: each element is read by the
// thread that writes it. So none of them is __restrict__.
template <typename T>
__global__ void Binary(BinaryOp op, Dims dims, int64_t n, const T* x,
                       const T* y, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Offsets<2> at = OffsetsAt<2>(dims, n, i);
    out[i] =
        FromWide<T>(Result<T>(op, ToWide(x[at.of[0]]), ToWide(y[at.of[1]])));
  }
}

template <typename T>
__global__ void Compare(Comparison op, Dims dims, int64_t n, const T* x,
                        const T* y, bool* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Offsets<2> at = OffsetsAt<2>(dims, n, i);
    out[i] = Apply(op, ToWide(x[at.of[0]]), ToWide(y[at.of[1]]));
  }
}

template <typename T>
__global__ void Unary(UnaryOp op, int64_t n, const T* x, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    out[i] = FromWide<T>(Apply(op, ToWide(x[i])));
  }
}

template <typename T>
__global__ void Test(Predicate op, int64_t n, const T* x, bool* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    out[i] = Apply(op, ToWide(x[i]));
  }
}

__global__ void Not(int64_t n, const bool* x, bool* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) out[i] = !x[i];
}

template <typename T>
__global__ void LeakyRelu(int64_t n, float alpha, const T* gradient, const T* x,
                          T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Wide<T> g = ToWide(gradient[i]);
    const bool is_positive = ToWide(x[i]) > Wide<T>(0);
    out[i] = FromWide<T>(is_positive ? g : g * static_cast<Wide<T>>(alpha));
  }
}

template <typename T>
__global__ void BiasAdd(int64_t n, int64_t channels, int64_t inner, const T* x,
                        const T* bias, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const T b = bias[i / inner % channels];
    out[i] = FromWide<T>(ToWide(x[i]) + ToWide(b));
  }
}

}  // namespace

void LaunchBinary(BinaryOp op, ElementType type, const Dims& dims, int64_t n,
                  const void* x, const void* y, void* out,
                  cudaStream_t stream) {
  ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Binary<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        op, dims, n, static_cast<const T*>(x), static_cast<const T*>(y),
        static_cast<T*>(out));
  });
}

void LaunchComparison(Comparison op, ElementType type, const Dims& dims,
                      int64_t n, const void* x, const void* y, bool* out,
                      cudaStream_t stream) {
  const auto launch = [&](auto tag) {
    using T = typename decltype(tag)::type;
    Compare<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        op, dims, n, static_cast<const T*>(x), static_cast<const T*>(y), out);
  };
  if (type == ElementType::kBool) return launch(Tag<bool>());
  ForNumbers(type, launch);
}

void LaunchUnary(UnaryOp op, ElementType type, int64_t n, const void* x,
                 void* out, cudaStream_t stream) {
  ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Unary<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        op, n, static_cast<const T*>(x), static_cast<T*>(out));
  });
}

void LaunchPredicate(Predicate op, ElementType type, int64_t n, const void* x,
                     bool* out, cudaStream_t stream) {
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Test<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        op, n, static_cast<const T*>(x), out);
  });
}

void LaunchNot(int64_t n, const bool* x, bool* out, cudaStream_t stream) {
  Not<<<BlocksFor(n), kThreads, 0, stream>>>(n, x, out);
}

void LaunchLeakyRelu(ElementType type, int64_t n, float alpha,
                     const void* gradient, const void* x, void* out,
                     cudaStream_t stream) {
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    LeakyRelu<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        n, alpha, static_cast<const T*>(gradient), static_cast<const T*>(x),
        static_cast<T*>(out));
  });
}

void LaunchBiasAdd(ElementType type, int64_t n, int64_t channels, int64_t inner,
                   const void* x, const void* bias, void* out,
                   cudaStream_t stream) {
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    BiasAdd<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        n, channels, inner, static_cast<const T*>(x),
        static_cast<const T*>(bias), static_cast<T*>(out));
  });
}

}  // namespace weft::cuda
