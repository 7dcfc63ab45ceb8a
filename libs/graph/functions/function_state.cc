#include "libs/graph/functions/function_state.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/graph/functions/function_body.h"
#include "libs/graph/functions/function_loops.h"
#include "libs/graph/producers_first.h"

namespace weft {
namespace {

bool IsMergeNode(absl::string_view op) {
  return op == "Merge" || op == "RefMerge";
}
// Returns whether the op ends an iteration or the loop.
bool IsEndOp(absl::string_view op) {
  return op == "NextIteration" || op == "RefNextIteration" || op == "Exit" ||
         op == "RefExit";
}

using Indices = FlatHashMap<absl::string_view, int>;

Indices IndicesOf(const std::vector<FunctionNode>& nodes) {
  Indices indices;
  for (size_t i = 0; i < nodes.size(); ++i) {
    indices.emplace(nodes[i].name, static_cast<int>(i));
  }
  return indices;
}

// Sorts the nodes again so that producers come first, and otherwise keeps their
// order. A Merge of a loop may come before the node that closes the loop. Any
// other input from a later node is an error.
absl::Status SortNodes(bool has_loops, std::vector<FunctionNode>& nodes) {
  const Indices indices = IndicesOf(nodes);
  ProducersFirst order(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].inputs) {
      const auto from = indices.find(NodeOfInput(input));
      if (from == indices.end()) continue;
      const int index = static_cast<int>(i);
      if (IsMergeNode(nodes[i].op) && from->second > index) continue;
      order.AddEdge(from->second, index);
    }
  }
  std::vector<FunctionNode> sorted;
  sorted.reserve(nodes.size());
  for (const int next : order.Order()) sorted.push_back(nodes[next]);
  if (sorted.size() == nodes.size()) {
    nodes = std::move(sorted);
    return absl::OkStatus();
  }
  const auto waits =
      std::find_if(order.waiting().begin(), order.waiting().end(),
                   [](int missing) { return missing > 0; });
  return absl::InvalidArgumentError(absl::StrCat(
      "node '", nodes[waits - order.waiting().begin()].name,
      "' would wait for itself: ",
      has_loops
          ? "the next iteration of a loop waits for all stateful nodes of "
            "the current one, and one of these takes an output of a "
            "NextIteration or "
            "Exit of the loop"
          : "two nodes of the function have the same name, or nodes form a "
            "cycle"));
}

class StateHolder {
 public:
  StateHolder(const FunctionDef& function,
              absl::FunctionRef<bool(const FunctionNode& node)> is_stateful)
      : function_(function),
        indices_(IndicesOf(function.nodes)),
        loops_(function),
        is_stateful_(is_stateful) {}

  absl::StatusOr<std::optional<FunctionDef>> Hold() {
    if (loops_.frames().size() == 1 && !loops_.has_branches()) {
      return std::nullopt;
    }
    const std::vector<std::string> state = NodesWithState();
    if (state.empty()) return std::nullopt;
    waits_.resize(loops_.frames().size());
    has_awaited_exits_.resize(loops_.frames().size());
    // A node in a branch that is not taken does not run and cannot wait for
    // others. So with branches inside loops, the ControlTriggers wait for all
    // stateful nodes, including those for which an Exit waits anyway.
    if (!loops_.has_branches_in_loops()) FindWhatLeadsOut();
    for (const std::string& name : state) HoldInLoop(name);
    RETURN_IF_ERROR(WaitForInnerLoops());
    if (loops_.has_branches()) WaitOutside(state);
    return Made();
  }

 private:
  std::vector<std::string> NodesWithState() const {
    if (function_.has_control_results) return function_.control_results;
    std::vector<std::string> names;
    for (const FunctionNode& node : function_.nodes) {
      if (is_stateful_(node)) names.push_back(node.name);
    }
    return names;
  }

  // Finds the nodes for which an Exit of an outermost loop waits, by walking
  // back along inputs through all loops.
  void FindWhatLeadsOut() {
    std::vector<absl::string_view> left;
    for (const FunctionLoops::Frame& frame : loops_.frames()) {
      if (frame.parent != 0) continue;
      left.insert(left.end(), frame.exits.begin(), frame.exits.end());
    }
    while (!left.empty()) {
      const auto node = indices_.find(left.back());
      left.pop_back();
      if (node == indices_.end() || !leads_out_.insert(node->first).second) {
        continue;
      }
      for (const std::string& input : function_.nodes[node->second].inputs) {
        left.push_back(NodeOfInput(input));
      }
    }
  }

  // Makes the loop of a stateful node wait for that node. A loop cannot wait
  // for a node that ends its iterations. In this case the enclosing loop waits
  // for the Exits of the loop.
  void HoldInLoop(const std::string& name) {
    const int frame = loops_.FrameOf(name);
    if (frame == 0 || leads_out_.contains(name)) return;
    if (IsEndOp(function_.nodes[indices_.at(name)].op) &&
        !loops_.frames()[frame].exits.empty()) {
      AwaitExits(frame);
    } else {
      waits_[frame].push_back(name);
    }
  }

  // Makes the loop around `frame`, if there is one, wait for the Exits of
  // `frame`.
  void AwaitExits(int frame) {
    const FunctionLoops::Frame& inner = loops_.frames()[frame];
    if (inner.parent == 0 || has_awaited_exits_[frame]) return;
    has_awaited_exits_[frame] = true;
    std::vector<std::string>& outer = waits_[inner.parent];
    outer.insert(outer.end(), inner.exits.begin(), inner.exits.end());
  }

  absl::Status WaitForInnerLoops() {
    const std::vector<FunctionLoops::Frame>& frames = loops_.frames();
    for (size_t i = frames.size() - 1; i > 0; --i) {
      if (waits_[i].empty()) continue;
      const std::vector<std::string>& exits = frames[i].exits;
      if (exits.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "node '", waits_[i][0], "' has state and runs in loop '",
            frames[i].name, "', which has no Exit: nothing could wait for it"));
      }
      const bool is_awaited = std::any_of(exits.begin(), exits.end(),
                                          [this](const std::string& exit) {
                                            return leads_out_.contains(exit);
                                          });
      if (!is_awaited) AwaitExits(static_cast<int>(i));
    }
    return absl::OkStatus();
  }

  // Makes the end of the call wait for all stateful nodes of the function, even
  // if a branch is not taken.
  void WaitOutside(const std::vector<std::string>& state) {
    FlatHashSet<absl::string_view> seen;
    for (const std::string& name : state) {
      if (!loops_.IsInside(name)) {
        if (seen.insert(name).second) waits_[0].push_back(name);
        continue;
      }
      for (const std::string& exit : loops_.ExitsAround(name)) {
        if (seen.insert(exit).second) waits_[0].push_back(exit);
      }
    }
  }

  absl::StatusOr<std::optional<FunctionDef>> Made() const {
    if (std::all_of(waits_.begin(), waits_.end(),
                    [](const auto& waits) { return waits.empty(); })) {
      return std::nullopt;
    }
    std::optional<FunctionDef> made = function_;
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i].empty()) continue;
      const FunctionLoops::Frame& frame = loops_.frames()[i];
      FunctionNode trigger = Trigger(i);
      const std::string control = absl::StrCat("^", trigger.name);
      for (const auto* nodes : {&frame.exits, &frame.next_iterations}) {
        for (const std::string& name : *nodes) {
          made->nodes[indices_.at(name)].inputs.push_back(control);
        }
      }
      if (i == 0) {
        made->control_results = {trigger.name};
        made->has_control_results = true;
      }
      made->nodes.push_back(std::move(trigger));
    }
    RETURN_IF_ERROR(SortNodes(loops_.frames().size() > 1, made->nodes));
    return made;
  }

  FunctionNode Trigger(size_t frame) const {
    const std::vector<std::string>& exits = loops_.frames()[frame].exits;
    FunctionNode trigger{.op = "ControlTrigger"};
    std::string name = "state_done";
    if (frame > 0) {
      name = absl::StrCat(exits[0], "/", name);
      trigger.device = function_.nodes[indices_.at(exits[0])].device;
    }
    trigger.name = name;
    for (int i = 1; indices_.contains(trigger.name); ++i) {
      trigger.name = absl::StrCat(name, "_", i);
    }
    for (const std::string& waits_for : waits_[frame]) {
      trigger.inputs.push_back(absl::StrCat("^", waits_for));
    }
    return trigger;
  }

  const FunctionDef& function_;
  const Indices indices_;
  const FunctionLoops loops_;
  absl::FunctionRef<bool(const FunctionNode& node)> is_stateful_;
  FlatHashSet<absl::string_view> leads_out_;
  std::vector<std::vector<std::string>> waits_;  // names of nodes, by frame
  std::vector<bool> has_awaited_exits_;          // by frame
};

}  // namespace

absl::StatusOr<std::optional<FunctionDef>> HoldState(
    const FunctionDef& function,
    absl::FunctionRef<bool(const FunctionNode& node)> is_stateful) {
  return StateHolder(function, is_stateful).Hold();
}

}  // namespace weft
