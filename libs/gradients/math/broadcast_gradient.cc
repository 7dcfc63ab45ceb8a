#include "libs/gradients/math/broadcast_gradient.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

Input Vector(const std::vector<int32_t>& values) {
  return Tensor::Vector(absl::Span<const int32_t>(values));
}

// The reduction of an operand's gradient, if the shapes are known.
struct SumPlan {
  std::vector<int32_t> dropped;  // leading dimensions that the operand lacks
  std::vector<int32_t> kept;     // dimensions of size 1, after dropping
};

// nullopt if it depends on sizes at run time.
std::optional<SumPlan> PlanSum(const PartialShape& operand,
                               const PartialShape& other) {
  if (!operand.has_rank() || !other.has_rank()) return std::nullopt;
  SumPlan plan;
  const int missing = other.rank() - operand.rank();
  for (int i = 0; i < missing; ++i) plan.dropped.push_back(i);
  for (int i = 0; i < operand.rank(); ++i) {
    const int in_other = i + missing;
    const int64_t size = operand.dim(i);
    const int64_t other_size = in_other < 0 ? 1 : other.dim(in_other);
    if (size == 1 && other_size != 1) plan.kept.push_back(i);
    if (size == PartialShape::kUnknown && other_size != 1) return std::nullopt;
  }
  return plan;
}

Output ApplySum(const Scope& scope, const SumPlan& plan, Output grad) {
  if (!plan.dropped.empty()) {
    grad = ops::Sum(scope, grad, Vector(plan.dropped));
  }
  if (!plan.kept.empty()) {
    grad = ops::Sum(scope, grad, Vector(plan.kept), {.keep_dims = true});
  }
  return grad;
}

// Non-negative axes, if they and the rank are known.
std::optional<std::vector<int32_t>> KnownAxes(const Scope& scope,
                                              const Output& input,
                                              const Output& axes) {
  if (!input.shape().has_rank()) return std::nullopt;
  const std::optional<Tensor> value =
      scope.graph().ConstantValue(axes.output_tensor());
  if (!value) return std::nullopt;
  std::vector<bool> reduced(input.shape().rank());
  for (int64_t i = 0; i < value->num_elements(); ++i) {
    int64_t axis = value->dtype() == DT_INT32 ? value->flat<int32_t>()[i]
                                              : value->flat<int64_t>()[i];
    if (axis < 0) axis += input.shape().rank();
    if (axis < 0 || axis >= input.shape().rank()) return std::nullopt;
    reduced[axis] = true;
  }
  std::vector<int32_t> known;
  for (int i = 0; i < input.shape().rank(); ++i) {
    if (reduced[i]) known.push_back(i);
  }
  return known;
}

// The input's shape with ones for the reduced dimensions, at run time.
Output KeptShape(const Scope& scope, const Output& input, const Output& axes) {
  const Output shape = ops::Shape(scope, input);
  const Output rank = ops::Rank(scope, input);
  Output indices =
      axes.dtype() == DT_INT32 ? axes : ops::Cast(scope, axes, DT_INT32);
  indices = ops::Reshape(scope, indices, {-1});
  indices = ops::FloorMod(scope, ops::Add(scope, indices, rank), rank);
  return ops::DynamicStitch(scope, {ops::Range(scope, 0, rank, 1), indices},
                            {shape, ops::OnesLike(scope, indices)});
}

}  // namespace

Output ShapeOf(const Scope& scope, const Output& x) {
  if (!x.shape().IsFullyDefined()) return ops::Shape(scope, x);
  std::vector<int32_t> sizes;
  for (int64_t size : x.shape().dims()) {
    if (size > std::numeric_limits<int32_t>::max()) {
      return ops::Shape(scope, x, {.out_type = DT_INT64});
    }
    sizes.push_back(static_cast<int32_t>(size));
  }
  return scope.WithName("Shape").ToOutput(Vector(sizes));
}

std::pair<Output, Output> SumToShapes(const Scope& scope, const Output& x,
                                      const Output& y, const Output& x_grad,
                                      const Output& y_grad) {
  const std::optional<SumPlan> x_plan = PlanSum(x.shape(), y.shape());
  const std::optional<SumPlan> y_plan = PlanSum(y.shape(), x.shape());
  if (x_plan && y_plan) {
    return {x_grad ? ApplySum(scope, *x_plan, x_grad) : x_grad,
            y_grad ? ApplySum(scope, *y_plan, y_grad) : y_grad};
  }
  const Output x_shape = ops::Shape(scope, x);
  const Output y_shape = ops::Shape(scope, y);
  const auto [x_axes, y_axes] =
      ops::BroadcastGradientArgs(scope, x_shape, y_shape);
  const auto sum = [&](const Output& grad, const Output& axes,
                       const Output& shape) {
    if (!grad) return grad;
    return ops::Reshape(scope, ops::Sum(scope, grad, axes), shape);
  };
  return {sum(x_grad, x_axes, x_shape), sum(y_grad, y_axes, y_shape)};
}

Output RestoreReducedDims(const Scope& scope, const Output& reduced,
                          const Output& input, const Output& axes,
                          bool keep_dims) {
  if (keep_dims) return reduced;
  const auto known = KnownAxes(scope, input, axes);
  if (!known) {
    return ops::Reshape(scope, reduced, KeptShape(scope, input, axes));
  }
  const int rank = input.shape().rank();
  if (static_cast<int>(known->size()) == rank) {
    return ops::Reshape(scope, reduced, Vector(std::vector<int32_t>(rank, 1)));
  }
  Output restored = reduced;
  for (int32_t axis : *known) {
    restored = ops::ExpandDims(scope, restored, axis);
  }
  return restored;
}

Output SpreadReduced(const Scope& scope, const Output& reduced,
                     const Output& input, const Output& axes, bool keep_dims) {
  return ops::BroadcastTo(
      scope, RestoreReducedDims(scope, reduced, input, axes, keep_dims),
      ShapeOf(scope, input));
}

}  // namespace weft
