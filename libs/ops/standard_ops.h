// The standard ops: everything Weft knows, family by family.
#ifndef WEFT_LIBS_OPS_STANDARD_OPS_H_
#define WEFT_LIBS_OPS_STANDARD_OPS_H_

#include <memory>

#include "libs/graph/op_def.h"

namespace weft {

// All of them. The registry is immutable, so every call may return the same
// one: it is a constant, not state.
std::shared_ptr<const OpRegistry> StandardOps();

// One for each family, each in the file of its name.
void RegisterAccumulatorOps(OpRegistry& registry);
void RegisterArrayOps(OpRegistry& registry);
void RegisterControlFlowOps(OpRegistry& registry);
void RegisterLoggingOps(OpRegistry& registry);
void RegisterLookupOps(OpRegistry& registry);
void RegisterMathOps(OpRegistry& registry);
void RegisterNnOps(OpRegistry& registry);
void RegisterQueueOps(OpRegistry& registry);
void RegisterRandomOps(OpRegistry& registry);
void RegisterSendRecvOps(OpRegistry& registry);
void RegisterSparseOps(OpRegistry& registry);
void RegisterStateOps(OpRegistry& registry);
void RegisterStringOps(OpRegistry& registry);
void RegisterTensorArrayOps(OpRegistry& registry);
void RegisterTrainingOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_STANDARD_OPS_H_
