// The ops of the random family, group by group, each in the file of its name;
// RegisterRandomOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_RANDOM_OP_GROUPS_H_
#define WEFT_LIBS_OPS_RANDOM_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterStatelessRandomOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_RANDOM_OP_GROUPS_H_
