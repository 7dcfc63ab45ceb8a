// Registration functions for the groups of the resource family (objects other
// than variables that outlive kernels), one for each source file. Only
// RegisterResourceOps calls them.
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
