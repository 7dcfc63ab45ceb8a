// Registration functions for the groups of the random family, one for each
// source file. Only RegisterRandomOps calls them.
#ifndef WEFT_LIBS_OPS_RANDOM_OP_GROUPS_H_
#define WEFT_LIBS_OPS_RANDOM_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterStatelessRandomOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_RANDOM_OP_GROUPS_H_
