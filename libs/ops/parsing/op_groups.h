// The parsing family is registered group by group, each in the file of its
// name; RegisterParsingOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_PARSING_OP_GROUPS_H_
#define WEFT_LIBS_OPS_PARSING_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterSequenceParsingOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_PARSING_OP_GROUPS_H_
