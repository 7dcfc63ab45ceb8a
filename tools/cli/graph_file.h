// GraphFile: a GraphDef as a file holds it, whatever its ops: what is written
// of each node. Protobuf stays in graph_file.cc.
//
// A value, not synchronised.
#ifndef WEFT_TOOLS_CLI_GRAPH_FILE_H_
#define WEFT_TOOLS_CLI_GRAPH_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

struct GraphFile {
  struct Node {
    std::string name;
    std::string op;
    std::vector<std::string> inputs;  // "x", "x:1", "^x"
    std::string device;               // requested
  };

  std::vector<Node> nodes;  // in the order of the file
  // The whole of it, serialised, for those who know its ops.
  std::string graph_def;
};

// `content` is protobuf's text format where `path` ends with .pbtxt, else a
// serialised GraphDef. INVALID_ARGUMENT where it is none.
absl::StatusOr<GraphFile> ReadGraphFile(absl::string_view path,
                                        const std::string& content);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_FILE_H_
