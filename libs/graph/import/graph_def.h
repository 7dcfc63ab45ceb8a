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

// The version of the GraphDef format in TensorFlow 2.21. It is the newest
// version that Import reads. Export writes it for a graph that was built in
// this program.
inline constexpr int kGraphDefVersion = 2474;

struct ImportOptions {
  // Prepended, with a "/", to every imported name.
  std::string prefix;
  // Replaces tensors of the GraphDef, when they are inputs, by tensors of the
  // graph. A key is the name of a tensor in the GraphDef, "x:0" or "x", and it
  // must be the name of an input or a node there.
  std::map<std::string, OutputTensor> input_map;
  // Adds the nodes to the graph. If null, they are added directly.
  NodeAdder* adder = nullptr;
  // Receives a warning for each kind of attr that is ignored and may matter. It
  // must outlive the call. If null, warnings go to stderr.
  Logger* logger = nullptr;
};

// Adds the nodes of a serialized GraphDef. Inputs may name existing nodes of
// `graph`. Nodes come in any order, loops included. Nodes of ops that are not
// registered become unknown nodes (unknown_op.h), and so do nodes that need a
// reference but get a value, and nodes that call a function which neither the
// GraphDef nor `graph` has. Attrs that their op does not have are ignored,
// except those that start with "_". UNIMPLEMENTED names an op that was removed
// before the GraphDef's version (version_rules.h). The GraphDef's functions are
// added to those of `graph`; an existing one must be identical. Other errors
// are INVALID_ARGUMENT. On error `graph` is unchanged.
absl::Status ImportGraphDef(absl::string_view serialized, Graph& graph,
                            const ImportOptions& options = {});
// Does the same as ImportGraphDef for protobuf's text format.
absl::Status ImportGraphDefText(absl::string_view text, Graph& graph,
                                const ImportOptions& options = {});

// The maximum size of a protobuf message.
inline constexpr int64_t kMaxGraphDefBytes =
    std::numeric_limits<int32_t>::max();

struct ExportOptions {
  int first_id = 0;               // nodes from this id on
  bool assigned_devices = false;  // write these as devices
  int first_function = 0;         // functions from this index on
  int64_t max_bytes = kMaxGraphDefBytes;
};

// Returns the serialized GraphDef of the graph. Nodes are in order of id and
// attrs in order of their names, so equal graphs give equal bytes.
// RESOURCE_EXHAUSTED, naming the largest nodes or functions, if the GraphDef
// would be larger than `max_bytes`.
absl::StatusOr<std::string> ExportGraphDef(const Graph& graph,
                                           const ExportOptions& options = {});
std::string ExportGraphDefText(const Graph& graph, int first_id = 0,
                               bool assigned_devices = false);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_GRAPH_DEF_H_
