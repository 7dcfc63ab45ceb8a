// Loops over the compiler's vectors. No std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/pool_isa.h"

#include <string.h>

namespace weft::WEFT_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
  static constexpr int kSize = kVectorBytes / static_cast<int>(sizeof(T));
};

template <typename V, typename T>
V Load(const T* x) {
  V vector;
  memcpy(&vector, x, sizeof(V));
  return vector;
}

// Combine(so far, next) of numbers or of vectors.
struct Max {
  template <typename V>
  static V Combine(V sum, V x) {
    return x > sum ? x : sum;
  }
  template <typename V, typename T>
  static V Result(V sum, T) {
    return sum;
  }
};
struct Mean {
  template <typename V>
  static V Combine(V sum, V x) {
    return sum + x;
  }
  template <typename V, typename T>
  static V Result(V sum, T count) {
    return sum / count;
  }
};

// As many channels as V has elements.
template <typename Op, typename V, typename T>
void PoolChannels(const PoolWindow& window, const T* x, T count, T* out) {
  V sum = Load<V>(x);
  for (int64_t column = 1; column < window.columns; ++column) {
    sum = Op::Combine(sum, Load<V>(x + column * window.channels));
  }
  for (int64_t row = 1; row < window.rows; ++row) {
    x += window.row_stride;
    for (int64_t column = 0; column < window.columns; ++column) {
      sum = Op::Combine(sum, Load<V>(x + column * window.channels));
    }
  }
  sum = Op::Result(sum, count);
  memcpy(out, &sum, sizeof(V));
}

template <typename Op, typename T>
void Pool(const PoolWindow& window, const T* x, T* out) {
  constexpr int kSize = VectorOf<T>::kSize;
  const T count = static_cast<T>(window.rows * window.columns);
  int64_t c = 0;
  for (; c + kSize <= window.channels; c += kSize) {
    PoolChannels<Op, typename VectorOf<T>::Type>(window, x + c, count, out + c);
  }
  for (; c < window.channels; ++c) {
    PoolChannels<Op, T>(window, x + c, count, out + c);
  }
}

template <typename T>
void Fill(PoolLoops<T>* loops) {
  *loops = {&Pool<Max, T>, &Pool<Mean, T>};
}

}  // namespace

void FillPoolLoops(PoolLoops<float>* loops) { Fill(loops); }
void FillPoolLoops(PoolLoops<double>* loops) { Fill(loops); }

}  // namespace weft::WEFT_ISA
