// The ops on matrices as a whole; RegisterMathOps registers them. Nobody else
// does.
#ifndef WEFT_LIBS_OPS_LINALG_OP_GROUPS_H_
#define WEFT_LIBS_OPS_LINALG_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterLinalgOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_LINALG_OP_GROUPS_H_
