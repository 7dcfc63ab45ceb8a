// Registration functions for the groups of the array family, one for each
// source file. Only RegisterArrayOps calls them.
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
