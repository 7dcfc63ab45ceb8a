// GraphImporter adds the nodes of a GraphDef message to a Graph, all or none.
// Used by graph_def.cc; one object performs one import.
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
  // Neither `def` nor `graph` is owned.
  GraphImporter(const tf::GraphDef& def, const ImportOptions& options,
                Graph& graph);

  // As ImportGraphDef.
  absl::Status Run();

 private:
  // The source of an input: node `index` of the GraphDef, or otherwise an
  // existing node of the graph.
  struct Input {
    int index = -1;
    const Node* existing = nullptr;
    int output = 0;
    bool is_control = false;
    bool is_back_edge = false;  // NextIteration to Merge
  };
  struct BackEdge {
    int consumer;
    int input;
    Input from;
  };

  absl::Status CheckVersions() const;
  void SetProducer();
  absl::Status IndexNames();
  // Warns of attrs that their op does not have and that may matter, including
  // those of nodes in functions.
  void WarnOfIgnoredAttrs() const;
  // The part that may have to be undone.
  absl::Status AddToGraph();
  absl::Status CheckConstants() const;
  absl::Status IndexInputMap();
  absl::Status CheckInputMap() const;
  absl::Status ResolveInputs();
  absl::StatusOr<Input> Resolve(const tf::NodeDef& consumer,
                                absl::string_view text);
  // Counts that another node consumes that output.
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
  // Of the input map, by node and output.
  std::map<std::pair<std::string, int>, Replacement> replacements_;
  // By node of the GraphDef.
  std::vector<std::vector<Input>> inputs_;
  std::vector<int> num_used_;  // consumed outputs, by node
  std::vector<int> order_;     // producers first
  std::vector<const Node*> added_;
  std::vector<BackEdge> back_edges_;
  int64_t num_outputs_ = 0;  // of the nodes added
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_GRAPH_IMPORTER_H_
