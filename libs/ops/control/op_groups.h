// The control family is registered group by group, each in the file of its
// name; RegisterControlOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_CONTROL_OP_GROUPS_H_
#define WEFT_LIBS_OPS_CONTROL_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

// What the attr output_shapes says; for other families too.
absl::Status ComponentShapes(InferenceContext& c);

void RegisterControlFlowOps(OpRegistry& registry);
void RegisterFunctionalOps(OpRegistry& registry);
void RegisterListOps(OpRegistry& registry);
void RegisterLoggingOps(OpRegistry& registry);
void RegisterSendRecvOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_CONTROL_OP_GROUPS_H_
