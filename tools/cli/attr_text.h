// The attrs of a node of a GraphDef as people read them, whatever its op. For
// .cc files that hold protobuf messages.
//
// Functions without state.
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

// Without those that hold the default that `registry` knows, and without
// "_output_shapes", which says what the graph says anyway. Values that make no
// sense are shown as "?". Takes memory for small tensors only.
std::map<std::string, std::string> AttrsThatMatter(const tf::NodeDef& node,
                                                   const OpRegistry& registry);

}  // namespace tools
}  // namespace weft

#endif  // WEFT_TOOLS_CLI_ATTR_TEXT_H_
