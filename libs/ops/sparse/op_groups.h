// The sparse family is registered group by group, each in the file of its name;
// RegisterSparseOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_SPARSE_OP_GROUPS_H_
#define WEFT_LIBS_OPS_SPARSE_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterRaggedOps(OpRegistry& registry);
void RegisterSparseArithmeticOps(OpRegistry& registry);
void RegisterSparseLookupOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_SPARSE_OP_GROUPS_H_
