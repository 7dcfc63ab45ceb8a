// Registration functions for groups of the math family, one for each source
// file. Only RegisterMathOps calls them.
#ifndef WEFT_LIBS_OPS_MATH_OP_GROUPS_H_
#define WEFT_LIBS_OPS_MATH_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterBitwiseOps(OpRegistry& registry);
void RegisterComplexOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_MATH_OP_GROUPS_H_
