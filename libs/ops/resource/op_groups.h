// The resource family, what outlives a kernel and is no variable, is registered
// group by group, each in the file of its name; RegisterResourceOps calls them
// all. Nobody else does.
#ifndef WEFT_LIBS_OPS_RESOURCE_OP_GROUPS_H_
#define WEFT_LIBS_OPS_RESOURCE_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterAccumulatorOps(OpRegistry& registry);
void RegisterBarrierOps(OpRegistry& registry);
void RegisterLookupOps(OpRegistry& registry);
void RegisterQueueOps(OpRegistry& registry);
void RegisterStackOps(OpRegistry& registry);
void RegisterStagingOps(OpRegistry& registry);
void RegisterTensorArrayOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_RESOURCE_OP_GROUPS_H_
