#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterStateOps(OpRegistry&) {}

}  // namespace weft
