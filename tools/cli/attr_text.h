// Readable attrs of a GraphDef node of any op. For .cc files that hold protobuf
// messages.
//
// Stateless functions.
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

// Omits attrs with the default in `registry`, and "_output_shapes", which is
// derived. Invalid values are shown as "?". Allocates memory for small tensors
// only.
std::map<std::string, std::string> AttrsThatMatter(const tf::NodeDef& node,
                                                   const OpRegistry& registry);

}  // namespace tools
}  // namespace weft

#endif  // WEFT_TOOLS_CLI_ATTR_TEXT_H_
