#include "libs/executor/late_reads.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "libs/graph/frame_analysis.h"

namespace weft {
namespace {

bool MakesReference(const OutputTensor& output) {
  return output.node != nullptr &&
         IsRefType(output.node->output_type(output.index));
}

// Returns whether the node forwards the value of a variable unchanged.
bool HandsOnValue(const Node& node) {
  const absl::string_view op = node.type();
  return op == "Identity" || op == "Snapshot" || op == "StopGradient" ||
         op == "PreventGradient";
}

// Returns whether the node takes a reference and may change the variable.
bool MayWrite(const Node& node) {
  return !absl::StartsWith(node.type(), "Ref") &&
         node.type() != "IsVariableInitialized";
}

// LateReadFinder relies on the order of ids: inputs precede their consumers,
// except for the back edges of loops, which do not matter here.
class LateReadFinder {
 public:
  explicit LateReadFinder(const Graph& graph)
      : graph_(graph),
        variable_of_(graph.num_nodes(), -1),
        read_of_(graph.num_nodes()) {}

  LateReads Find() {
    for (const Node* node : graph_.nodes()) Look(*node);
    for (const auto& [variable, reads] : reads_) {
      const auto writers = writers_.find(variable);
      if (writers == writers_.end()) continue;
      for (const int writer : writers->second) FindAfter(writer, reads);
    }
    return std::move(late_reads_);
  }

 private:
  // A Read is an input that comes from a variable through forwarding nodes.
  struct Read {
    const Node* node;
    int input;
  };

  void Look(const Node& node) {
    const int id = node.id();
    for (int i = 0; i < node.num_inputs(); ++i) {
      const OutputTensor& input = node.input(i);
      if (input.node == nullptr || input.node->id() > id) continue;
      const int from = input.node->id();
      if (MakesReference(input)) {
        LookAtReference(node, i, variable_of_[from]);
      } else if (read_of_[from].node != nullptr && !IsMerge(node)) {
        reads_[variable_of_[read_of_[from].node->id()]].push_back({&node, i});
      }
    }
    if (variable_of_[id] < 0) variable_of_[id] = id;
    if (HandsOnValue(node) && node.input(0).node != nullptr) {
      const OutputTensor& input = node.input(0);
      read_of_[id] = MakesReference(input) ? input : read_of_[input.node->id()];
    }
  }

  void LookAtReference(const Node& node, int i, int variable) {
    if (!IsRefType(node.input_type(i))) return;
    // A node that forwards a reference forwards the first it takes.
    if (variable_of_[node.id()] < 0) variable_of_[node.id()] = variable;
    if (MayWrite(node)) writers_[variable].push_back(node.id());
  }

  // Finds which of `reads`, all of one variable, come after the writer, and
  // adds them to the result.
  void FindAfter(int writer, const std::vector<Read>& reads) {
    int end = writer;
    for (const Read& read : reads) end = std::max(end, read.node->id());
    // In most graphs variables are changed last, so no read is after the
    // writer.
    is_after_.assign(end - writer + 1, false);
    is_after_[0] = true;
    for (int id = writer + 1; id <= end; ++id) {
      is_after_[id - writer] = FollowsOne(*graph_.node(id), writer);
    }
    auto is_after = [&](const Node& node) {
      return node.id() >= writer && is_after_[node.id() - writer];
    };
    for (const Read& read : reads) {
      const Node& from = *read.node->input(read.input).node;
      if (!is_after(*read.node) || is_after(from)) continue;
      late_reads_[{read.node->id(), read.input}] = read_of_[from.id()];
    }
  }

  bool FollowsOne(const Node& node, int writer) const {
    auto is_after = [&](const Node* input) {
      return input != nullptr && input->id() >= writer &&
             input->id() < node.id() && is_after_[input->id() - writer];
    };
    return std::any_of(
               node.inputs().begin(), node.inputs().end(),
               [&](const OutputTensor& e) { return is_after(e.node); }) ||
           std::any_of(node.control_inputs().begin(),
                       node.control_inputs().end(), is_after);
  }

  const Graph& graph_;
  // For each node id, the id of the node that made the reference which the node
  // forwards; otherwise its own id.
  std::vector<int> variable_of_;
  // For each node id, the reference whose value the node forwards.
  std::vector<OutputTensor> read_of_;
  // By variable; ordered, so that the result depends on the graph alone.
  std::map<int, std::vector<int>> writers_;
  std::map<int, std::vector<Read>> reads_;
  std::vector<bool> is_after_;  // from a writer's id on
  LateReads late_reads_;
};

}  // namespace

LateReads FindLateReads(const Graph& graph) {
  return LateReadFinder(graph).Find();
}

}  // namespace weft
