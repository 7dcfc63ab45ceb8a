// What lives as long as a step is registered group by group, each in the file
// of its name; RegisterTensorArrayOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_TENSOR_ARRAY_OP_GROUPS_H_
#define WEFT_LIBS_OPS_TENSOR_ARRAY_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterStackOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_TENSOR_ARRAY_OP_GROUPS_H_
