// StandardOps returns the definitions of all ops, registered by family.
#ifndef WEFT_LIBS_OPS_STANDARD_OPS_H_
#define WEFT_LIBS_OPS_STANDARD_OPS_H_

#include <memory>

#include "libs/graph/op_def.h"

namespace weft {

// The registry is immutable and shared: a constant, not state.
std::shared_ptr<const OpRegistry> StandardOps();

void RegisterStandardOps(OpRegistry& registry);

// One function for each family, in FAMILY/FAMILY_ops.cc.
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
