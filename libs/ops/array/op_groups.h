// The array family is registered group by group, each in the file of its name;
// RegisterArrayOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_ARRAY_OP_GROUPS_H_
#define WEFT_LIBS_OPS_ARRAY_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterArrayShapeOps(OpRegistry& registry);
void RegisterArrayJoinOps(OpRegistry& registry);
void RegisterArraySliceOps(OpRegistry& registry);
void RegisterArrayOrderOps(OpRegistry& registry);
void RegisterArrayDiagonalOps(OpRegistry& registry);
void RegisterArraySetOps(OpRegistry& registry);
void RegisterArraySegmentOps(OpRegistry& registry);
void RegisterArraySpaceOps(OpRegistry& registry);
void RegisterArraySearchOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_ARRAY_OP_GROUPS_H_
