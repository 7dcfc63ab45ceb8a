#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterRandomOps(OpRegistry&) {}

}  // namespace weft
