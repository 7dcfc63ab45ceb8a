// GraphFile: a graph as a file holds it, whatever its ops: what is written of
// each node. Protobuf stays in graph_file.cc.
//
// A value, not synchronised.
#ifndef WEFT_TOOLS_CLI_GRAPH_FILE_H_
#define WEFT_TOOLS_CLI_GRAPH_FILE_H_

#include <map>
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
    // Those that are not what the op has by default, as text. Of large tensors
    // type and shape; long texts are cut.
    std::map<std::string, std::string> attrs;
    // Neither a registered op nor a function of the file.
    bool is_unknown_op = false;
  };

  std::vector<Node> nodes;  // in the order of the file
  // The whole of it, serialised, for those who know its ops. Of a MetaGraphDef
  // without what its writer's ops have by default and ours do not know.
  std::string graph_def;
};

struct GraphFileOptions {
  bool clear_devices = false;  // as if no node asked for one
};

// A GraphDef or a MetaGraphDef, whose graph it is then: protobuf's text format
// where `path` ends with .pbtxt or there are no bytes but of text, else
// serialised. Fields of a newer writer are ignored in both. INVALID_ARGUMENT
// where it is none; for a SavedModel the error says how to look at it.
absl::StatusOr<GraphFile> ReadGraphFile(absl::string_view path,
                                        const std::string& content,
                                        const GraphFileOptions& options = {});

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_FILE_H_
