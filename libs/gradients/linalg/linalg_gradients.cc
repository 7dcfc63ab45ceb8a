// Gradients of linear algebra ops. The formulas are TensorFlow's
// (tensorflow/python/ops/linalg_grad.py); the gradient of Qr is that of Roberts
// and Roberts, "QR and LQ Decomposition Matrix Backpropagation Algorithms",
// 2020.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/array/array_gradients.h"
#include "libs/gradients/math/math_gradients.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/linalg/linalg_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

// Operations on batches of real matrices of known rank.
class MatrixMath {
 public:
  MatrixMath(const Scope& scope, int rank) : scope_(scope), rank_(rank) {}

  Output Product(const Output& a, const Output& b, bool adjoint_a = false,
                 bool adjoint_b = false) const {
    return ops::BatchMatMulV2(scope_, a, b,
                              {.adj_x = adjoint_a, .adj_y = adjoint_b});
  }
  Output Adjoint(const Output& x) const {
    std::vector<int32_t> order(rank_);
    for (int i = 0; i < rank_; ++i) order[i] = i;
    std::swap(order[rank_ - 1], order[rank_ - 2]);
    return ops::Transpose(scope_, x,
                          Tensor::Vector(absl::Span<const int32_t>(order)));
  }
  // x times the inverse of r's adjoint; r is upper triangular.
  Output DivideByAdjoint(const Output& x, const Output& r) const {
    return Adjoint(
        ops::MatrixTriangularSolve(scope_, r, Adjoint(x), {.lower = false}));
  }
  // x - x'
  Output Skew(const Output& x) const { return ops::Sub(scope_, x, Adjoint(x)); }
  Output Add(const Output& a, const Output& b) const {
    return ops::Add(scope_, a, b);
  }
  // Columns [begin, begin + count) of every matrix; -1: all remaining columns.
  Output Columns(const Output& x, int64_t begin, int64_t count) const {
    std::vector<int64_t> first(rank_, 0), size(rank_, -1);
    first.back() = begin;
    size.back() = count;
    return ops::Slice(scope_, x,
                      Tensor::Vector(absl::Span<const int64_t>(first)),
                      Tensor::Vector(absl::Span<const int64_t>(size)));
  }

 private:
  const Scope& scope_;
  const int rank_;
};

// The gradient of Qr for matrices with no more columns than rows.
Output QrGradOfTall(const Scope& scope, const MatrixMath& math, const Output& q,
                    const Output& r, const Output& dq, const Output& dr) {
  const Output qdq = math.Product(q, dq, true);
  const Output rdr = math.Product(r, dr, false, true);
  const Output triangle = ops::MatrixBandPart(
      scope, math.Add(math.Skew(qdq), math.Skew(rdr)), int64_t{-1}, int64_t{0});
  const Output along =
      math.Product(q, math.Add(dr, math.DivideByAdjoint(triangle, r)));
  const Output beside =
      math.DivideByAdjoint(ops::Sub(scope, dq, math.Product(q, qdq)), r);
  return math.Add(along, beside);
}

// Rejects the cases that TensorFlow rejects, and complex numbers.
absl::Status CheckQr(const PartialShape& q, const PartialShape& r,
                     DataType type) {
  const int rank = r.has_rank() ? r.rank() : 0;
  if (rank < 2 || r.dim(rank - 2) == kUnknown || r.dim(rank - 1) == kUnknown) {
    return absl::UnimplementedError(
        absl::StrCat("QrGrad not implemented with dynamic shapes. Received "
                     "r.shape: ",
                     r.ToString()));
  }
  if (r.dim(rank - 2) > r.dim(rank - 1) && q.dim(rank - 2) == q.dim(rank - 1)) {
    return absl::UnimplementedError(absl::StrCat(
        "QrGrad not implemented when nrows > ncols and full_matrices is true. "
        "Received r.shape=",
        r.ToString(), " with nrows=", r.dim(rank - 2),
        " and ncols=", r.dim(rank - 1), "."));
  }
  if (!IsComplexType(type)) return absl::OkStatus();
  return absl::UnimplementedError("QrGrad not implemented for complex numbers");
}

absl::StatusOr<std::vector<Gradient>> QrGrad(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  const Output q(&node, 0), r(&node, 1);
  RETURN_IF_ERROR(CheckQr(q.shape(), r.shape(), q.dtype()));
  const int rank = r.shape().rank();
  const int64_t rows = q.shape().dim(rank - 2);
  const MatrixMath math(scope, rank);
  const Output dq = DenseOrZeros(scope, node, grads, 0);
  const Output dr = DenseOrZeros(scope, node, grads, 1);
  if (rows == kUnknown || rows >= r.shape().dim(rank - 1)) {
    return std::vector<Gradient>{QrGradOfTall(scope, math, q, r, dq, dr)};
  }
  // a = [x, y] and r = [u, v], where x and u are square.
  const Output y = math.Columns(node.input(0), rows, -1);
  const Output u = math.Columns(r, 0, rows);
  const Output dv = math.Columns(dr, rows, -1);
  const Output du = math.Columns(dr, 0, rows);
  const Output dx = QrGradOfTall(
      scope, math, q, u, math.Add(dq, math.Product(y, dv, false, true)), du);
  const Output dy = math.Product(q, dv);
  return std::vector<Gradient>{ops::Concat(scope, {dx, dy}, rank - 1)};
}

// All but the last two sizes.
Output BatchShape(const Scope& scope, const Output& shape) {
  return ops::StridedSlice(scope, shape, {0}, {-2}, {1}, {.begin_mask = 1});
}

absl::StatusOr<std::vector<Gradient>> TriangularSolveGrad(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  const Output a = node.input(0), b = node.input(1), c(&node, 0);
  const bool lower = *node.attr<bool>("lower");
  const bool adjoint = *node.attr<bool>("adjoint");
  const Output db = ops::MatrixTriangularSolve(
      scope, a, grads[0].dense, {.lower = lower, .adjoint = !adjoint});
  Output da =
      ops::Neg(scope, ops::BatchMatMulV2(scope, adjoint ? c : db,
                                         adjoint ? db : c, {.adj_y = true}));
  da = lower ? ops::MatrixBandPart(scope, da, int64_t{-1}, int64_t{0})
             : ops::MatrixBandPart(scope, da, int64_t{0}, int64_t{-1});
  const Output a_shape = ops::Shape(scope, a);
  const Output b_shape = ops::Shape(scope, b);
  const auto [a_axes, b_axes] = ops::BroadcastGradientArgs(
      scope, BatchShape(scope, a_shape), BatchShape(scope, b_shape));
  return std::vector<Gradient>{
      ops::Reshape(scope, ops::Sum(scope, da, a_axes), a_shape),
      ops::Reshape(scope, ops::Sum(scope, db, b_axes), b_shape)};
}

}  // namespace

void RegisterLinalgGradients(GradientRegistry& registry) {
  registry.Register("Qr", QrGrad);
  registry.Register("MatrixTriangularSolve", TriangularSolveGrad);
}

}  // namespace weft
