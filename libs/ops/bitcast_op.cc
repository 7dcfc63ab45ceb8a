#include "libs/ops/bitcast_op.h"

namespace weft::ops {

Output Bitcast(const Scope& scope, const Input& input, DataType type) {
  return scope.AddOutput("Bitcast", {input}, {{"type", type}});
}

}  // namespace weft::ops
