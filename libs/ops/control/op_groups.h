// Registration functions for the groups of the control family, one for each
// source file. Only RegisterControlOps calls them.
#ifndef WEFT_LIBS_OPS_CONTROL_OP_GROUPS_H_
#define WEFT_LIBS_OPS_CONTROL_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

// Sets output shapes from the attr output_shapes. Other families use this
// function, too.
absl::Status ComponentShapes(InferenceContext& c);

void RegisterClientFunctionOps(OpRegistry& registry);
void RegisterControlFlowOps(OpRegistry& registry);
void RegisterFunctionalOps(OpRegistry& registry);
void RegisterListOps(OpRegistry& registry);
void RegisterLoggingOps(OpRegistry& registry);
void RegisterSendRecvOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_CONTROL_OP_GROUPS_H_
