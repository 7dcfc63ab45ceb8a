// GraphFile is the graph in a file, with any ops: the stored fields of each
// node. Only graph_file.cc includes protobuf.
//
// A value type, not thread-safe.
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
    std::vector<std::string> inputs;  // for example "x", "x:1" or "^x"
    std::string device;               // the requested device
    // Non-default attrs, as text. Large tensors are shown by type and shape;
    // long texts are truncated.
    std::map<std::string, std::string> attrs;
    // Whether the op is neither registered nor a function of the file.
    bool is_unknown_op = false;
  };

  std::vector<Node> nodes;  // in the order of the file
  // The whole graph, serialized. If it comes from a MetaGraphDef, it has no
  // unknown attrs with the default of the writer's op.
  std::string graph_def;
};

struct GraphFileOptions {
  bool clear_devices = false;  // removes the device requests of all nodes
};

// Reads a GraphDef or the graph of a MetaGraphDef. The content is in protobuf's
// text format if `path` ends with .pbtxt or all bytes are text, and serialized
// otherwise. Fields of newer writers are ignored in both forms. Returns
// INVALID_ARGUMENT for other contents. For a SavedModel, the error names the
// command that shows it.
absl::StatusOr<GraphFile> ReadGraphFile(absl::string_view path,
                                        const std::string& content,
                                        const GraphFileOptions& options = {});

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_FILE_H_
