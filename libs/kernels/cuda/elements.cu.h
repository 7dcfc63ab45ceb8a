// For *.cu only: elements of each type, loops over them, and dispatch by type.
#ifndef WEFT_LIBS_KERNELS_CUDA_ELEMENTS_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_ELEMENTS_CU_H_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "libs/kernels/cuda/element_type.h"

namespace weft::cuda {

// The type used for computation: float for the 16-bit floats, else T.
template <typename T>
using Wide = std::conditional_t<
    std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, float, T>;

template <typename T>
__device__ __forceinline__ Wide<T> ToWide(T x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(x);
  } else {
    return x;
  }
}

// Rounds to nearest even if rounding is needed.
template <typename T>
__device__ __forceinline__ T FromWide(Wide<T> x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

constexpr int kThreads = 256;  // per block, unless stated otherwise

// The maximum number of blocks per launch. It is small for emulated GPUs, so
// that loops run more than once.
#ifndef WEFT_MOST_BLOCKS
#define WEFT_MOST_BLOCKS (1 << 16)
#endif

// Blocks for n > 0 items, one per thread; a loop (FirstItem) handles the rest.
inline unsigned BlocksFor(int64_t n, int threads = kThreads) {
  constexpr int64_t kMost = WEFT_MOST_BLOCKS;
  const int64_t blocks = (n + threads - 1) / threads;
  return static_cast<unsigned>(blocks < kMost ? blocks : kMost);
}

// for (int64_t i = FirstItem(); i < n; i += ItemStep()) ...
__device__ __forceinline__ int64_t FirstItem() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t ItemStep() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

template <typename T>
struct Tag {
  using type = T;
};

// Calls f(Tag<T>()) for the type; does nothing for unlisted types.
template <typename F>
void ForFloats(ElementType type, F f) {
  switch (type) {
    case ElementType::kFloat:
      return f(Tag<float>());
    case ElementType::kDouble:
      return f(Tag<double>());
    case ElementType::kHalf:
      return f(Tag<__half>());
    case ElementType::kBfloat16:
      return f(Tag<__nv_bfloat16>());
    default:
      return;
  }
}

// Floats and int64.
template <typename F>
void ForNumbers(ElementType type, F f) {
  if (type == ElementType::kInt64) return f(Tag<int64_t>());
  ForFloats(type, f);
}

// Element types by size alone, for moves: 1, 2, 4, 8, 16 bytes.
struct alignas(16) Bytes16 {
  uint64_t low, high;
};
template <typename F>
void ForSize(int64_t size, F f) {
  switch (size) {
    case 1:
      return f(Tag<uint8_t>());
    case 2:
      return f(Tag<uint16_t>());
    case 4:
      return f(Tag<uint32_t>());
    case 8:
      return f(Tag<uint64_t>());
    case 16:
      return f(Tag<Bytes16>());
    default:
      return;
  }
}

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_ELEMENTS_CU_H_
