// Gradients of matrix products.
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/gradients/math/math_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

// c = op(a) op(b) has da = dc op(b)' and db = op(a)' dc. For an operand that is
// already transposed, the factors are exchanged.
template <typename Product>
std::pair<Output, Output> ProductGradients(const Output& a, const Output& b,
                                           const Output& grad, bool transpose_a,
                                           bool transpose_b, Product product) {
  return {transpose_a ? product(b, grad, transpose_b, true)
                      : product(grad, b, false, !transpose_b),
          transpose_b ? product(grad, a, true, transpose_a)
                      : product(a, grad, !transpose_a, false)};
}

absl::StatusOr<std::vector<Gradient>> MatMul(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  const auto product = [&](const Output& a, const Output& b, bool transpose_a,
                           bool transpose_b) {
    return ops::MatMul(
        scope, a, b, {.transpose_a = transpose_a, .transpose_b = transpose_b});
  };
  const auto [a, b] = ProductGradients(
      Conjugate(scope, node.input(0)), Conjugate(scope, node.input(1)),
      grads[0].dense, *node.attr<bool>("transpose_a"),
      *node.attr<bool>("transpose_b"), product);
  return std::vector<Gradient>{a, b};
}

// The adjoint also conjugates, so complex numbers need no special case.
std::pair<Output, Output> BatchGradients(const Scope& scope, const Node& node,
                                         const Output& grad) {
  const auto product = [&](const Output& x, const Output& y, bool adj_x,
                           bool adj_y) {
    return ops::BatchMatMulV2(scope, x, y, {.adj_x = adj_x, .adj_y = adj_y});
  };
  return ProductGradients(node.input(0), node.input(1), grad,
                          *node.attr<bool>("adj_x"), *node.attr<bool>("adj_y"),
                          product);
}

absl::StatusOr<std::vector<Gradient>> BatchMatMul(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  const auto [x, y] = BatchGradients(scope, node, grads[0].dense);
  return std::vector<Gradient>{x, y};
}

// All but the last two sizes.
Output MatMulBatchShape(const Scope& scope, const Output& shape) {
  return ops::StridedSlice(scope, shape, {0}, {-2}, {1}, {.begin_mask = 1});
}

bool HaveSameBatches(const PartialShape& x, const PartialShape& y) {
  if (!x.has_rank() || !y.has_rank() || x.rank() != y.rank()) return false;
  for (int i = 0; i + 2 < x.rank(); ++i) {
    if (x.dim(i) == PartialShape::kUnknown || x.dim(i) != y.dim(i)) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<std::vector<Gradient>> BatchMatMulV2(
    const Scope& scope, const Node& node, const std::vector<Gradient>& grads) {
  auto [x, y] = BatchGradients(scope, node, grads[0].dense);
  const Output x_in = node.input(0);
  const Output y_in = node.input(1);
  if (HaveSameBatches(x_in.shape(), y_in.shape())) {
    return std::vector<Gradient>{x, y};
  }
  const Output x_shape = ops::Shape(scope, x_in);
  const Output y_shape = ops::Shape(scope, y_in);
  const auto [x_axes, y_axes] =
      ops::BroadcastGradientArgs(scope, MatMulBatchShape(scope, x_shape),
                                 MatMulBatchShape(scope, y_shape));
  x = ops::Reshape(scope, ops::Sum(scope, x, x_axes), x_shape);
  y = ops::Reshape(scope, ops::Sum(scope, y, y_axes), y_shape);
  return std::vector<Gradient>{x, y};
}

}  // namespace

void RegisterMatMulGradients(GradientRegistry& registry) {
  registry.Register("MatMul", MatMul);
  registry.Register("BatchMatMul", BatchMatMul);
  registry.Register("BatchMatMulV2", BatchMatMulV2);
}

}  // namespace weft
