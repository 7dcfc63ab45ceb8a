// Eigen's product, compiled for one instruction set. Eigen stays in here, and
// no std:: template may be used: see weft_kernels_per_instruction_set.
#include "libs/kernels/matmul_isa.h"

#include <Eigen/Core>

namespace weft::WEFT_ISA {
namespace {

template <typename T>
using Matrix =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using ConstMap =
    Eigen::Map<const Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <typename T>
using MutableMap =
    Eigen::Map<Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

template <typename T>
void Product(const MatMulArgs& args, const T* a, const T* b, T* c) {
  using Stride = Eigen::OuterStride<>;
  MutableMap<T> out(c, args.m, args.n, Stride(args.c_stride));
  const ConstMap<T> left(a, args.transpose_a ? args.k : args.m,
                         args.transpose_a ? args.m : args.k,
                         Stride(args.a_stride));
  const ConstMap<T> right(b, args.transpose_b ? args.n : args.k,
                          args.transpose_b ? args.k : args.n,
                          Stride(args.b_stride));
  if (args.transpose_a && args.transpose_b) {
    out.noalias() = left.transpose() * right.transpose();
  } else if (args.transpose_a) {
    out.noalias() = left.transpose() * right;
  } else if (args.transpose_b) {
    out.noalias() = left * right.transpose();
  } else {
    out.noalias() = left * right;
  }
}

}  // namespace

MatMulFunctions MatMul() { return {&Product<float>, &Product<double>}; }

}  // namespace weft::WEFT_ISA
