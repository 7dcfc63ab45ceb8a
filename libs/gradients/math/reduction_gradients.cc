// Gradients of reductions and scans.
#include "libs/base/status.h"
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/gradients/math/math_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Result = absl::StatusOr<std::vector<Gradient>>;

// The inputs of the gradient of a reduction.
struct Reduced {
  Reduced(const Scope& s, const Node& node, const std::vector<Gradient>& grads)
      : scope(s),
        input(node.input(0)),
        axes(node.input(1)),
        output(&node, 0),
        grad(grads[0].dense),
        keep_dims(*node.attr<bool>("keep_dims")) {}

  Output Restore(const Output& reduced) const {
    return RestoreReducedDims(scope, reduced, input, axes, keep_dims);
  }
  Output Spread(const Output& reduced) const {
    return SpreadReduced(scope, reduced, input, axes, keep_dims);
  }

  const Scope& scope;
  Output input, axes, output, grad;
  bool keep_dims;
};

// The axes have no gradient.
std::vector<Gradient> WithAxes(const Output& grad) {
  return {grad, Gradient()};
}

Result Sum(const Scope& scope, const Node& node,
           const std::vector<Gradient>& grads) {
  const Reduced r(scope, node, grads);
  return WithAxes(r.Spread(r.grad));
}

// The number of elements in each mean.
Output DivideByCount(const Reduced& r) {
  const int64_t in = r.input.shape().num_elements();
  const int64_t out = r.output.shape().num_elements();
  if (in > 0 && out > 0) {
    const int64_t count = in / out;
    return ops::RealDiv(r.scope, r.grad, static_cast<double>(count));
  }
  const Output count =
      ops::FloorDiv(r.scope, ops::Size(r.scope, r.input),
                    ops::Maximum(r.scope, ops::Size(r.scope, r.output), 1));
  return ops::RealDiv(r.scope, r.grad,
                      ops::Cast(r.scope, count, r.grad.dtype()));
}

Result Mean(const Scope& scope, const Node& node,
            const std::vector<Gradient>& grads) {
  const Reduced r(scope, node, grads);
  // Divides first, while the tensor is small.
  return WithAxes(r.Spread(DivideByCount(r)));
}

// All elements equal to the extremum share the gradient.
Result Extreme(const Scope& scope, const Node& node,
               const std::vector<Gradient>& grads) {
  const Reduced r(scope, node, grads);
  const Output is_extreme = ops::Equal(scope, r.Restore(r.output), r.input);
  const Output indicators = ops::Cast(scope, is_extreme, r.grad.dtype());
  const Output count = ops::Sum(scope, indicators, r.axes, {.keep_dims = true});
  const Output share = ops::RealDiv(scope, indicators, count);
  return WithAxes(ops::Mul(scope, share, r.Restore(r.grad)));
}

// The product of all other elements, also correct if elements are 0: the
// reduced axes are moved to the front, and running products from both ends are
// multiplied.
Result Prod(const Scope& scope, const Node& node,
            const std::vector<Gradient>& grads) {
  const Reduced r(scope, node, grads);
  const Output shape = ops::Shape(scope, r.input);
  const Output rank = ops::Rank(scope, r.input);
  Output axes =
      r.axes.dtype() == DT_INT32 ? r.axes : ops::Cast(scope, r.axes, DT_INT32);
  axes = ops::Reshape(scope, axes, {-1});
  axes = ops::FloorMod(scope, ops::Add(scope, axes, rank), rank);
  const Output others =
      ops::SetDiff1D(scope, ops::Range(scope, 0, rank, 1), axes).out;
  const Output order = ops::Concat(scope, {axes, others}, 0);
  const auto size = [&](const Output& dims) {
    return ops::Prod(scope, ops::Gather(scope, shape, dims), 0);
  };
  const Output matrix = ops::Stack(scope, {size(axes), size(others)});
  const Output permuted = ops::Transpose(scope, r.input, order);
  const Output x = ops::Reshape(scope, permuted, matrix);
  const Output before = ops::Cumprod(scope, x, 0, {.exclusive = true});
  const Output after =
      ops::Cumprod(scope, x, 0, {.exclusive = true, .reverse = true});
  Output others_product = ops::Reshape(scope, ops::Mul(scope, before, after),
                                       ops::Shape(scope, permuted));
  others_product = ops::Transpose(scope, others_product,
                                  ops::InvertPermutation(scope, order));
  return WithAxes(
      ops::Mul(scope, r.Spread(r.grad), Conjugate(scope, others_product)));
}

ops::ScanAttrs Backward(const Node& node) {
  return {.exclusive = *node.attr<bool>("exclusive"),
          .reverse = !*node.attr<bool>("reverse")};
}

Result Cumsum(const Scope& scope, const Node& node,
              const std::vector<Gradient>& grads) {
  return WithAxes(ops::Cumsum(scope, grads[0].dense, Output(node.input(1)),
                              Backward(node)));
}

Result Cumprod(const Scope& scope, const Node& node,
               const std::vector<Gradient>& grads) {
  const Output x = node.input(0);
  const Output product(&node, 0);
  const Output sums =
      ops::Cumsum(scope, ops::Mul(scope, product, grads[0].dense),
                  Output(node.input(1)), Backward(node));
  return WithAxes(ops::DivNoNan(scope, sums, Conjugate(scope, x)));
}

}  // namespace

void RegisterReductionGradients(GradientRegistry& registry) {
  registry.Register("Sum", Sum);
  registry.Register("Mean", Mean);
  registry.Register("Prod", Prod);
  registry.Register("Max", Extreme);
  registry.Register("Min", Extreme);
  registry.Register("Cumsum", Cumsum);
  registry.Register("Cumprod", Cumprod);
}

}  // namespace weft
