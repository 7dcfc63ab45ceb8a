// Gradients of the segment reductions: each row gets the gradient of its
// segment.
#include "libs/base/status.h"
#include "libs/gradients/array/array_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

Output Rows(const Scope& scope, const Output& segments, const Output& ids) {
  return ops::GatherV2(scope, segments, ids, 0);
}

// `x`, [n], as [n, 1, 1, ...] of the rank of `like`.
Output SpreadOver(const Scope& scope, const Output& x, const Output& like) {
  const Output missing =
      ops::Sub(scope, ops::Rank(scope, like), ops::Rank(scope, x));
  const Output ones = ops::Fill(scope, ops::ExpandDims(scope, missing, 0),
                                Tensor::Scalar<int32_t>(1));
  return ops::Reshape(scope, x,
                      ops::Concat(scope, {SizesOf(scope, x), ones}, 0));
}

absl::StatusOr<Gradients> SegmentSumGrad(const Scope& scope, const Node& node,
                                         const Gradients& grad_outputs) {
  return Gradients{Rows(scope, grad_outputs[0].dense, Output(node.input(1))),
                   {}};
}

absl::StatusOr<Gradients> SegmentMeanGrad(const Scope& scope, const Node& node,
                                          const Gradients& grad_outputs) {
  const Output data(node.input(0)), ids(node.input(1));
  const Output ones = ops::Cast(scope, ops::OnesLike(scope, ids), data.dtype());
  const Output counts = Rows(scope, ops::SegmentSum(scope, ones, ids), ids);
  const Output rows = Rows(scope, grad_outputs[0].dense, ids);
  return Gradients{ops::Div(scope, rows, SpreadOver(scope, counts, rows)), {}};
}

// The elements equal to the extremum share the gradient equally.
absl::StatusOr<Gradients> SegmentExtremumGrad(const Scope& scope,
                                              const Node& node,
                                              const Gradients& grad_outputs) {
  const Output data(node.input(0)), ids(node.input(1));
  const Output chosen =
      ops::Equal(scope, data, Rows(scope, Output(&node, 0), ids));
  const Output counts =
      ops::SegmentSum(scope, ops::Cast(scope, chosen, data.dtype()), ids);
  const Output share = ops::Div(scope, grad_outputs[0].dense, counts);
  return Gradients{ops::Select(scope, chosen, Rows(scope, share, ids),
                               ops::ZerosLike(scope, data)),
                   {}};
}

// Rows with negative ids, which belong to no segment, are zero.
Output RowsOrZero(const Scope& scope, const Output& segments,
                  const Output& ids) {
  const Output rows = Rows(scope, segments, ops::Maximum(scope, ids, 0));
  const Output kept =
      ops::Cast(scope, ops::GreaterEqual(scope, ids, 0), DT_INT32);
  const Output mask = ops::Cast(scope, SpreadOver(scope, kept, rows), DT_BOOL);
  return ops::SelectV2(scope, mask, rows, ops::ZerosLike(scope, rows));
}

absl::StatusOr<Gradients> UnsortedSegmentSumGrad(
    const Scope& scope, const Node& node, const Gradients& grad_outputs) {
  return Gradients{
      RowsOrZero(scope, grad_outputs[0].dense, Output(node.input(1))), {}, {}};
}

absl::StatusOr<Gradients> UnsortedSegmentExtremumGrad(
    const Scope& scope, const Node& node, const Gradients& grad_outputs) {
  const Output data(node.input(0)), ids(node.input(1));
  const Output kept =
      ops::Cast(scope, ops::GreaterEqual(scope, ids, 0), DT_INT32);
  const Output extremum = RowsOrZero(scope, Output(&node, 0), ids);
  const Output chosen =
      ops::LogicalAnd(scope, ops::Equal(scope, data, extremum),
                      ops::Cast(scope, SpreadOver(scope, kept, data), DT_BOOL));
  const Output counts =
      ops::UnsortedSegmentSum(scope, ops::Cast(scope, chosen, data.dtype()),
                              ids, Output(node.input(2)));
  // An empty segment has a count of 0, and no row uses its share.
  const Output share = ops::DivNoNan(scope, grad_outputs[0].dense, counts);
  return Gradients{ops::SelectV2(scope, chosen, RowsOrZero(scope, share, ids),
                                 ops::ZerosLike(scope, data)),
                   {},
                   {}};
}

// The product of a segment without one of its elements: the product divided by
// the element, or, if it is the only zero, the product of the others.
Output ProductWithout(const Scope& scope, const Output& data,
                      const Output& is_zero, const Output& product,
                      const Output& non_zero_product) {
  const Output safe =
      ops::Select(scope, is_zero, ops::OnesLike(scope, data), data);
  return ops::Select(scope, is_zero, non_zero_product,
                     ops::Div(scope, product, safe));
}

absl::StatusOr<Gradients> SegmentProdGrad(const Scope& scope, const Node& node,
                                          const Gradients& grad_outputs) {
  const Output data(node.input(0)), ids(node.input(1));
  const Output zeros = ops::ZerosLike(scope, data);
  const Output is_zero = ops::Equal(scope, data, zeros);
  const Output count =
      Rows(scope,
           ops::SegmentSum(scope, ops::Cast(scope, is_zero, data.dtype()), ids),
           ids);
  const Output others = ops::SegmentProd(
      scope, ops::Select(scope, is_zero, ops::OnesLike(scope, data), data),
      ids);
  const Output partial =
      ProductWithout(scope, data, is_zero, Rows(scope, Output(&node, 0), ids),
                     Rows(scope, others, ids));
  const Output grad =
      ops::Mul(scope, Rows(scope, grad_outputs[0].dense, ids), partial);
  // With two zeros the product stays zero whatever the value of one element.
  return Gradients{
      ops::Select(scope, ops::Greater(scope, count, 1), zeros, grad), {}};
}

absl::StatusOr<Gradients> UnsortedSegmentProdGrad(
    const Scope& scope, const Node& node, const Gradients& grad_outputs) {
  const Output data(node.input(0)), ids(node.input(1));
  const Output segments(node.input(2));
  const Output zeros = ops::ZerosLike(scope, data);
  const Output is_zero = ops::Equal(scope, data, zeros);
  const Output count = RowsOrZero(
      scope,
      ops::UnsortedSegmentSum(scope, ops::Cast(scope, is_zero, data.dtype()),
                              ids, segments),
      ids);
  const Output others = ops::UnsortedSegmentProd(
      scope, ops::Select(scope, is_zero, ops::OnesLike(scope, data), data), ids,
      segments);
  const Output partial = ProductWithout(
      scope, data, is_zero, RowsOrZero(scope, Output(&node, 0), ids),
      RowsOrZero(scope, others, ids));
  const Output grad =
      ops::Mul(scope, RowsOrZero(scope, grad_outputs[0].dense, ids), partial);
  return Gradients{
      ops::Select(scope, ops::Greater(scope, count, 1), zeros, grad), {}, {}};
}

using SparseGradBuilder = Output (*)(const Scope&, const Input&, const Input&,
                                     const Input&, const Input&);

GradientFn SparseSegmentGrad(SparseGradBuilder builder) {
  return [builder](const Scope& scope, const Node& node,
                   const Gradients& grad_outputs) -> absl::StatusOr<Gradients> {
    const Output rows =
        ops::StridedSlice(scope, SizesOf(scope, Output(node.input(0))), {0},
                          {1}, {1}, {.shrink_axis_mask = 1});
    Gradients gradients(node.num_inputs());
    gradients[0] = builder(scope, grad_outputs[0].dense, Output(node.input(1)),
                           Output(node.input(2)), rows);
    return gradients;
  };
}

}  // namespace

void RegisterArraySegmentGradients(GradientRegistry& registry) {
  registry.Register("SegmentSum", SegmentSumGrad);
  registry.Register("SegmentMean", SegmentMeanGrad);
  registry.Register("SegmentMin", SegmentExtremumGrad);
  registry.Register("SegmentMax", SegmentExtremumGrad);
  registry.Register("SegmentProd", SegmentProdGrad);
  registry.Register("UnsortedSegmentSum", UnsortedSegmentSumGrad);
  registry.Register("UnsortedSegmentMin", UnsortedSegmentExtremumGrad);
  registry.Register("UnsortedSegmentMax", UnsortedSegmentExtremumGrad);
  registry.Register("UnsortedSegmentProd", UnsortedSegmentProdGrad);
  registry.Register("SparseSegmentSum",
                    SparseSegmentGrad(ops::SparseSegmentSumGrad));
  registry.Register("SparseSegmentMean",
                    SparseSegmentGrad(ops::SparseSegmentMeanGrad));
  registry.Register("SparseSegmentSqrtN",
                    SparseSegmentGrad(ops::SparseSegmentSqrtNGrad));
  registry.Register("SparseSegmentSumWithNumSegments",
                    SparseSegmentGrad(ops::SparseSegmentSumGrad));
  registry.Register("SparseSegmentMeanWithNumSegments",
                    SparseSegmentGrad(ops::SparseSegmentMeanGrad));
  registry.Register("SparseSegmentSqrtNWithNumSegments",
                    SparseSegmentGrad(ops::SparseSegmentSqrtNGrad));
  // As in TensorFlow, there are no gradients of these gradients.
  for (const char* op :
       {"SparseSegmentSumGrad", "SparseSegmentMeanGrad",
        "SparseSegmentSqrtNGrad", "SparseSegmentSumGradV2",
        "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
