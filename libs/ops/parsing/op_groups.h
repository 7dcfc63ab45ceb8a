// Registration functions for the groups of the parsing family, one for each
// source file. Only RegisterParsingOps calls them.
#ifndef WEFT_LIBS_OPS_PARSING_OP_GROUPS_H_
#define WEFT_LIBS_OPS_PARSING_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterSequenceParsingOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_PARSING_OP_GROUPS_H_
