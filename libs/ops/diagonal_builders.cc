#include "libs/ops/diagonal_ops.h"

namespace weft::ops {

Output MatrixSetDiag(const Scope& scope, const Input& input,
                     const Input& diagonal) {
  return scope.AddOutput("MatrixSetDiag", {input, diagonal});
}

Output MatrixSetDiagV3(const Scope& scope, const Input& input,
                       const Input& diagonal, const Input& k,
                       const std::string& align) {
  return scope.AddOutput("MatrixSetDiagV3", {input, diagonal, k},
                         {{"align", align}});
}

}  // namespace weft::ops
