#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/random.cu.h"

namespace weft::cuda {
namespace {

// As Philox::Skip.
__device__ void Skip(PhiloxState& state, uint64_t samples) {
  const uint64_t before =
      state.counter[0] | static_cast<uint64_t>(state.counter[1]) << 32;
  const uint64_t low = before + samples;
  if (low < samples && ++state.counter[2] == 0) ++state.counter[3];
  state.counter[0] = static_cast<uint32_t>(low);
  state.counter[1] = static_cast<uint32_t>(low >> 32);
}

// As Philox::Next.
__device__ void Next(PhiloxState& state, uint32_t* x) {
  for (int i = 0; i < 4; ++i) x[i] = state.counter[i];
  uint32_t key0 = state.key[0], key1 = state.key[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * x[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * x[2];
    const uint32_t x1 = x[1], x3 = x[3];
    x[0] = static_cast<uint32_t>(b >> 32) ^ x1 ^ key0;
    x[1] = static_cast<uint32_t>(b);
    x[2] = static_cast<uint32_t>(a >> 32) ^ x3 ^ key1;
    x[3] = static_cast<uint32_t>(a);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  Skip(state, 1);
}

__device__ float UniformFloat(uint32_t x) {
  return __uint_as_float((127u << 23) | (x & 0x7fffffu)) - 1.0f;
}
__device__ double UniformDouble(uint32_t x0, uint32_t x1) {
  const uint64_t mantissa = (uint64_t{x0 & 0xfffffu} << 32) | x1;
  return __longlong_as_double(
             static_cast<long long>((uint64_t{1023} << 52) | mantissa)) -
         1.0;
}

template <typename T>
__device__ T UniformOf(uint32_t x) {
  if constexpr (std::is_same_v<T, __half>) {
    const auto bits = static_cast<unsigned short>((15u << 10) | (x & 0x3ffu));
    return __float2half_rn(__half2float(__ushort_as_half(bits)) - 1.0f);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    // A bfloat16 is the upper half of a float.
    const uint32_t bits = (127u << 7) | (x & 0x7fu);
    return __float2bfloat16_rn(__uint_as_float(bits << 16) - 1.0f);
  } else {
    return UniformFloat(x);
  }
}

constexpr double kTwoPi = 6.283185307179586476925286766559;

__device__ void Normal(uint32_t x0, uint32_t x1, float* out) {
  float u = UniformFloat(x0);
  if (u < 1.0e-7f) u = 1.0e-7f;  // log(0) is not finite
  const auto angle = static_cast<float>(kTwoPi * UniformFloat(x1));
  const float radius = sqrtf(-2.0f * logf(u));
  out[0] = sinf(angle) * radius;
  out[1] = cosf(angle) * radius;
}
__device__ void Normal(const uint32_t* x, double* out) {
  constexpr double kEpsilon = 1.0e-7;
  double u = UniformDouble(x[0], x[1]);
  if (u < kEpsilon) u = kEpsilon;
  const double angle = kTwoPi * UniformDouble(x[2], x[3]);
  const double radius = sqrt(-2.0 * log(u));
  out[0] = sin(angle) * radius;
  out[1] = cos(angle) * radius;
}

template <typename T>
inline constexpr int kGroup = sizeof(T) == 8 ? 2 : 4;

template <typename T>
__device__ void MakeUniform(PhiloxState& state, T* out) {
  uint32_t x[4];
  Next(state, x);
  if constexpr (std::is_same_v<T, double>) {
    out[0] = UniformDouble(x[0], x[1]);
    out[1] = UniformDouble(x[2], x[3]);
  } else {
    for (int i = 0; i < 4; ++i) out[i] = UniformOf<T>(x[i]);
  }
}

// The normal numbers of one sample.
template <typename T>
__device__ void NormalsOf(PhiloxState& state, Wide<T>* out) {
  uint32_t x[4];
  Next(state, x);
  if constexpr (std::is_same_v<T, double>) {
    Normal(x, out);
  } else {
    Normal(x[0], x[1], out);
    Normal(x[2], x[3], out + 2);
  }
}

template <typename T>
__device__ void MakeNormal(PhiloxState& state, bool is_truncated, T* out) {
  for (int made = 0; made < kGroup<T>;) {
    Wide<T> values[kGroup<T>];
    NormalsOf<T>(state, values);
    for (int i = 0; i < kGroup<T> && made < kGroup<T>; ++i) {
      if (!is_truncated || fabs(values[i]) < 2) {
        out[made++] = FromWide<T>(values[i]);
      }
    }
  }
}

template <typename T>
__global__ void FillRandom(RandomKind kind, PhiloxState start, int64_t reserved,
                           int64_t n, T* out) {
  const int64_t groups = (n + kGroup<T> - 1) / kGroup<T>;
  for (int64_t group = FirstItem(); group < groups; group += ItemStep()) {
    const bool is_truncated = kind == RandomKind::kTruncatedNormal;
    PhiloxState state = start;
    Skip(state, is_truncated ? static_cast<uint64_t>(group) * kGroup<T> *
                                   static_cast<uint64_t>(reserved) / 4
                             : static_cast<uint64_t>(group));
    T values[kGroup<T>];
    if (kind == RandomKind::kUniform) {
      MakeUniform(state, values);
    } else {
      MakeNormal(state, is_truncated, values);
    }
    const int64_t at = group * kGroup<T>;
    for (int i = 0; i < kGroup<T> && at + i < n; ++i) out[at + i] = values[i];
  }
}

}  // namespace

void LaunchRandom(RandomKind kind, ElementType type, const PhiloxState& start,
                  int64_t reserved, int64_t n, void* out, cudaStream_t stream) {
  ForFloats(type, [&]<typename T>(Tag<T>) {
    const int64_t groups = (n + kGroup<T> - 1) / kGroup<T>;
    FillRandom<T><<<BlocksFor(groups), kThreads, 0, stream>>>(
        kind, start, reserved, n, static_cast<T*>(out));
  });
}

}  // namespace weft::cuda
