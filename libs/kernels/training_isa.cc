// Plain loops that the compiler vectorises. No std:: template may be used: see
// weft_kernels_per_instruction_set. The formulas are those of training_rules.h.
#include "libs/kernels/training_isa.h"

namespace weft::WEFT_ISA {
namespace {

inline float SquareRoot(float x) { return __builtin_sqrtf(x); }
inline double SquareRoot(double x) { return __builtin_sqrt(x); }

// Variables and gradients never overlap, which the compiler can't know.
template <typename T>
void GradientDescent(T* var, const T* gradient, T alpha, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) var[i] -= alpha * gradient[i];
}

template <typename T>
void Momentum(T* var, T* accum, const T* gradient, T lr, T momentum,
              bool use_nesterov, int64_t n) {
  if (use_nesterov) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T sum = accum[i] * momentum + gradient[i];
      accum[i] = sum;
      var[i] -= gradient[i] * lr + sum * momentum * lr;
    }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T sum = accum[i] * momentum + gradient[i];
    accum[i] = sum;
    var[i] -= sum * lr;
  }
}

template <typename T>
void Adagrad(T* var, T* accum, const T* gradient, T lr, bool update_slots,
             int64_t n) {
  if (update_slots) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T g = gradient[i];
      const T sum = accum[i] + g * g;
      accum[i] = sum;
      var[i] -= g * lr / SquareRoot(sum);
    }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    var[i] -= gradient[i] * lr / SquareRoot(accum[i]);
  }
}

template <typename T>
void Adam(T* var, T* m, T* v, const T* gradient, T alpha, T beta1, T beta2,
          T epsilon, bool use_nesterov, int64_t n) {
  const T rest1 = T(1) - beta1;
  const T rest2 = T(1) - beta2;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient[i];
    const T mean = m[i] + (g - m[i]) * rest1;
    const T square = v[i] + (g * g - v[i]) * rest2;
    m[i] = mean;
    v[i] = square;
    const T step = use_nesterov ? g * rest1 + beta1 * mean : mean;
    var[i] -= step * alpha / (SquareRoot(square) + epsilon);
  }
}

template <typename T>
void Fill(TrainingLoops<T>* loops) {
  *loops = {&GradientDescent<T>, &Momentum<T>, &Adagrad<T>, &Adam<T>};
}

}  // namespace

void FillTrainingLoops(TrainingLoops<float>* loops) { Fill(loops); }
void FillTrainingLoops(TrainingLoops<double>* loops) { Fill(loops); }

}  // namespace weft::WEFT_ISA
