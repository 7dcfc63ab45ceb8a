// AttrsThatMatter formats the attrs of a GraphDef node as text, for any op.
// Only for .cc files that include protobuf messages.
//
// Threads: the functions have no state.
#ifndef WEFT_TOOLS_CLI_ATTR_TEXT_H_
#define WEFT_TOOLS_CLI_ATTR_TEXT_H_

#include <map>
#include <string>

#include "libs/graph/op_def.h"

namespace weft {

namespace tf {
class NodeDef;
}  // namespace tf

namespace tools {

// Returns the attrs of a node as text. Omits attrs that have the default in
// `registry`, and "_output_shapes", which is derived. Invalid values are shown
// as "?". Allocates memory only for small tensors.
std::map<std::string, std::string> AttrsThatMatter(const tf::NodeDef& node,
                                                   const OpRegistry& registry);

}  // namespace tools
}  // namespace weft

#endif  // WEFT_TOOLS_CLI_ATTR_TEXT_H_
