// The product of two matrices of half or bfloat16 numbers by way of floats: a
// block of the result at a time, whose operands are turned into floats, then
// multiplied by the best product of floats, and rounded once.
#ifndef WEFT_LIBS_KERNELS_MATH_NARROW_GEMM_H_
#define WEFT_LIBS_KERNELS_MATH_NARROW_GEMM_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "libs/kernels/isa/matmul_isa.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/math/gemm.h"
#include "libs/kernels/op_kernel.h"

namespace weft {
namespace narrow_gemm {

// Numbers of a block of an operand: as floats they stay in the second cache.
inline constexpr int64_t kBlockSize = 64 * 1024;
// Rows or columns of a block are a multiple of this, so that vectors are full.
inline constexpr int64_t kGranule = 16;

// A matrix as it lies in memory: rows that are `stride` apart.
template <typename T>
struct Rows {
  const T* data;
  int64_t count, size, stride;
};

// The floats lie row behind row.
template <typename T>
void WidenRows(const Rows<T>& rows, float* out) {
  if (rows.stride == rows.size) {
    return BestNarrowLoops<T>().widen(rows.data, out, rows.count * rows.size);
  }
  for (int64_t i = 0; i < rows.count; ++i) {
    BestNarrowLoops<T>().widen(rows.data + i * rows.stride, out + i * rows.size,
                               rows.size);
  }
}

// op(a) has rows [begin, begin + count) of the whole.
template <typename T>
Rows<T> RowsOfA(const MatMulArgs& args, const T* a, int64_t begin,
                int64_t count) {
  if (args.transpose_a) return {a + begin, args.k, count, args.a_stride};
  return {a + begin * args.a_stride, count, args.k, args.a_stride};
}

// op(b) has columns [begin, begin + count) of the whole.
template <typename T>
Rows<T> ColumnsOfB(const MatMulArgs& args, const T* b, int64_t begin,
                   int64_t count) {
  if (args.transpose_b) {
    return {b + begin * args.b_stride, count, args.k, args.b_stride};
  }
  return {b + begin, args.k, count, args.b_stride};
}

// A product whose operand on one side is cut into blocks and whose other one,
// not the larger, is turned into floats as a whole.
template <typename T>
class Product {
 public:
  Product(const MatMulArgs& args, const T* a, const T* b, T* c)
      : args_(args),
        a_(a),
        b_(b),
        c_(c),
        by_rows_(args.m >= args.n),
        total_(by_rows_ ? args.m : args.n),
        step_(std::max<int64_t>(1, kBlockSize / args.k / kGranule) * kGranule) {
  }

  // False: there was no memory for the floats.
  bool Run(OpKernelContext& context) {
    const Rows<T> whole = by_rows_ ? ColumnsOfB(args_, b_, 0, args_.n)
                                   : RowsOfA(args_, a_, 0, args_.m);
    absl::StatusOr<Tensor> floats =
        context.AllocateTemp(DT_FLOAT, TensorShape({whole.count, whole.size}));
    if (!floats.ok()) return false;
    whole_ = floats->template mutable_flat<float>().data();
    WidenWhole(context, whole);
    // The blocks are the same for any number of threads: how the products block
    // a sum depends on their sizes.
    const int64_t blocks = (total_ + step_ - 1) / step_;
    const auto range = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Block(i * step_);
    };
    context.scheduler().ParallelFor(blocks, 1, std::ref(range));
    return true;
  }

 private:
  void WidenWhole(OpKernelContext& context, const Rows<T>& rows) {
    const int64_t grain = std::max<int64_t>(1, kBlockSize / rows.size);
    const auto range = [&](int64_t begin, int64_t end) {
      const Rows<T> part = {rows.data + begin * rows.stride, end - begin,
                            rows.size, rows.stride};
      WidenRows(part, whole_ + begin * rows.size);
    };
    context.scheduler().ParallelFor(rows.count, grain, std::ref(range));
  }

  // Rows or columns of the result, from `begin` on.
  void Block(int64_t begin) {
    const int64_t count = std::min(step_, total_ - begin);
    MatMulArgs part = PartOfProduct(args_);
    (by_rows_ ? part.m : part.n) = count;
    part.a_stride = args_.transpose_a ? part.m : part.k;
    part.b_stride = args_.transpose_b ? part.k : part.n;
    part.c_stride = part.n;
    const auto block = std::make_unique_for_overwrite<float[]>(count * args_.k +
                                                               part.m * part.n);
    float* const c = block.get() + count * args_.k;
    if (by_rows_) {
      WidenRows(RowsOfA(args_, a_, begin, count), block.get());
      BestMatMul().float_product(part, block.get(), whole_, c);
    } else {
      WidenRows(ColumnsOfB(args_, b_, begin, count), block.get());
      BestMatMul().float_product(part, whole_, block.get(), c);
    }
    T* const to = c_ + (by_rows_ ? begin * args_.c_stride : begin);
    for (int64_t i = 0; i < part.m; ++i) {
      BestNarrowLoops<T>().narrow(c + i * part.n, to + i * args_.c_stride,
                                  part.n);
    }
  }

  const MatMulArgs& args_;
  const T* const a_;
  const T* const b_;
  T* const c_;
  const bool by_rows_;
  const int64_t total_;  // rows or columns
  const int64_t step_;   // of a block
  float* whole_ = nullptr;
};

}  // namespace narrow_gemm

// c = op(a) op(b). False: there was no memory for the floats, and nothing was
// done. REQUIRES: no size is 0.
template <typename T>
bool NarrowGemm(OpKernelContext& context, const MatMulArgs& args, const T* a,
                const T* b, T* c) {
  return narrow_gemm::Product<T>(args, a, b, c).Run(context);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_NARROW_GEMM_H_
