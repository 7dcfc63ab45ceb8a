// SmallGraph is a placed graph for tests of passes, written node by node, with
// the ends that pruning would add.
#ifndef WEFT_LIBS_PASSES_TESTING_SMALL_GRAPH_H_
#define WEFT_LIBS_PASSES_TESTING_SMALL_GRAPH_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/graph.h"
#include "libs/ops/standard_ops.h"
#include "libs/passes/graph_rewrite.h"

namespace weft {

inline constexpr char kCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";
inline constexpr char kOtherCpu[] =
    "/job:localhost/replica:0/task:0/device:CPU:1";

using Nodes = std::vector<const Node*>;

class SmallGraph {
 public:
  const Graph& graph() const { return *graph_; }
  // Leaves no graph behind.
  std::unique_ptr<Graph> Take() { return std::move(graph_); }

  // On spec.device, or kCpu if empty.
  const Node* Add(NodeSpec spec) {
    const std::string device = spec.device.empty() ? kCpu : spec.device;
    auto node = graph_->AddNode(std::move(spec));
    EXPECT_OK(node);
    if (!node.ok()) return nullptr;
    graph_->set_assigned_device(*node, device);
    return *node;
  }
  // First outputs of nodes, as inputs.
  const Node* Add(const std::string& op, const std::string& name,
                  const Nodes& inputs, AttrMap attrs = {},
                  const Nodes& controls = {}, const std::string& device = "") {
    NodeSpec spec{.name = name,
                  .op = op,
                  .control_inputs = controls,
                  .attrs = std::move(attrs),
                  .device = device};
    for (const Node* input : inputs) spec.inputs.push_back({input, 0});
    return Add(std::move(spec));
  }
  const Node* Const(const std::string& name, const Tensor& value,
                    const Nodes& controls = {}) {
    return Add("Const", name, {}, {{"dtype", value.dtype()}, {"value", value}},
               controls);
  }
  // A fed tensor, of which only the type is known.
  const Node* Arg(const std::string& name, DataType type = DT_FLOAT) {
    return Add("_Arg", name, {}, {{"T", type}, {"index", num_args_++}});
  }
  const Node* Fetch(const Node* node, int index = 0) {
    const std::string name =
        absl::StrCat("fetch_", node->name(), "_", num_fetches_);
    return Add({.name = name,
                .op = "_Retval",
                .inputs = {{node, index}},
                .attrs = {{"index", num_fetches_++}},
                .device = node->assigned_device()});
  }
  // A stateful node with control inputs `controls`.
  const Node* Effect(const std::string& name, const Nodes& controls = {}) {
    return Add("RandomUniform", name,
               {Const(name + "/shape", Tensor::Vector<int32_t>({1}))},
               {{"dtype", DT_FLOAT}}, controls);
  }
  void CloseLoop(const Node* merge, const Node* next) {
    EXPECT_OK(graph_->SetBackEdge(merge, 1, {next, 0}));
  }

 private:
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>(StandardOps());
  int num_args_ = 0;
  int num_fetches_ = 0;
};

// A graph built by a pass, to be inspected by name.
class Rewritten {
 public:
  explicit Rewritten(const GraphRewrite& rewrite) {
    auto graph = rewrite.Build();
    EXPECT_OK(graph);
    if (graph.ok()) graph_ = *std::move(graph);
  }
  explicit Rewritten(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}

  bool Has(const std::string& name) const { return Find(name) != nullptr; }
  const Node* Find(const std::string& name) const {
    return graph_ == nullptr ? nullptr : graph_->FindNode(name);
  }
  // "x:0"; "" if there is no such node.
  std::string Input(const std::string& name, int i) const {
    const Node* node = Find(name);
    return node == nullptr ? "" : TensorName(node->input(i));
  }
  // The input of the first fetch.
  std::string Fetched() const {
    for (const Node* node : graph_->nodes()) {
      if (node->type() == "_Retval") return TensorName(node->input(0));
    }
    return "";
  }
  std::vector<std::string> Controls(const std::string& name) const {
    std::vector<std::string> result;
    const Node* node = Find(name);
    if (node == nullptr) return {"no such node"};
    for (const Node* control : node->control_inputs()) {
      result.push_back(control->name());
    }
    return result;
  }
  // Null unless it is a constant.
  const Tensor* Value(const std::string& name) const {
    const Node* node = Find(name);
    if (node == nullptr || node->type() != "Const") return nullptr;
    return node->attr<Tensor>("value");
  }
  const Graph& graph() const { return *graph_; }

 private:
  std::unique_ptr<Graph> graph_;
};

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_TESTING_SMALL_GRAPH_H_
