// Gradients of diagonals. Gradients of ops with old names use the new ops.
// Gradients of bands use ops of the same version, because V2 aligns rows to the
// left.
#include <string>

#include "libs/base/status.h"
#include "libs/gradients/array/array_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

absl::StatusOr<Gradients> DiagGrad(const Scope& scope, const Node&,
                                   const Gradients& grad_outputs) {
  return Gradients{ops::DiagPart(scope, grad_outputs[0].dense)};
}

absl::StatusOr<Gradients> DiagPartGrad(const Scope& scope, const Node&,
                                       const Gradients& grad_outputs) {
  return Gradients{ops::Diag(scope, grad_outputs[0].dense)};
}

absl::StatusOr<Gradients> BandPartGrad(const Scope& scope, const Node& node,
                                       const Gradients& grad_outputs) {
  return Gradients{
      ops::MatrixBandPart(scope, grad_outputs[0].dense, Output(node.input(1)),
                          Output(node.input(2))),
      {},
      {}};
}

// ---- A band of diagonals ----

// Zero of the dtype of `like`, which pads.
Output PaddingLike(const Scope& scope, const Output& like) {
  return ops::Cast(scope, Tensor::Scalar(0.0f), like.dtype());
}

// An op in the version of `node`, aligned as it is.
Output SameVersion(const Scope& scope, const Node& node, const char* second,
                   const char* third, std::initializer_list<Input> inputs) {
  const std::string* align = node.attr<std::string>("align");
  if (align == nullptr) return scope.AddOutput(second, inputs);
  return scope.AddOutput(third, inputs, {{"align", *align}});
}

Output BandOf(const Scope& scope, const Node& node, const Output& matrices,
              const Output& k) {
  return SameVersion(scope, node, "MatrixDiagPartV2", "MatrixDiagPartV3",
                     {matrices, k, PaddingLike(scope, matrices)});
}

// A size of the matrices of `x`, counted from the end.
Output SizeFromEnd(const Scope& scope, const Output& x, int from_end) {
  return ops::Gather(scope, ops::Shape(scope, x),
                     ops::Sub(scope, ops::Rank(scope, x), from_end));
}

absl::StatusOr<Gradients> BandDiagGrad(const Scope& scope, const Node& node,
                                       const Gradients& grad_outputs) {
  Gradients result(node.num_inputs());
  result[0] = BandOf(scope, node, grad_outputs[0].dense, Output(node.input(1)));
  return result;
}

absl::StatusOr<Gradients> BandDiagPartGrad(const Scope& scope, const Node& node,
                                           const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  const Output input = node.input(0);
  Gradients result(node.num_inputs());
  result[0] =
      SameVersion(scope, node, "MatrixDiagV2", "MatrixDiagV3",
                  {grad, Output(node.input(1)), SizeFromEnd(scope, input, 2),
                   SizeFromEnd(scope, input, 1), PaddingLike(scope, grad)});
  return result;
}

absl::StatusOr<Gradients> BandSetDiagGrad(const Scope& scope, const Node& node,
                                          const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  const Output k = node.input(2);
  const Output zeros = ops::ZerosLike(scope, Output(node.input(1)));
  return Gradients{SameVersion(scope, node, "MatrixSetDiagV2",
                               "MatrixSetDiagV3", {grad, zeros, k}),
                   BandOf(scope, node, grad, k),
                   {}};
}

// ---- The main diagonal ----

absl::StatusOr<Gradients> MatrixDiagGrad(const Scope& scope, const Node&,
                                         const Gradients& grad_outputs) {
  return Gradients{ops::MatrixDiagPart(scope, grad_outputs[0].dense)};
}

// A diagonal matrix, with zeros around it where the matrix is not square.
absl::StatusOr<Gradients> MatrixDiagPartGrad(const Scope& scope,
                                             const Node& node,
                                             const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  const Output input = node.input(0);
  const PartialShape& shape = input.shape();
  if (shape.has_rank() && shape.dim(shape.rank() - 1) >= 0 &&
      shape.dim(shape.rank() - 1) == shape.dim(shape.rank() - 2)) {
    return Gradients{ops::MatrixDiag(scope, grad)};
  }
  return Gradients{ops::MatrixDiagV3(
      scope, grad, /*k=*/0, SizeFromEnd(scope, input, 2),
      SizeFromEnd(scope, input, 1), PaddingLike(scope, grad))};
}

absl::StatusOr<Gradients> MatrixSetDiagGrad(const Scope& scope,
                                            const Node& node,
                                            const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  const Output zeros = ops::ZerosLike(scope, Output(node.input(1)));
  return Gradients{scope.AddOutput("MatrixSetDiag", {grad, zeros}),
                   ops::MatrixDiagPart(scope, grad)};
}

}  // namespace

void RegisterArrayDiagonalGradients(GradientRegistry& registry) {
  registry.Register("Diag", DiagGrad);
  registry.Register("DiagPart", DiagPartGrad);
  registry.Register("MatrixDiag", MatrixDiagGrad);
  registry.Register("BatchMatrixDiag", MatrixDiagGrad);
  registry.Register("MatrixDiagPart", MatrixDiagPartGrad);
  registry.Register("BatchMatrixDiagPart", MatrixDiagPartGrad);
  registry.Register("MatrixSetDiag", MatrixSetDiagGrad);
  registry.Register("BatchMatrixSetDiag", MatrixSetDiagGrad);
  registry.Register("MatrixBandPart", BandPartGrad);
  registry.Register("BatchMatrixBandPart", BandPartGrad);
  registry.Register("MatrixDiagV2", BandDiagGrad);
  registry.Register("MatrixDiagV3", BandDiagGrad);
  registry.Register("MatrixDiagPartV2", BandDiagPartGrad);
  registry.Register("MatrixDiagPartV3", BandDiagPartGrad);
  registry.Register("MatrixSetDiagV2", BandSetDiagGrad);
  registry.Register("MatrixSetDiagV3", BandSetDiagGrad);
}

}  // namespace weft
