#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterTrainingOps(OpRegistry&) {}

}  // namespace weft
