#include "libs/ops/control/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterControlOps(OpRegistry& registry) {
  RegisterClientFunctionOps(registry);
  RegisterControlFlowOps(registry);
  RegisterFunctionalOps(registry);
  RegisterListOps(registry);
  RegisterLoggingOps(registry);
  RegisterSendRecvOps(registry);
}

}  // namespace weft
