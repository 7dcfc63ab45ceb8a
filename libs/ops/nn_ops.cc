#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterNnOps(OpRegistry&) {}

}  // namespace weft
