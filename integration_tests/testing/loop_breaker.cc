#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/choices.h"
#include "integration_tests/testing/random_program.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

bool HoldsALoop(const tf::NodeDef& node) {
  for (absl::string_view op : {"Enter", "Merge", "Switch", "NextIteration",
                               "Exit", "LoopCond", "Identity"}) {
    if (node.op() == op) return true;
  }
  return false;
}

class Breaker {
 public:
  Breaker(tf::GraphDef& graph, uint64_t seed) : graph_(graph), choices_(seed) {
    for (tf::NodeDef& node : *graph.mutable_node()) {
      if (HoldsALoop(node)) loops_.push_back(&node);
      for (const std::string& input : node.input()) {
        if (!absl::StartsWith(input, "^")) values_.push_back(input);
      }
    }
  }

  void Break() {
    if (loops_.empty() || values_.empty()) return;
    const size_t count = 1 + choices_.Below(3);
    for (size_t i = 0; i < count; ++i) BreakOne(*choices_.Of(loops_));
  }

 private:
  tf::NodeDef& Any() {
    return *graph_.mutable_node(static_cast<int>(
        choices_.Below(static_cast<size_t>(graph_.node_size()))));
  }

  void BreakOne(tf::NodeDef& node) {
    if (node.op() == "Enter" && choices_.Percent(50)) {
      return BreakEnter(node);
    }
    switch (choices_.Below(6)) {
      case 0:
        node.add_input(absl::StrCat("^", Any().name()));
        break;
      case 1:
        for (int i = node.input_size() - 1; i >= 0; --i) {
          if (!absl::StartsWith(node.input(i), "^")) continue;
          node.mutable_input()->DeleteSubrange(i, 1);
          break;
        }
        break;
      default:
        if (node.input_size() == 0) break;
        node.set_input(static_cast<int>(choices_.Below(
                           static_cast<size_t>(node.input_size()))),
                       choices_.Percent(30) ? choices_.Of(loops_)->name()
                                            : choices_.Of(values_));
    }
  }

  void BreakEnter(tf::NodeDef& node) {
    auto& attrs = *node.mutable_attr();
    switch (choices_.Below(3)) {
      case 0:
        attrs["is_constant"].set_b(!attrs["is_constant"].b());
        break;
      case 1:
        attrs["parallel_iterations"].set_i(
            1 + static_cast<int64_t>(choices_.Below(3)));
        break;
      default: {
        const tf::NodeDef& other = *choices_.Of(loops_);
        const auto name = other.attr().find("frame_name");
        if (name == other.attr().end()) break;
        const std::string copy = name->second.s();
        attrs["frame_name"].set_s(copy);
      }
    }
  }

  tf::GraphDef& graph_;
  Choices choices_;
  std::vector<tf::NodeDef*> loops_;
  std::vector<std::string> values_;  // names of all values that can be inputs
};

}  // namespace

std::string BreakLoops(const std::string& graph, uint64_t seed) {
  tf::GraphDef def;
  if (!def.ParseFromString(graph)) return graph;
  Breaker(def, seed).Break();
  return def.SerializeAsString();
}

}  // namespace weft
