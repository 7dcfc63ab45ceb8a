// Builders of ops that replace diagonals of matrices, under TensorFlow's names;
// those that make and read diagonals are in array_ops.h.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_DIAGONAL_OPS_H_
#define WEFT_LIBS_OPS_DIAGONAL_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

// The main diagonals, as MatrixDiagPart gives them.
Output MatrixSetDiag(const Scope& scope, const Input& input,
                     const Input& diagonal);
// A band of diagonals, as MatrixDiagPartV3 gives it; see there.
Output MatrixSetDiagV3(const Scope& scope, const Input& input,
                       const Input& diagonal, const Input& k,
                       const std::string& align = "RIGHT_LEFT");

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_DIAGONAL_OPS_H_
