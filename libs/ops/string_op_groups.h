// The string family is registered group by group, each in the file of its name;
// RegisterStringOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_STRING_OP_GROUPS_H_
#define WEFT_LIBS_OPS_STRING_OP_GROUPS_H_

#include "libs/graph/op_def.h"

namespace weft {

void RegisterParsingOps(OpRegistry& registry);
void RegisterRegexOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_STRING_OP_GROUPS_H_
