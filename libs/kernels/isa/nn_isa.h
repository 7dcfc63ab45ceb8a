// Loops of the nn family over float and double, compiled for each instruction
// set (weft::v1, weft::v3, weft::v4).
//
// Threads: pure functions. `out` may be one of the inputs. A row is a group of
// related elements: one example's classes, or one pixel's channels.
#ifndef WEFT_LIBS_KERNELS_ISA_NN_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_NN_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {

template <typename T>
struct NnLoops {
  // max(x, 0); keeps NaN and -0.
  void (*relu)(const T* x, T* out, int64_t n);
  // The gradient where x > 0, else the gradient times 0.
  void (*relu_grad)(const T* gradient, const T* x, T* out, int64_t n);
  // Clamps to [0, 6]; the gradient where x is strictly between, else the
  // gradient times 0.
  void (*relu6)(const T* x, T* out, int64_t n);
  void (*relu6_grad)(const T* gradient, const T* x, T* out, int64_t n);
  // exp(x) - 1 where x < 0, else x; the gradient uses the function's value.
  void (*elu)(const T* x, T* out, int64_t n);
  void (*elu_grad)(const T* gradient, const T* value, T* out, int64_t n);
  // x where x > 0, else x * alpha.
  void (*leaky_relu)(const T* x, T alpha, T* out, int64_t n);
  void (*leaky_relu_grad)(const T* gradient, const T* x, T alpha, T* out,
                          int64_t n);
  // out[r][c] = x[r][c] + bias[c]
  void (*add_bias)(const T* x, const T* bias, T* out, int64_t rows,
                   int64_t channels);
  // out[c] += sum over r of x[r][c]
  void (*add_rows)(const T* x, T* out, int64_t rows, int64_t channels);
  void (*softmax)(const T* logits, T* out, int64_t rows, int64_t classes);
  void (*log_softmax)(const T* logits, T* out, int64_t rows, int64_t classes);
  // loss[r] for logits[r] and the distribution labels[r]; `backprop`, which may
  // be `logits`, is its gradient.
  void (*cross_entropy)(const T* logits, const T* labels, T* loss, T* backprop,
                        int64_t rows, int64_t classes);
  // Like cross_entropy, with labels[r] a class. REQUIRES: 0 <= labels[r] <
  // classes.
  void (*sparse_cross_entropy)(const T* logits, const int64_t* labels, T* loss,
                               T* backprop, int64_t rows, int64_t classes);
};

WEFT_PER_INSTRUCTION_SET(void FillNnLoops(NnLoops<float>* loops);
                         void FillNnLoops(NnLoops<double>* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_NN_ISA_H_
