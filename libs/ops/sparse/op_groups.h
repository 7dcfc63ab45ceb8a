// Registration functions for the groups of the sparse family, one for each
// source file. Only RegisterSparseOps calls them.
#ifndef WEFT_LIBS_OPS_SPARSE_OP_GROUPS_H_
#define WEFT_LIBS_OPS_SPARSE_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterRaggedOps(OpRegistry& registry);
void RegisterSparseArithmeticOps(OpRegistry& registry);
void RegisterSparseLookupOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_SPARSE_OP_GROUPS_H_
