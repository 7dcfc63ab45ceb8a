// The ops of the math family that have files of their own, group by group;
// RegisterMathOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_MATH_OP_GROUPS_H_
#define WEFT_LIBS_OPS_MATH_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterBitwiseOps(OpRegistry& registry);
void RegisterComplexOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_MATH_OP_GROUPS_H_
