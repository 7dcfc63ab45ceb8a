#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterMathOps(OpRegistry&) {}

}  // namespace weft
