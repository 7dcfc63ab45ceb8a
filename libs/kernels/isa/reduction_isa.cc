// Loops over the compiler's vectors. No std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/isa/reduction_isa.h"

#include <string.h>

#include "libs/kernels/isa/vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

// `best`, but a NaN if x is NaN: in vectors by or-ing all bits, which takes one
// instruction less than a selection.
float NanOr(float x, float best) { return x != x ? x : best; }
double NanOr(double x, double best) { return x != x ? x : best; }
template <typename V>
V NanOr(V x, V best) {
  using Bits = decltype(x != x);
  return V((x != x) | Bits(best));
}

// Apply(sum, x) for numbers or vectors. Max and Min keep a NaN of `sum`,
// because the comparison is then false, as in the instructions MAXPS and MINPS.
struct Sum {
  template <typename V>
  static V Apply(V sum, V x) {
    return sum + x;
  }
};
struct Prod {
  template <typename V>
  static V Apply(V sum, V x) {
    return sum * x;
  }
};
struct Max {
  template <typename V>
  static V Apply(V sum, V x) {
    return NanOr(x, x > sum ? x : sum);
  }
};
struct Min {
  template <typename V>
  static V Apply(V sum, V x) {
    return NanOr(x, x < sum ? x : sum);
  }
};

// Reduces the elements of a vector to one, by repeated halving.
template <typename Op, typename T, int kSize>
T Fold(Vector<T, kSize> vector) {
  if constexpr (kSize == 2) {
    return Op::Apply(T(vector[0]), T(vector[1]));
  } else {
    Vector<T, kSize / 2> halves[2];
    memcpy(halves, &vector, sizeof(halves));
    return Fold<Op, T, kSize / 2>(Op::Apply(halves[0], halves[1]));
  }
}

// REQUIRES: n is at least the size of a vector.
template <typename Op, typename T>
T RunOfVectors(const T* x, int64_t n) {
  using V = Vector<T>;
  constexpr int64_t kSize = kVectorSize<T>;
  constexpr int64_t kSums = 8;  // hides the latency of additions
  V sum = Load<V>(x);
  int64_t i = kSize;
  if (n >= kSums * kSize) {
    V sums[kSums];
    for (int64_t k = 0; k < kSums; ++k) sums[k] = Load<V>(x + k * kSize);
    for (i = kSums * kSize; i + kSums * kSize <= n; i += kSums * kSize) {
#pragma GCC unroll 8
      for (int64_t k = 0; k < kSums; ++k) {
        sums[k] = Op::Apply(sums[k], Load<V>(x + i + k * kSize));
      }
    }
    for (int64_t k = 0; k < kSums / 2; ++k) {
      sums[k] = Op::Apply(sums[k], sums[k + kSums / 2]);
    }
    sum = Op::Apply(Op::Apply(sums[0], sums[1]), Op::Apply(sums[2], sums[3]));
  }
  for (; i + kSize <= n; i += kSize) sum = Op::Apply(sum, Load<V>(x + i));
  T result = Fold<Op, T, kSize>(sum);
  for (; i < n; ++i) result = Op::Apply(result, x[i]);
  return result;
}

// Halves long runs, so that the rounding error only grows with the logarithm of
// n.
template <typename Op, typename T>
T Run(const T* x, int64_t n) {
  constexpr int64_t kBlock = 4096;
  if (n > kBlock) {
    const int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
    return Op::Apply(Run<Op>(x, half), Run<Op>(x + half, n - half));
  }
  if (n >= kVectorSize<T>) return RunOfVectors<Op>(x, n);
  T result = x[0];
  for (int64_t i = 1; i < n; ++i) result = Op::Apply(result, x[i]);
  return result;
}

// Combines four rows first, then adds them to the result.
template <typename Op, typename V, typename T>
void AddFour(const T* x, int64_t stride, T* result) {
  const V low = Op::Apply(Load<V>(x), Load<V>(x + stride));
  const V high = Op::Apply(Load<V>(x + 2 * stride), Load<V>(x + 3 * stride));
  Store(Op::Apply(Load<V>(result), Op::Apply(low, high)), result);
}

template <typename Op, typename V, typename T>
void AddOne(const T* x, T* result) {
  Store(Op::Apply(Load<V>(result), Load<V>(x)), result);
}

template <typename Op, typename T>
void Rows(const T* x, int64_t rows, int64_t stride, int64_t n, T* result) {
  using V = Vector<T>;
  constexpr int kSize = kVectorSize<T>;
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4, x += 4 * stride) {
    int64_t j = 0;
    for (; j + kSize <= n; j += kSize)
      AddFour<Op, V>(x + j, stride, result + j);
    for (; j < n; ++j) AddFour<Op, T>(x + j, stride, result + j);
  }
  for (; i < rows; ++i, x += stride) {
    int64_t j = 0;
    for (; j + kSize <= n; j += kSize) AddOne<Op, V>(x + j, result + j);
    for (; j < n; ++j) AddOne<Op, T>(x + j, result + j);
  }
}

template <typename T>
ReductionLoops<T> Find(ReductionOp op) {
  switch (op) {
    case ReductionOp::kSum:
      return {&Run<Sum, T>, &Rows<Sum, T>};
    case ReductionOp::kProd:
      return {&Run<Prod, T>, &Rows<Prod, T>};
    case ReductionOp::kMax:
      return {&Run<Max, T>, &Rows<Max, T>};
    case ReductionOp::kMin:
      break;
  }
  return {&Run<Min, T>, &Rows<Min, T>};
}

}  // namespace

void FillReductionLoops(ReductionOp op, ReductionLoops<float>* loops) {
  *loops = Find<float>(op);
}
void FillReductionLoops(ReductionOp op, ReductionLoops<double>* loops) {
  *loops = Find<double>(op);
}

}  // namespace weft::WEFT_ISA
