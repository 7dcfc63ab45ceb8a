// GraphFile is the graph of a file, with any ops: the stored fields of each
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
    std::vector<std::string> inputs;  // "x", "x:1", "^x"
    std::string device;               // requested
    // Non-default attrs, as text. Large tensors are shown by type and shape;
    // long texts are truncated.
    std::map<std::string, std::string> attrs;
    // True for an op that is neither registered nor a function of the file.
    bool is_unknown_op = false;
  };

  std::vector<Node> nodes;  // in the order of the file
  // The whole graph, serialized. For a MetaGraphDef, without unknown attrs that
  // have the default of the writer's op.
  std::string graph_def;
};

struct GraphFileOptions {
  bool clear_devices = false;  // as if no node asked for one
};

// Reads a GraphDef or the graph of a MetaGraphDef: protobuf's text format if
// `path` ends with .pbtxt or all bytes are text, otherwise serialized. Fields
// of newer writers are ignored in both. INVALID_ARGUMENT for other contents;
// for a SavedModel the error says which command shows it.
absl::StatusOr<GraphFile> ReadGraphFile(absl::string_view path,
                                        const std::string& content,
                                        const GraphFileOptions& options = {});

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_FILE_H_
