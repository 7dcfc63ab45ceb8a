// The standard ops: everything Weft knows, family by family.
#ifndef WEFT_LIBS_OPS_STANDARD_OPS_H_
#define WEFT_LIBS_OPS_STANDARD_OPS_H_

#include <memory>

#include "libs/graph/op_def.h"

namespace weft {

// All of them. The registry is immutable, so every call may return the same
// one: it is a constant, not state.
std::shared_ptr<const OpRegistry> StandardOps();

void RegisterStandardOps(OpRegistry& registry);

// One for each family, in the folder of its name: FAMILY/FAMILY_ops.cc.
void RegisterArrayOps(OpRegistry& registry);
void RegisterControlOps(OpRegistry& registry);
void RegisterDataOps(OpRegistry& registry);
void RegisterIoOps(OpRegistry& registry);
void RegisterImageOps(OpRegistry& registry);
void RegisterLinalgOps(OpRegistry& registry);
void RegisterMathOps(OpRegistry& registry);
void RegisterNnOps(OpRegistry& registry);
void RegisterParsingOps(OpRegistry& registry);
void RegisterRandomOps(OpRegistry& registry);
void RegisterResourceOps(OpRegistry& registry);
void RegisterSparseOps(OpRegistry& registry);
void RegisterStateOps(OpRegistry& registry);
void RegisterStringOps(OpRegistry& registry);
void RegisterSummaryOps(OpRegistry& registry);
void RegisterTrainingOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_STANDARD_OPS_H_
