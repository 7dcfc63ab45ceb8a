#include "libs/ops/resource/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterResourceOps(OpRegistry& registry) {
  RegisterAccumulatorOps(registry);
  RegisterBarrierOps(registry);
  RegisterLookupOps(registry);
  RegisterQueueOps(registry);
  RegisterStackOps(registry);
  RegisterStagingOps(registry);
  RegisterTensorArrayOps(registry);
}

}  // namespace weft
