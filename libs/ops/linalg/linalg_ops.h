// Builders of linear algebra ops. A matrix is the last two dimensions of a
// tensor; the dimensions before them are the batch.
//
//   auto [q, r] = ops::Qr(root, a);   // a = q r
//
// Errors stick to the scope (see libs/ops/scope.h); outputs are then null.
#ifndef WEFT_LIBS_OPS_LINALG_LINALG_OPS_H_
#define WEFT_LIBS_OPS_LINALG_LINALG_OPS_H_

#include "libs/ops/scope.h"

namespace weft::ops {

struct QrAttrs {
  bool full_matrices = false;  // q is square
};
struct QrOutputs {
  Output q, r;
};
QrOutputs Qr(const Scope& scope, const Input& input, const QrAttrs& attrs = {});

struct MatrixTriangularSolveAttrs {
  bool lower = true;     // the triangle of `matrix` that is read
  bool adjoint = false;  // solves with its adjoint
};
Output MatrixTriangularSolve(const Scope& scope, const Input& matrix,
                             const Input& rhs,
                             const MatrixTriangularSolveAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_LINALG_LINALG_OPS_H_
