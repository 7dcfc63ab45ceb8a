// GraphDef is TensorFlow's serialized form of a graph, converted to and from
// Graph. Only graph_def.cc includes protobuf.
#ifndef WEFT_LIBS_GRAPH_IMPORT_GRAPH_DEF_H_
#define WEFT_LIBS_GRAPH_IMPORT_GRAPH_DEF_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/graph.h"

namespace weft {

class Logger;     // libs/base/logging.h
class NodeAdder;  // libs/graph/node_adder.h

// TensorFlow 2.21's version of the format: the newest that Import reads, and
// that Export writes for a graph that was built here.
inline constexpr int kGraphDefVersion = 2474;

struct ImportOptions {
  // Prepended to every imported name, with a "/".
  std::string prefix;
  // Replacements for tensors of the GraphDef as inputs, "x:0" or "x". Each name
  // must be one of an input or a node there.
  std::map<std::string, OutputTensor> input_map;
  // Adds the nodes to the graph; null: they are added directly.
  NodeAdder* adder = nullptr;
  // Receives a warning for each kind of attr that is ignored and may matter.
  // Must outlive the call; null: lines on stderr.
  Logger* logger = nullptr;
};

// Adds the nodes of a serialized GraphDef. Inputs may name existing nodes of
// `graph`. Nodes come in any order, loops included. Nodes of ops that are not
// registered become unknown nodes (unknown_op.h), and so do nodes that need a
// reference and get a value, and nodes that call a function which neither the
// GraphDef nor `graph` has. Attrs that their op does not have are ignored,
// except those that start with "_". UNIMPLEMENTED names an op that was removed
// before the GraphDef's version (version_rules.h). The GraphDef's functions are
// added to those of `graph`; an existing one must be identical. Other errors
// are INVALID_ARGUMENT. On error `graph` is unchanged.
absl::Status ImportGraphDef(absl::string_view serialized, Graph& graph,
                            const ImportOptions& options = {});
// The same from protobuf's text format.
absl::Status ImportGraphDefText(absl::string_view text, Graph& graph,
                                const ImportOptions& options = {});

// The maximum size of a protobuf message.
inline constexpr int64_t kMaxGraphDefBytes =
    std::numeric_limits<int32_t>::max();

struct ExportOptions {
  int first_id = 0;               // nodes from this id on
  bool assigned_devices = false;  // assigned devices replace the requested ones
  int first_function = 0;         // functions from this number on
  int64_t max_bytes = kMaxGraphDefBytes;
};

// Nodes in order of id and of their attrs' names, so equal graphs give equal
// bytes. RESOURCE_EXHAUSTED, naming the largest nodes or functions, if the
// GraphDef would be larger than `max_bytes`.
absl::StatusOr<std::string> ExportGraphDef(const Graph& graph,
                                           const ExportOptions& options = {});
std::string ExportGraphDefText(const Graph& graph, int first_id = 0,
                               bool assigned_devices = false);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_GRAPH_DEF_H_
