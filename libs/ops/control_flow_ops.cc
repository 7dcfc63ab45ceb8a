#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterControlFlowOps(OpRegistry&) {}

}  // namespace weft
