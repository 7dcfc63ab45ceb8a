// Loops over the compiler's vectors. No std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/isa/pool_isa.h"

#include "libs/kernels/isa/vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

float Lowest(float) { return -__FLT_MAX__; }
double Lowest(double) { return -__DBL_MAX__; }

// First(first, of the type of an element) and Combine(so far, next) for numbers
// or vectors. The maximum starts with the lowest number, as in TensorFlow: this
// ignores NaN at any position, and is the result if no element is larger.
struct Max {
  template <typename V, typename T>
  static V First(V x, T number) {
    const V lowest = V{} + Lowest(number);
    return Combine(lowest, x);
  }
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
  template <typename V, typename T>
  static V First(V x, T) {
    return x;
  }
  template <typename V>
  static V Combine(V sum, V x) {
    return sum + x;
  }
  template <typename V, typename T>
  static V Result(V sum, T count) {
    return sum / count;
  }
};

// Processes as many channels as V has elements.
template <typename Op, typename V, typename T>
void PoolChannels(const PoolWindow& window, const T* x, T count, T* out) {
  V sum = Op::First(Load<V>(x), count);
  for (int64_t column = 1; column < window.columns; ++column) {
    sum = Op::Combine(sum, Load<V>(x + column * window.channels));
  }
  for (int64_t row = 1; row < window.rows; ++row) {
    x += window.row_stride;
    for (int64_t column = 0; column < window.columns; ++column) {
      sum = Op::Combine(sum, Load<V>(x + column * window.channels));
    }
  }
  Store(Op::Result(sum, count), out);
}

template <typename Op, typename T>
void Pool(const PoolWindow& window, const T* x, T* out) {
  constexpr int kSize = kVectorSize<T>;
  const T count = static_cast<T>(window.rows * window.columns);
  int64_t c = 0;
  for (; c + kSize <= window.channels; c += kSize) {
    PoolChannels<Op, Vector<T>>(window, x + c, count, out + c);
  }
  for (; c < window.channels; ++c) {
    PoolChannels<Op, T>(window, x + c, count, out + c);
  }
}

// An index type as wide as T.
template <typename T>
struct IndexOf;
template <>
struct IndexOf<float> {
  using Type = int32_t;
};
template <>
struct IndexOf<double> {
  using Type = int64_t;
};

// Processes as many channels as V has elements; I has the same number of
// indices. Inlined, so that loops of a window of known size are unrolled.
// kAdds: adds to existing values; otherwise writes, with zeros where there is
// no gradient.
template <bool kAdds, typename V, typename I, typename T>
[[gnu::always_inline]] inline void MaxGradientTo(const PoolWindow& window,
                                                 const T* x, const T* gradient,
                                                 T* out) {
  V best = Load<V>(x);
  I at = {};
  for (int64_t row = 0; row < window.rows; ++row) {
    for (int64_t column = 0; column < window.columns; ++column) {
      const int64_t place = row * window.row_stride + column * window.channels;
      const V values = Load<V>(x + place);
      const auto is_larger = values > best;
      const I here = I{} + static_cast<typename IndexOf<T>::Type>(place);
      best = is_larger ? values : best;
      at = is_larger ? here : at;
    }
  }
  // Writes whole vectors, of which most elements are unchanged: this is faster
  // than selecting the few. A written value is also a sum with 0: -0 becomes 0.
  const V zero = {};
  const V by = kAdds ? Load<V>(gradient) : zero + Load<V>(gradient);
  for (int64_t row = 0; row < window.rows; ++row) {
    for (int64_t column = 0; column < window.columns; ++column) {
      const int64_t place = row * window.row_stride + column * window.channels;
      const I here = I{} + static_cast<typename IndexOf<T>::Type>(place);
      if constexpr (kAdds) {
        const V sum = Load<V>(out + place);
        Store(at == here ? sum + by : sum, out + place);
      } else {
        Store(at == here ? by : zero, out + place);
      }
    }
  }
}

template <bool kAdds, typename T>
[[gnu::always_inline]] inline void MaxGradientOf(const PoolWindow& window,
                                                 const T* x, const T* gradient,
                                                 T* out) {
  using Index = typename IndexOf<T>::Type;
  constexpr int kSize = kVectorSize<T>;
  int64_t c = 0;
  for (; c + kSize <= window.channels; c += kSize) {
    MaxGradientTo<kAdds, Vector<T>, Vector<Index>>(window, x + c, gradient + c,
                                                   out + c);
  }
  for (; c < window.channels; ++c) {
    MaxGradientTo<kAdds, T, Index>(window, x + c, gradient + c, out + c);
  }
}

template <bool kAdds, typename T>
void MaxGradient(const PoolWindow& window, const T* x, const T* gradient,
                 T* out) {
  if (window.rows != 2 || window.columns != 2) {
    return MaxGradientOf<kAdds>(window, x, gradient, out);
  }
  // The size in most networks.
  const PoolWindow small = {.rows = 2,
                            .columns = 2,
                            .row_stride = window.row_stride,
                            .channels = window.channels};
  MaxGradientOf<kAdds>(small, x, gradient, out);
}

template <typename T>
void Fill(PoolLoops<T>* loops) {
  *loops = {&Pool<Max, T>, &Pool<Mean, T>, &MaxGradient<true, T>,
            &MaxGradient<false, T>};
}

}  // namespace

void FillPoolLoops(PoolLoops<float>* loops) { Fill(loops); }
void FillPoolLoops(PoolLoops<double>* loops) { Fill(loops); }

}  // namespace weft::WEFT_ISA
