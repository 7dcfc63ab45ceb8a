// Launches that copy or set elements: Cast, Select, Fill.
#include "libs/kernels/cuda/dims.cu.h"
#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/math.cu.h"

namespace weft::cuda {
namespace {

// Calls f(Tag<T>()) for any type; also on the device, unlike ForNumbers, which
// covers some of these types.
template <typename F>
__host__ __device__ void ForAll(ElementType type, F f) {
  switch (type) {
    case ElementType::kFloat:
      return f(Tag<float>());
    case ElementType::kDouble:
      return f(Tag<double>());
    case ElementType::kHalf:
      return f(Tag<__half>());
    case ElementType::kBfloat16:
      return f(Tag<__nv_bfloat16>());
    case ElementType::kInt8:
      return f(Tag<int8_t>());
    case ElementType::kInt16:
      return f(Tag<int16_t>());
    case ElementType::kInt32:
      return f(Tag<int32_t>());
    case ElementType::kInt64:
      return f(Tag<int64_t>());
    case ElementType::kUint8:
      return f(Tag<uint8_t>());
    case ElementType::kUint16:
      return f(Tag<uint16_t>());
    case ElementType::kUint32:
      return f(Tag<uint32_t>());
    case ElementType::kUint64:
      return f(Tag<uint64_t>());
    case ElementType::kBool:
      return f(Tag<bool>());
    default:
      return;
  }
}

template <typename T>
__device__ T ClearLowBits(T x, int bits) {
  if (bits == 0) return x;
  if constexpr (std::is_same_v<T, float>) {
    return __uint_as_float(__float_as_uint(x) & (~0u << bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return __longlong_as_double(__double_as_longlong(x) & (~0LL << bits));
  } else {
    return x;
  }
}

// The result type is dispatched for each element: one kernel for each type of
// x, instead of one for each pair.
template <typename From>
__global__ void Cast(ElementType to, int64_t n, int lost_bits, const From* x,
                     void* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Wide<From> value = ClearLowBits(ToWide(x[i]), lost_bits);
    ForAll(to, [=](auto tag) {
      using To = typename decltype(tag)::type;
      static_cast<To*>(out)[i] = FromWide<To>(CastTo<Wide<To>>(value));
    });
  }
}

template <typename T>
__global__ void Select(Dims dims, int64_t n, const bool* condition,
                       const T* yes, const T* no, T* out) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const Offsets<3> at = OffsetsAt<3>(dims, n, i);
    out[i] = condition[at.of[0]] ? yes[at.of[1]] : no[at.of[2]];
  }
}

template <typename T>
__global__ void Clip(ClipArgs args, const T* x, T* out) {
  const auto* const low = static_cast<const T*>(args.low);
  const auto* const high = static_cast<const T*>(args.high);
  for (int64_t i = FirstItem(); i < args.n; i += ItemStep()) {
    out[i] = FromWide<T>(Clipped(ToWide(x[i]), ToWide(low[i * args.low_step]),
                                 ToWide(high[i * args.high_step])));
  }
}

template <typename T>
__global__ void Fill(int64_t n, const T* value, T* out) {
  const T element = *value;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) out[i] = element;
}

template <typename T>
__global__ void Ones(int64_t n, T* out) {
  const T one = FromWide<T>(Wide<T>(1));
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) out[i] = one;
}

}  // namespace

void LaunchCast(ElementType from, ElementType to, int64_t n, int lost_bits,
                const void* x, void* out, cudaStream_t stream) {
  ForAll(from, [&](auto tag) {
    using From = typename decltype(tag)::type;
    Cast<From><<<BlocksFor(n), kThreads, 0, stream>>>(
        to, n, lost_bits, static_cast<const From*>(x), out);
  });
}

void LaunchSelect(int64_t element_size, const Dims& dims, int64_t n,
                  const bool* condition, const void* yes, const void* no,
                  void* out, cudaStream_t stream) {
  ForSize(element_size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Select<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        dims, n, condition, static_cast<const T*>(yes),
        static_cast<const T*>(no), static_cast<T*>(out));
  });
}

void LaunchClip(const ClipArgs& args, const void* x, void* out,
                cudaStream_t stream) {
  ForNumbers(args.type, [&]<typename T>(Tag<T>) {
    Clip<<<BlocksFor(args.n), kThreads, 0, stream>>>(
        args, static_cast<const T*>(x), static_cast<T*>(out));
  });
}

void LaunchFill(int64_t element_size, int64_t n, const void* value, void* out,
                cudaStream_t stream) {
  ForSize(element_size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Fill<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        n, static_cast<const T*>(value), static_cast<T*>(out));
  });
}

void LaunchBytes(int byte, int64_t bytes, void* out, cudaStream_t stream) {
  cudaMemsetAsync(out, byte, static_cast<size_t>(bytes), stream);
}

void LaunchOnes(ElementType type, int64_t n, void* out, cudaStream_t stream) {
  ForAll(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Ones<T><<<BlocksFor(n), kThreads, 0, stream>>>(n, static_cast<T*>(out));
  });
}

}  // namespace weft::cuda
