#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/random.cu.h"

namespace weft::cuda {
namespace {

// The numbers that the CPU's TruncatedNormal reserves for each value.
constexpr uint64_t kReservedPerValue = 256;

// Philox 4x32-10; see libs/kernels/common/philox.h for its source.
class Stream {
 public:
  __device__ Stream(const RandomStart& start, uint64_t skipped)
      : start_(start) {
    Skip(skipped);
  }

  // The next four numbers.
  __device__ void Next(uint32_t* out) {
    uint32_t x0 = start_.counter[0], x1 = start_.counter[1];
    uint32_t x2 = start_.counter[2], x3 = start_.counter[3];
    uint32_t key0 = start_.key[0], key1 = start_.key[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53u} * x0;
      const uint64_t b = uint64_t{0xCD9E8D57u} * x2;
      x0 = static_cast<uint32_t>(b >> 32) ^ x1 ^ key0;
      x1 = static_cast<uint32_t>(b);
      x2 = static_cast<uint32_t>(a >> 32) ^ x3 ^ key1;
      x3 = static_cast<uint32_t>(a);
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
    Skip(1);
  }

 private:
  __device__ void Skip(uint64_t samples) {
    uint32_t* const c = start_.counter;
    const uint64_t low = (c[0] | static_cast<uint64_t>(c[1]) << 32) + samples;
    if (low < samples && ++c[2] == 0) ++c[3];
    c[0] = static_cast<uint32_t>(low);
    c[1] = static_cast<uint32_t>(low >> 32);
  }

  RandomStart start_;
};

// The numbers needed for one element of each type.
template <typename T>
struct Numbers;

template <>
struct Numbers<float> {
  static constexpr int kGroup = 4;  // values per sample
  static constexpr int kPerPair = 2;
  __device__ static float Uniform(const uint32_t* x) {
    return __uint_as_float((127u << 23) | (x[0] & 0x7fffffu)) - 1.0f;
  }
  __device__ static void Normal(const uint32_t* x, float* out) {
    const float u = fmaxf(Uniform(x), 1.0e-7f);
    const auto angle = static_cast<float>(6.283185307179586 * Uniform(x + 1));
    const float radius = sqrtf(-2.0f * logf(u));
    out[0] = sinf(angle) * radius;
    out[1] = cosf(angle) * radius;
  }
};

template <>
struct Numbers<double> {
  static constexpr int kGroup = 2;
  static constexpr int kPerPair = 4;
  __device__ static double Uniform(const uint32_t* x) {
    const uint64_t mantissa =
        static_cast<uint64_t>(x[0] & 0xfffffu) << 32 | x[1];
    return __longlong_as_double(
               static_cast<int64_t>(uint64_t{1023} << 52 | mantissa)) -
           1.0;
  }
  __device__ static void Normal(const uint32_t* x, double* out) {
    const double u = fmax(Uniform(x), 1.0e-7);
    const double angle = 6.283185307179586 * Uniform(x + 2);
    const double radius = sqrt(-2.0 * log(u));
    out[0] = sin(angle) * radius;
    out[1] = cos(angle) * radius;
  }
};

// A uniform number has as many random bits as its type's mantissa.
template <typename T>
__device__ Wide<T> UniformOf(const uint32_t* x) {
  if constexpr (std::is_same_v<T, __half>) {
    const auto bits = static_cast<unsigned short>(15u << 10 | (*x & 0x3ffu));
    return __half2float(__ushort_as_half(bits)) - 1.0f;
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const auto bits = static_cast<unsigned short>(127u << 7 | (*x & 0x7fu));
    return __bfloat162float(__ushort_as_bfloat16(bits)) - 1.0f;
  } else {
    return Numbers<T>::Uniform(x);
  }
}

// A group of values, redrawn until all are below 2.
template <typename T>
__device__ void MakeTruncated(Stream stream, T* out) {
  using N = Numbers<T>;
  uint32_t numbers[4];
  for (int made = 0, used = 4; made < N::kGroup;) {
    if (used == 4) {
      stream.Next(numbers);
      used = 0;
    }
    T pair[2];
    N::Normal(numbers + used, pair);
    used += N::kPerPair;
    for (int i = 0; i < 2 && made < N::kGroup; ++i) {
      if (fabs(pair[i]) < T(2)) out[made++] = pair[i];
    }
  }
}

template <typename T>
__device__ void MakeGroup(Distribution distribution, const RandomStart& start,
                          int64_t group, Wide<T>* out) {
  using N = Numbers<Wide<T>>;
  const auto at = static_cast<uint64_t>(group);
  if (distribution == Distribution::kTruncatedNormal) {
    const uint64_t skipped = at * N::kGroup * kReservedPerValue / 4;
    return MakeTruncated(Stream(start, skipped), out);
  }
  uint32_t numbers[4];
  Stream(start, at).Next(numbers);
  if (distribution == Distribution::kUniform) {
    for (int i = 0; i < N::kGroup; ++i) {
      out[i] = UniformOf<T>(numbers + i * (4 / N::kGroup));
    }
  } else {
    for (int i = 0; i < N::kGroup; i += 2) {
      N::Normal(numbers + i / 2 * N::kPerPair, out + i);
    }
  }
}

template <typename T>
__global__ void FillRandom(Distribution distribution, RandomStart start,
                           int64_t n, T* out) {
  constexpr int kGroup = Numbers<Wide<T>>::kGroup;
  const int64_t groups = (n + kGroup - 1) / kGroup;
  for (int64_t group = FirstItem(); group < groups; group += ItemStep()) {
    Wide<T> values[kGroup];
    MakeGroup<T>(distribution, start, group, values);
    const int64_t first = group * kGroup;
    for (int i = 0; i < kGroup && first + i < n; ++i) {
      out[first + i] = FromWide<T>(values[i]);
    }
  }
}

}  // namespace

void LaunchRandom(Distribution distribution, ElementType type,
                  const RandomStart& start, int64_t n, void* out,
                  cudaStream_t stream) {
  ForFloats(type, [&]<typename T>(Tag<T>) {
    FillRandom<<<BlocksFor(n), kThreads, 0, stream>>>(distribution, start, n,
                                                      static_cast<T*>(out));
  });
}

}  // namespace weft::cuda
