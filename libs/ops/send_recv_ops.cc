#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterSendRecvOps(OpRegistry&) {}

}  // namespace weft
