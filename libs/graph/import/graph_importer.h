// GraphImporter adds all nodes of a GraphDef message to a Graph or, on error,
// none. One object performs one import. Used by graph_def.cc.
#ifndef WEFT_LIBS_GRAPH_IMPORT_GRAPH_IMPORTER_H_
#define WEFT_LIBS_GRAPH_IMPORT_GRAPH_IMPORTER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/graph_def.h"

namespace weft {

namespace tf {
class GraphDef;
class NodeDef;
}  // namespace tf

class GraphImporter {
 public:
  // `def` and `graph` must outlive this object.
  GraphImporter(const tf::GraphDef& def, const ImportOptions& options,
                Graph& graph);

  // Imports the message; see ImportGraphDef for the errors.
  absl::Status Run();

 private:
  // Input is the source of a node's input: node `index` of the GraphDef, or an
  // existing node of the graph.
  struct Input {
    int index = -1;
    const Node* existing = nullptr;
    int output = 0;
    bool is_control = false;
    bool is_back_edge = false;  // from NextIteration to Merge
  };
  struct BackEdge {
    int consumer;
    int input;
    Input from;
  };

  absl::Status CheckVersions() const;
  void SetProducer();
  absl::Status IndexNames();
  // Logs a warning for attrs that their op does not have and that may matter,
  // including attrs of nodes in functions.
  void WarnOfIgnoredAttrs() const;
  // Adds functions and nodes to the graph. The caller undoes this part of the
  // import after an error.
  absl::Status AddToGraph();
  absl::Status CheckConstants() const;
  absl::Status IndexInputMap();
  absl::Status CheckInputMap() const;
  absl::Status ResolveInputs();
  absl::StatusOr<Input> Resolve(const tf::NodeDef& consumer,
                                absl::string_view text);
  // Counts an output of a node of the GraphDef as used by another node.
  void CountOutput(const Input& input);
  // Marks the spec of node `index` if its op is not registered, if it needs a
  // reference and gets a value, or if it calls a missing function.
  void MarkIfUnknown(int index, NodeSpec& spec) const;
  absl::Status Order();
  absl::Status CycleError(const std::vector<int>& waiting) const;
  absl::Status AddAll();
  absl::Status AddOne(int index);
  absl::StatusOr<AttrMap> Attrs(const tf::NodeDef& def) const;
  void PrefixColocation(AttrMap* attrs) const;
  const Node* NodeOf(const Input& input) const;
  std::string Prefixed(absl::string_view name) const;

  const tf::GraphDef& def_;
  const ImportOptions& options_;
  Graph& graph_;
  struct Replacement {
    OutputTensor by;
    bool is_used = false;
  };

  FlatHashMap<absl::string_view, int> index_of_;
  // The entries of the input map, by the node and output of the GraphDef that
  // they replace.
  std::map<std::pair<std::string, int>, Replacement> replacements_;
  // The inputs of each node of the GraphDef.
  std::vector<std::vector<Input>> inputs_;
  std::vector<int> num_used_;  // number of used outputs, by node
  std::vector<int> order_;     // producers first
  std::vector<const Node*> added_;
  std::vector<BackEdge> back_edges_;
  int64_t num_outputs_ = 0;  // of all nodes added
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_GRAPH_IMPORTER_H_
