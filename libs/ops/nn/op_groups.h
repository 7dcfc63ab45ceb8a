// The parts of the nn family of ops that have files of their own.
#ifndef WEFT_LIBS_OPS_NN_OP_GROUPS_H_
#define WEFT_LIBS_OPS_NN_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

// Convolutions, pools, normalisation.
void RegisterNnWindowOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_NN_OP_GROUPS_H_
