// Plain loops that the compiler vectorizes, and Eigen's vector mathematics.
// Eigen stays in here, and no std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/isa/nn_isa.h"

#include <Eigen/Core>

namespace weft::WEFT_ISA {
namespace {

template <typename T>
using Array = Eigen::Array<T, Eigen::Dynamic, 1>;
template <typename T>
using Row = Eigen::Map<Array<T>>;
template <typename T>
using ConstRow = Eigen::Map<const Array<T>>;

template <typename T>
void Relu(const T* x, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] < T(0) ? T(0) : x[i];
}

// A product, as in TensorFlow: infinity and NaN give NaN.
template <typename T>
void ReluGrad(const T* gradient, const T* x, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = gradient[i] * T(x[i] > T(0));
}

template <typename T>
void Relu6(const T* x, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T positive = x[i] < T(0) ? T(0) : x[i];
    out[i] = positive > T(6) ? T(6) : positive;
  }
}

template <typename T>
void Relu6Grad(const T* gradient, const T* x, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T above = x[i] > T(0) ? T(1) : T(0);
    out[i] = gradient[i] * (x[i] < T(6) ? above : T(0));
  }
}

// The number of elements in the widest vector: Eigen's last bits differ between
// vectors and single numbers, so everything is computed in whole vectors.
template <typename T>
inline constexpr int kEluBlock = 64 / static_cast<int>(sizeof(T));

template <typename T>
void EluOfBlock(const T* x, T* out) {
  using Block = Eigen::Array<T, kEluBlock<T>, 1>;
  const Block block = Eigen::Map<const Block>(x);
  const Block below = block.expm1();
  for (int i = 0; i < kEluBlock<T>; ++i) {
    out[i] = block[i] < T(0) ? below[i] : block[i];
  }
}

// The last block is padded.
template <typename T>
void Elu(const T* x, T* out, int64_t n) {
  int64_t i = 0;
  for (; i + kEluBlock<T> <= n; i += kEluBlock<T>) EluOfBlock(x + i, out + i);
  if (i == n) return;
  T rest[kEluBlock<T>] = {};
  for (int64_t k = i; k < n; ++k) rest[k - i] = x[k];
  EluOfBlock(rest, rest);
  for (int64_t k = i; k < n; ++k) out[k] = rest[k - i];
}

template <typename T>
void EluGrad(const T* gradient, const T* value, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T below = gradient[i] * (value[i] + T(1));
    out[i] = value[i] < T(0) ? below : gradient[i];
  }
}

template <typename T>
void LeakyRelu(const T* x, T alpha, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] > T(0) ? x[i] : x[i] * alpha;
}

template <typename T>
void LeakyReluGrad(const T* gradient, const T* x, T alpha, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    out[i] = x[i] > T(0) ? gradient[i] : gradient[i] * alpha;
  }
}

template <typename T>
void AddBias(const T* x, const T* bias, T* out, int64_t rows,
             int64_t channels) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = x + r * channels;
    T* to = out + r * channels;
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) to[c] = from[c] + bias[c];
  }
}

template <typename T>
void AddRows(const T* x, T* out, int64_t rows, int64_t channels) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = x + r * channels;
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) out[c] += from[c];
  }
}

// out = exp(logits - max(logits)); returns its sum and the maximum.
template <typename T>
T ExpOfRow(const T* logits, T* out, int64_t classes, T* max) {
  ConstRow<T> row(logits, classes);
  *max = row.maxCoeff();
  Row<T> result(out, classes);
  result = (row - *max).exp();
  return result.sum();
}

template <typename T>
void Softmax(const T* logits, T* out, int64_t rows, int64_t classes) {
  for (int64_t r = 0; r < rows; ++r) {
    T max;
    T* to = out + r * classes;
    const T sum = ExpOfRow(logits + r * classes, to, classes, &max);
    Row<T>(to, classes) *= T(1) / sum;
  }
}

template <typename T>
T LogOf(T x) {
  return Eigen::numext::log(x);
}

template <typename T>
void LogSoftmax(const T* logits, T* out, int64_t rows, int64_t classes) {
  for (int64_t r = 0; r < rows; ++r) {
    ConstRow<T> row(logits + r * classes, classes);
    const T max = row.maxCoeff();
    const T log_sum = LogOf<T>((row - max).exp().sum());
    // In two steps, because max + log_sum may lose log_sum.
    Row<T>(out + r * classes, classes) = (row - max) - log_sum;
  }
}

template <typename T>
void CrossEntropy(const T* logits, const T* labels, T* loss, T* backprop,
                  int64_t rows, int64_t classes) {
  for (int64_t r = 0; r < rows; ++r) {
    ConstRow<T> row(logits + r * classes, classes);
    ConstRow<T> label(labels + r * classes, classes);
    // Computed before `backprop` is written, which may be `logits`.
    const T weighted = (label * (row - row.maxCoeff())).sum();
    T max;
    T* to = backprop + r * classes;
    const T sum = ExpOfRow(row.data(), to, classes, &max);
    loss[r] = LogOf<T>(sum) * label.sum() - weighted;
    Row<T>(to, classes) = Row<T>(to, classes) * (T(1) / sum) - label;
  }
}

template <typename T>
void SparseCrossEntropy(const T* logits, const int64_t* labels, T* loss,
                        T* backprop, int64_t rows, int64_t classes) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = logits + r * classes;
    const T logit = row[labels[r]];
    T max;
    T* to = backprop + r * classes;
    const T sum = ExpOfRow(row, to, classes, &max);
    loss[r] = LogOf<T>(sum) - (logit - max);
    Row<T>(to, classes) *= T(1) / sum;
    to[labels[r]] -= T(1);
  }
}

template <typename T>
void Fill(NnLoops<T>* loops) {
  *loops = {
      &Relu<T>,         &ReluGrad<T>,          &Relu6<T>,     &Relu6Grad<T>,
      &Elu<T>,          &EluGrad<T>,           &LeakyRelu<T>, &LeakyReluGrad<T>,
      &AddBias<T>,      &AddRows<T>,           &Softmax<T>,   &LogSoftmax<T>,
      &CrossEntropy<T>, &SparseCrossEntropy<T>};
}

}  // namespace

void FillNnLoops(NnLoops<float>* loops) { Fill(loops); }
void FillNnLoops(NnLoops<double>* loops) { Fill(loops); }

}  // namespace weft::WEFT_ISA
