// The product of two half or bfloat16 matrices, computed in floats: for each
// block of the result, the operands are converted to floats, multiplied by the
// best float product, and the result is rounded once.
#ifndef WEFT_LIBS_KERNELS_MATH_NARROW_GEMM_H_
#define WEFT_LIBS_KERNELS_MATH_NARROW_GEMM_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>

#include "libs/kernels/isa/matmul_isa.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/math/gemm.h"
#include "libs/kernels/op_kernel.h"

namespace weft {
namespace narrow_gemm {

// The number of elements in a block of an operand or the result: as floats,
// each fits into the second-level cache.
inline constexpr int64_t kBlockSize = 64 * 1024;
// Rows or columns of a block are a multiple of this, so that vectors are full.
inline constexpr int64_t kGranule = 16;
// The number of operations that justifies a block, and the number of blocks for
// threads to share in large products.
inline constexpr double kFlopsOfBlock = 4e6;
inline constexpr int64_t kMinBlocks = 16;

// The number of rows or columns in a block, of `total`; `other` is the size of
// the other dimension. It depends on the sizes alone, because a sum's bits
// depend on the blocks.
inline int64_t StepOf(int64_t total, int64_t other, int64_t k) {
  const double flops = 2.0 * static_cast<double>(total) *
                       static_cast<double>(other) * static_cast<double>(k);
  const auto worth = static_cast<int64_t>(
      std::clamp(flops / kFlopsOfBlock, 1.0, static_cast<double>(kMinBlocks)));
  const int64_t most = kBlockSize / std::max(k, other);
  const int64_t step = std::min(most, (total + worth - 1) / worth);
  return std::max<int64_t>(1, step / kGranule) * kGranule;
}

// A matrix in memory, with a distance of `stride` between rows.
template <typename T>
struct Rows {
  const T* data;
  int64_t count, size, stride;
};

// The floats are packed row by row.
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

// Rows [begin, begin + count) of op(a).
template <typename T>
Rows<T> RowsOfA(const MatMulArgs& args, const T* a, int64_t begin,
                int64_t count) {
  if (args.transpose_a) return {a + begin, args.k, count, args.a_stride};
  return {a + begin * args.a_stride, count, args.k, args.a_stride};
}

// Columns [begin, begin + count) of op(b).
template <typename T>
Rows<T> ColumnsOfB(const MatMulArgs& args, const T* b, int64_t begin,
                   int64_t count) {
  if (args.transpose_b) {
    return {b + begin * args.b_stride, count, args.k, args.b_stride};
  }
  return {b + begin, args.k, count, args.b_stride};
}

// A product that divides one operand into blocks and converts the other one,
// which is not larger, to floats as a whole.
template <typename T>
class Product {
 public:
  Product(const MatMulArgs& args, const T* a, const T* b, T* c)
      : args_(args),
        a_(a),
        b_(b),
        c_(c),
        by_rows_(args.m >= args.n),
        total_(std::max(args.m, args.n)),
        step_(StepOf(total_, std::min(args.m, args.n), args.k)) {}

  // Returns false if there is no memory for the floats.
  bool Run(OpKernelContext& context) {
    const Rows<T> whole = by_rows_ ? ColumnsOfB(args_, b_, 0, args_.n)
                                   : RowsOfA(args_, a_, 0, args_.m);
    absl::StatusOr<Tensor> floats =
        context.AllocateTemp(DT_FLOAT, TensorShape({whole.count, whole.size}));
    if (!floats.ok()) return false;
    whole_ = floats->template mutable_flat<float>().data();
    WidenWhole(context, whole);
    const int64_t blocks = (total_ + step_ - 1) / step_;
    std::atomic<bool> is_done{true};
    const auto range = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (!Block(i * step_)) is_done = false;
      }
    };
    context.scheduler().ParallelFor(blocks, 1, std::ref(range));
    return is_done;
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

  // Computes a block of rows or columns of the result. Returns false without
  // memory.
  bool Block(int64_t begin) {
    const int64_t count = std::min(step_, total_ - begin);
    MatMulArgs part = PartOfProduct(args_);
    (by_rows_ ? part.m : part.n) = count;
    part.a_stride = args_.transpose_a ? part.m : part.k;
    part.b_stride = args_.transpose_b ? part.k : part.n;
    part.c_stride = part.n;
    const std::unique_ptr<float[]> block(
        new (std::nothrow) float[count * args_.k + part.m * part.n]);
    if (block == nullptr) return false;
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
    return true;
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

// Computes c = op(a) op(b). Returns false if there is no memory for the floats;
// `c` is then undefined. REQUIRES: no size is 0.
template <typename T>
bool NarrowGemm(OpKernelContext& context, const MatMulArgs& args, const T* a,
                const T* b, T* c) {
  return narrow_gemm::Product<T>(args, a, b, c).Run(context);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_NARROW_GEMM_H_
