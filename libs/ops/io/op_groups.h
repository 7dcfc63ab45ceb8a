// Registration functions for the groups of the io family, one for each source
// file. Only RegisterIoOps calls them.
#ifndef WEFT_LIBS_OPS_IO_OP_GROUPS_H_
#define WEFT_LIBS_OPS_IO_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterReaderOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_IO_OP_GROUPS_H_
