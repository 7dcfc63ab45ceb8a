#include "libs/ops/linalg/linalg_ops.h"

namespace weft::ops {

QrOutputs Qr(const Scope& scope, const Input& input, const QrAttrs& attrs) {
  const Node* node =
      scope.AddNode("Qr", {input}, {{"full_matrices", attrs.full_matrices}});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1)};
}

Output MatrixTriangularSolve(const Scope& scope, const Input& matrix,
                             const Input& rhs,
                             const MatrixTriangularSolveAttrs& attrs) {
  return scope.AddOutput("MatrixTriangularSolve", {matrix, rhs},
                         {{"lower", attrs.lower}, {"adjoint", attrs.adjoint}});
}

}  // namespace weft::ops
