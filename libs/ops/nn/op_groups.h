// Registration functions for parts of the nn family with their own source
// files.
#ifndef WEFT_LIBS_OPS_NN_OP_GROUPS_H_
#define WEFT_LIBS_OPS_NN_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

// Convolutions, pools, normalization.
void RegisterNnWindowOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_NN_OP_GROUPS_H_
