#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterArrayOps(OpRegistry&) {}

}  // namespace weft
