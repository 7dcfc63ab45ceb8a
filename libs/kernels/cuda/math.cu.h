// Launches of elementwise ops, products, reductions and softmax. All take
// pointers to GPU memory, and REQUIRE at least one element of the result.
// Unless stated otherwise, results may share the memory of operands of the same
// shape and element size.
#ifndef WEFT_LIBS_KERNELS_CUDA_MATH_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_MATH_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"
#include "libs/kernels/cuda/math_scalar.h"

namespace weft::cuda {

constexpr int kMostDims = 8;

// The sizes of some dimensions, innermost first, and the stride of each operand
// in them, in elements.
struct Dims {
  int rank = 0;
  int64_t sizes[kMostDims] = {};
  int64_t strides[3][kMostDims] = {};
};

// out[i] = op(x, y) for i < n; `dims` maps i to x and y. Floats; also int64 for
// rings and ordering.
void LaunchBinary(BinaryOp op, ElementType type, const Dims& dims, int64_t n,
                  const void* x, const void* y, void* out, cudaStream_t stream);
// The same types, and bool for equality.
void LaunchComparison(Comparison op, ElementType type, const Dims& dims,
                      int64_t n, const void* x, const void* y, bool* out,
                      cudaStream_t stream);
// Floats; also int64 for ops that are defined for integers.
void LaunchUnary(UnaryOp op, ElementType type, int64_t n, const void* x,
                 void* out, cudaStream_t stream);
void LaunchPredicate(Predicate op, ElementType type, int64_t n, const void* x,
                     bool* out, cudaStream_t stream);
void LaunchNot(int64_t n, const bool* x, bool* out, cudaStream_t stream);
// out[i] = x[i] > 0 ? gradient[i] : alpha * gradient[i]. It is LeakyRelu itself
// if the gradient is x.
void LaunchLeakyRelu(ElementType type, int64_t n, float alpha,
                     const void* gradient, const void* x, void* out,
                     cudaStream_t stream);

// Any type but kOther. `out` must not overlap `x`. Excess bits are rounded to
// nearest, or truncated; first, `lost_bits` of the mantissa of a float or
// double `x` are set to 0.
void LaunchCast(ElementType from, ElementType to, int64_t n, int lost_bits,
                const void* x, void* out, cudaStream_t stream);

// out[i] = condition ? yes : no, in this order in `dims`. Elements of 1, 2, 4,
// 8 or 16 bytes.
void LaunchSelect(int64_t element_size, const Dims& dims, int64_t n,
                  const bool* condition, const void* yes, const void* no,
                  void* out, cudaStream_t stream);
// out[i] is x[i] clamped to [low[i * low_step], high[i * high_step]]. Floats
// and int64.
struct ClipArgs {
  ElementType type = ElementType::kFloat;
  int64_t n = 0;
  const void* low = nullptr;
  const void* high = nullptr;
  int64_t low_step = 0, high_step = 0;
};
void LaunchClip(const ClipArgs& args, const void* x, void* out,
                cudaStream_t stream);
// out[i] = *value.
void LaunchFill(int64_t element_size, int64_t n, const void* value, void* out,
                cudaStream_t stream);
// Sets each byte.
void LaunchBytes(int byte, int64_t bytes, void* out, cudaStream_t stream);
void LaunchOnes(ElementType type, int64_t n, void* out, cudaStream_t stream);

// Products of row-major matrices for use without cuBLAS; like CudaProduct
// (libs/device/cuda/cuda_blas.h).
struct MatMulArgs {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool add = false;
  bool is_wide = false;
  int64_t batches = 1;
  int64_t a_batch = 0, b_batch = 0, c_batch = 0;
};
// `c` must not overlap a and b; k may be 0.
void LaunchMatMul(ElementType type, const MatMulArgs& args, const void* a,
                  const void* b, void* c, cudaStream_t stream);

// out[o, c, i] = x[o, c, i] + bias[c].
void LaunchBiasAdd(ElementType type, int64_t n, int64_t channels, int64_t inner,
                   const void* x, const void* bias, void* out,
                   cudaStream_t stream);

enum class Reduction { kSum, kProd, kMax, kMin };

// out[i] for `kept` elements, each reduced from `reduced` elements of x;
// strides[0] of the dims are those of x. The order of additions is always the
// same.
struct ReductionArgs {
  Reduction op = Reduction::kSum;
  ElementType type = ElementType::kFloat;  // also int32, int64, bool
  bool squares = false;                    // reduces the squares of x
  // The divisor of sums of floats; 0: no division.
  int64_t divisor = 0;
  Dims kept_dims;
  int64_t kept = 1;
  Dims reduced_dims;
  int64_t reduced = 1;  // 0: the identity
};
// The size of the scratch memory in bytes; may be 0.
int64_t ReductionScratch(const ReductionArgs& args);
// `out` and `scratch` must not overlap `x`.
void LaunchReduction(const ReductionArgs& args, const void* x, void* scratch,
                     void* out, cudaStream_t stream);

// The first position of the extremum along the middle of three dimensions, as
// int32 or int64. NaN is ignored; if no element beats infinity, the position is
// 0. Floats, bool.
void LaunchArgExtreme(bool is_max, ElementType type, ElementType index_type,
                      int64_t outer, int64_t size, int64_t inner, const void* x,
                      void* out, cudaStream_t stream);

void LaunchSoftmax(ElementType type, bool is_log, int64_t rows, int64_t classes,
                   const void* logits, void* out, cudaStream_t stream);

// MatrixSteps holds the strides of a broadcast matrix between rows and between
// classes.
struct MatrixSteps {
  int64_t row = 0, column = 0;
};

// loss [rows], backprop [rows, classes]. `label_type` is that of the logits,
// for labels [rows, classes]; otherwise int32 or int64, for labels [rows]. A
// label out of range makes its row NaN. `classes` may be 0. `backprop` may be
// logits of its shape.
struct CrossEntropyArgs {
  ElementType type = ElementType::kFloat;
  ElementType label_type = ElementType::kFloat;
  int64_t rows = 0, classes = 0;
  MatrixSteps logits_steps, labels_steps;
};
void LaunchCrossEntropy(const CrossEntropyArgs& args, const void* logits,
                        const void* labels, void* loss, void* backprop,
                        cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_MATH_CU_H_
