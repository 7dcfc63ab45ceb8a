#include "integration_tests/testing/graph_outline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "integration_tests/testing/choices.h"
#include "libs/base/status.h"
#include "libs/graph/frame_analysis.h"
#include "libs/graph/import/function_proto.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

bool IsHandle(DataType type) { return IsRefType(type) || type == DT_RESOURCE; }

bool HasHandles(const Node& node) {
  return std::any_of(node.input_types().begin(), node.input_types().end(),
                     IsHandle) ||
         std::any_of(node.output_types().begin(), node.output_types().end(),
                     IsHandle);
}

bool MayMove(const Node& node) {
  static constexpr absl::string_view kStay[] = {"Placeholder", "PlaceholderV2",
                                                "PlaceholderWithDefault",
                                                "LoopCond", "ControlTrigger",
                                                // The output of a TensorSummary
                                                // contains the name of its
                                                // node, which changes in a
                                                // function.
                                                "TensorSummary"};
  return !node.op().is_stateful && !HasHandles(node) && !IsEnter(node) &&
         !IsExit(node) && !IsNextIteration(node) && !IsMerge(node) &&
         !IsSwitch(node) &&
         std::find(std::begin(kStay), std::end(kStay),
                   absl::string_view(node.type())) == std::end(kStay);
}

// Returns whether the node is colocated with a node that the graph lacks. Then
// the graph is rejected, while a function would ignore colocation with nodes
// outside.
bool IsPlacedWithUnknown(const Node& node, const Graph& graph) {
  const auto* classes = node.attr<std::vector<std::string>>("_class");
  if (classes == nullptr) return false;
  return std::any_of(classes->begin(), classes->end(),
                     [&graph](absl::string_view name) {
                       return absl::ConsumePrefix(&name, "loc:@") &&
                              graph.FindNode(name) == nullptr;
                     });
}

// Returns whether the node must move into a function of its own. A node without
// outputs runs for its side effect. As in TensorFlow, a call with other results
// would run this node whenever any result is needed, or never if it is not a
// declared control output. NoOps have no effect and may move with other nodes.
bool MovesAlone(const Node& node) {
  return node.num_outputs() == 0 && node.type() != "NoOp";
}

// Computes the conditions on which each node depends: the outcomes of
// predicates in branches, and Enter, Merge and Exit nodes. Nodes with the same
// conditions are in the same frame, and are dead together.
class Conditions {
 public:
  explicit Conditions(const Graph& graph) : of_(graph.num_nodes()) {
    for (const Node* node : graph.nodes()) {
      for (const OutputTensor& input : node->inputs()) Follow(input, node);
      for (const Node* control : node->control_inputs()) {
        Follow({control, 0}, node);
      }
    }
  }

  bool AreSame(const Node& a, const Node& b) const {
    return of_[a.id()] == of_[b.id()];
  }
  bool HasNone(const Node& node) const { return of_[node.id()].empty(); }

 private:
  // A predicate and the index of its branch, or a control flow node and -1.
  using Condition = std::pair<OutputTensor, int>;

  void Follow(const OutputTensor& from, const Node* node) {
    // The edge is a back edge of a loop. Graphs with back edges are not
    // changed.
    if (from.node == nullptr || from.node->id() >= node->id()) return;
    auto& conditions = of_[node->id()];
    const auto& before = of_[from.node->id()];
    conditions.insert(before.begin(), before.end());
    if (IsSwitch(*from.node)) {
      conditions.emplace(from.node->input(1), from.index);
    } else if (IsEnter(*from.node) || IsMerge(*from.node) ||
               IsExit(*from.node)) {
      conditions.emplace(OutputTensor{from.node, 0}, -1);
    }
  }

  std::vector<absl::flat_hash_set<Condition>> of_;  // indexed by node id
};

class Outline {
 public:
  Outline(const Graph& graph, uint64_t seed)
      : old_(graph),
        conditions_(graph),
        choices_(seed),
        new_(graph.registry()) {}

  absl::StatusOr<std::string> Make() {
    RETURN_IF_ERROR(new_.AddFunctions(old_.functions().functions(),
                                      old_.functions().gradients()));
    if (!ChooseNodes()) return std::string();
    for (int id = 0; id < begin_; ++id) RETURN_IF_ERROR(Copy(id));
    RETURN_IF_ERROR(AddCall());
    for (int id = end_; id < old_.num_nodes(); ++id) RETURN_IF_ERROR(Copy(id));
    return ExportGraphDefText(new_);
  }

 private:
  // Chooses consecutive nodes in topological order, so that no path leaves the
  // chosen nodes and returns to them.
  bool ChooseNodes() {
    if (old_.num_nodes() == 0) return false;
    for (int tries = 0; tries < 16; ++tries) {
      begin_ = static_cast<int>(choices_.Below(old_.num_nodes()));
      const int most = begin_ + 1 + static_cast<int>(choices_.Below(12));
      for (end_ = begin_; end_ < std::min(most, old_.num_nodes()); ++end_) {
        if (!Fits(*old_.node(end_))) break;
      }
      if (end_ > begin_) return true;
    }
    return false;
  }

  // Returns whether the node can join the chosen nodes. A call runs as a whole,
  // so its nodes must be in the frame of its arguments, and none of the
  // arguments may be dead.
  bool Fits(const Node& node) const {
    if (!MayMove(node) || IsPlacedWithUnknown(node, old_)) return false;
    if (end_ > begin_ && (MovesAlone(node) || MovesAlone(*old_.node(begin_)))) {
      return false;
    }
    for (int id = begin_; id < end_; ++id) {
      const Node& other = *old_.node(id);
      if (!conditions_.AreSame(node, other) && !IsFreeConstant(node) &&
          !IsFreeConstant(other)) {
        return false;
      }
    }
    return std::all_of(node.control_inputs().begin(),
                       node.control_inputs().end(),
                       [this](const Node* from) { return IsInside(from); });
  }

  // Returns whether a copy of the node is moved, while the original stays. This
  // is the case for constants: a constant is available on all branches and in
  // all frames, but results of a call belong to the frame of the call. (For a
  // constant in a loop, TensorFlow reports "Retval[0] has already been set".)
  bool StaysToo(const Node& node) const {
    if (!IsFreeConstant(node)) return false;
    for (int id = begin_; id < end_; ++id) {
      if (!conditions_.HasNone(*old_.node(id))) return true;
    }
    return false;
  }

  bool IsInside(const Node* node) const {
    return node->id() >= begin_ && node->id() < end_;
  }

  absl::Status Copy(int id) {
    const Node& node = *old_.node(id);
    NodeSpec spec{.name = node.name(),
                  .op = node.type(),
                  .attrs = node.attrs(),
                  .device = node.requested_device()};
    for (const OutputTensor& input : node.inputs()) {
      if (input.node == nullptr || input.node->id() >= id) {
        return absl::UnimplementedError("the graph contains a loop");
      }
      spec.inputs.push_back(moved_.at(input));
    }
    for (const Node* control : node.control_inputs()) {
      spec.control_inputs.push_back(new_.FindNode(control->name()));
    }
    ASSIGN_OR_RETURN(const Node* copy, new_.AddNode(std::move(spec)));
    for (int i = 0; i < node.num_outputs(); ++i) moved_[{&node, i}] = {copy, i};
    return absl::OkStatus();
  }

  // Makes the function. Its body has a Placeholder for each value from outside.
  absl::StatusOr<FunctionPtr> MakeFunction() {
    Graph body(old_.registry());
    RETURN_IF_ERROR(body.AddFunctions(old_.functions().functions()));
    absl::flat_hash_map<OutputTensor, OutputTensor> inside;
    FunctionEnds ends;
    for (int id = begin_; id < end_; ++id) {
      for (const OutputTensor& input : old_.node(id)->inputs()) {
        if (IsInside(input.node) || inside.contains(input)) continue;
        const DataType type = input.node->output_type(input.index);
        ASSIGN_OR_RETURN(
            const Node* arg,
            body.AddNode({.name = absl::StrCat("outer_", args_.size()),
                          .op = "Placeholder",
                          .attrs = {{"dtype", RemoveRefType(type)}}}));
        inside[input] = {arg, 0};
        ends.args.push_back({arg, 0});
        args_.push_back(moved_.at(input));
      }
    }
    for (int id = begin_; id < end_; ++id) {
      const Node& node = *old_.node(id);
      NodeSpec spec{.name = node.name(),
                    .op = node.type(),
                    .attrs = node.attrs(),
                    .device = node.requested_device()};
      for (const OutputTensor& input : node.inputs()) {
        spec.inputs.push_back(inside.at(input));
      }
      for (const Node* control : node.control_inputs()) {
        spec.control_inputs.push_back(body.FindNode(control->name()));
      }
      ASSIGN_OR_RETURN(const Node* copy, body.AddNode(std::move(spec)));
      if (MovesAlone(node)) ends.control_results = {copy};
      for (int i = 0; i < node.num_outputs(); ++i) {
        inside[{&node, i}] = {copy, i};
        if (StaysToo(node)) continue;
        ends.results.push_back({copy, i});
        types_.push_back(node.output_type(i));
      }
    }
    return FunctionFromGraph("outlined", body, ends);
  }

  absl::StatusOr<const Node*> Const(absl::string_view name, Tensor value) {
    ASSIGN_OR_RETURN(
        const Node* node,
        new_.AddNode({.name = std::string(name),
                      .op = "Const",
                      .attrs = {{"dtype", value.dtype()}, {"value", value}}}));
    return node;
  }

  absl::StatusOr<NodeSpec> CallSpec() {
    const NameAttrList function{"outlined", nullptr};
    NodeSpec spec{.name = "the_call", .inputs = args_};
    DataTypeVector arg_types;
    for (const OutputTensor& arg : args_) {
      arg_types.push_back(RemoveRefType(arg.node->output_type(arg.index)));
    }
    const size_t kind = choices_.Below(4);
    if (kind == 0) {
      spec.op = "outlined";
      return spec;
    }
    spec.attrs = {{"Tin", arg_types}, {"Tout", types_}};
    if (kind == 1) {
      spec.op = "PartitionedCall";
      spec.attrs["f"] = function;
    } else if (kind == 2) {
      ASSIGN_OR_RETURN(
          const Node* cond,
          Const("the_condition", Tensor::Scalar(choices_.Percent(50))));
      spec.op = "StatelessIf";
      spec.inputs.insert(spec.inputs.begin(), {cond, 0});
      spec.attrs["then_branch"] = function;
      spec.attrs["else_branch"] = function;
    } else {
      const auto index = static_cast<int32_t>(choices_.Below(5)) - 1;
      ASSIGN_OR_RETURN(const Node* number,
                       Const("the_number", Tensor::Scalar(index)));
      spec.op = "StatelessCase";
      spec.inputs.insert(spec.inputs.begin(), {number, 0});
      spec.attrs["branches"] = std::vector<NameAttrList>(3, function);
    }
    return spec;
  }

  // Adds the call. Each moved node is replaced by a node that forwards its
  // outputs.
  absl::Status AddCall() {
    ASSIGN_OR_RETURN(const FunctionPtr function, MakeFunction());
    RETURN_IF_ERROR(new_.AddFunctions({function}));
    ASSIGN_OR_RETURN(NodeSpec spec, CallSpec());
    ASSIGN_OR_RETURN(const Node* call, new_.AddNode(std::move(spec)));
    int next = 0;
    for (int id = begin_; id < end_; ++id) {
      const Node& node = *old_.node(id);
      if (StaysToo(node)) {
        RETURN_IF_ERROR(Copy(id));
        continue;
      }
      NodeSpec same{.name = node.name()};
      for (int i = 0; i < node.num_outputs(); ++i) {
        same.inputs.push_back({call, next++});
      }
      same.op = same.inputs.empty() ? "NoOp" : "IdentityN";
      if (MovesAlone(node)) {
        same.control_inputs = {call};
      } else if (same.inputs.empty()) {
        // Nodes that depend on the call by a control edge must wait for all its
        // side effects.
        for (const Node* control : node.control_inputs()) {
          same.control_inputs.push_back(new_.FindNode(control->name()));
        }
      }
      ASSIGN_OR_RETURN(const Node* copy, new_.AddNode(std::move(same)));
      for (int i = 0; i < node.num_outputs(); ++i) {
        moved_[{&node, i}] = {copy, i};
      }
    }
    return absl::OkStatus();
  }

  const Graph& old_;
  const Conditions conditions_;
  Choices choices_;
  Graph new_;
  int begin_ = 0;  // first node that moves, by id
  int end_ = 0;
  absl::flat_hash_map<OutputTensor, OutputTensor> moved_;
  std::vector<OutputTensor> args_;
  DataTypeVector types_;  // types of the results
};

}  // namespace

std::string OutlineGraph(absl::string_view graph, uint64_t seed) {
  Graph old(StandardOps());
  if (!ImportGraphDefText(graph, old).ok()) return "";
  return Outline(old, seed).Make().value_or("");
}

}  // namespace weft
