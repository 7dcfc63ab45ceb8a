// Launches of element-wise ops, products, reductions and softmax. All take
// pointers to a GPU's memory, and REQUIRE at least one element of the result.
#ifndef WEFT_LIBS_KERNELS_CUDA_MATH_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_MATH_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"
#include "libs/kernels/cuda/math_scalar.h"

namespace weft::cuda {

constexpr int kMostDims = 8;

// Positions of some dimensions, innermost first, and what each moves an operand
// by, in elements.
struct Dims {
  int rank = 0;
  int64_t sizes[kMostDims] = {};
  int64_t strides[2][kMostDims] = {};
};

// out[i] = op(x, y), i < n, where `dims` says which x and y. Floats; and int64
// for rings and order.
void LaunchBinary(BinaryOp op, ElementType type, const Dims& dims, int64_t n,
                  const void* x, const void* y, void* out, cudaStream_t stream);
void LaunchComparison(Comparison op, ElementType type, const Dims& dims,
                      int64_t n, const void* x, const void* y, bool* out,
                      cudaStream_t stream);
void LaunchUnary(UnaryOp op, ElementType type, int64_t n, const void* x,
                 void* out, cudaStream_t stream);

// Row-major matrices without gaps; what MatMul does where cuBLAS is not.
void LaunchMatMul(ElementType type, bool transpose_a, bool transpose_b,
                  int64_t m, int64_t n, int64_t k, const void* a, const void* b,
                  void* c, cudaStream_t stream);

// out[o, c, i] = x[o, c, i] + bias[c].
void LaunchBiasAdd(ElementType type, int64_t n, int64_t channels, int64_t inner,
                   const void* x, const void* bias, void* out,
                   cudaStream_t stream);

enum class Reduction { kSum, kMean, kProd, kMax, kMin };

// out[i] of `kept` elements, each of `reduced` elements of x; strides[0] of the
// dims are x's. The order of additions is the same in each run.
void LaunchReduction(Reduction op, ElementType type, const Dims& kept_dims,
                     int64_t kept, const Dims& reduced_dims, int64_t reduced,
                     const void* x, void* out, cudaStream_t stream);

void LaunchSoftmax(ElementType type, bool is_log, int64_t rows, int64_t classes,
                   const void* logits, void* out, cudaStream_t stream);

// loss [rows], backprop [rows, classes]. `label_type`: that of the logits, for
// labels [rows, classes]; else int32 or int64, for labels [rows], of which one
// that is no class makes its row NaN.
void LaunchCrossEntropy(ElementType type, ElementType label_type, int64_t rows,
                        int64_t classes, const void* logits, const void* labels,
                        void* loss, void* backprop, cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_MATH_CU_H_
