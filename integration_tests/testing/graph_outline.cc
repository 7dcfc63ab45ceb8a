#include "integration_tests/testing/graph_outline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/choices.h"
#include "libs/base/status.h"
#include "libs/graph/frame_analysis.h"
#include "libs/graph/function_proto.h"
#include "libs/graph/graph_def.h"
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
                                                "LoopCond", "ControlTrigger"};
  return !node.op().is_stateful && !HasHandles(node) && !IsEnter(node) &&
         !IsExit(node) && !IsNextIteration(node) && !IsMerge(node) &&
         !IsSwitch(node) &&
         std::find(std::begin(kStay), std::end(kStay),
                   absl::string_view(node.type())) == std::end(kStay);
}

class Outline {
 public:
  Outline(const Graph& graph, uint64_t seed)
      : old_(graph), choices_(seed), new_(graph.registry()) {}

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
  // Some that follow one another: no way leads out of them and back in.
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

  bool Fits(const Node& node) const {
    return MayMove(node) &&
           std::all_of(node.control_inputs().begin(),
                       node.control_inputs().end(),
                       [this](const Node* from) { return IsInside(from); });
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
        return absl::UnimplementedError("a loop");
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

  // The function's body has a Placeholder for each value from outside.
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
      for (int i = 0; i < node.num_outputs(); ++i) {
        inside[{&node, i}] = {copy, i};
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

  // The call, and a node in the place of each that it computes.
  absl::Status AddCall() {
    ASSIGN_OR_RETURN(const FunctionPtr function, MakeFunction());
    RETURN_IF_ERROR(new_.AddFunctions({function}));
    ASSIGN_OR_RETURN(NodeSpec spec, CallSpec());
    ASSIGN_OR_RETURN(const Node* call, new_.AddNode(std::move(spec)));
    int next = 0;
    for (int id = begin_; id < end_; ++id) {
      const Node& node = *old_.node(id);
      NodeSpec same{.name = node.name()};
      for (int i = 0; i < node.num_outputs(); ++i) {
        same.inputs.push_back({call, next++});
      }
      same.op = same.inputs.empty() ? "NoOp" : "IdentityN";
      if (same.inputs.empty()) same.control_inputs = {call};
      ASSIGN_OR_RETURN(const Node* copy, new_.AddNode(std::move(same)));
      for (int i = 0; i < node.num_outputs(); ++i) {
        moved_[{&node, i}] = {copy, i};
      }
    }
    return absl::OkStatus();
  }

  const Graph& old_;
  Choices choices_;
  Graph new_;
  int begin_ = 0;  // of the nodes that move, by id
  int end_ = 0;
  absl::flat_hash_map<OutputTensor, OutputTensor> moved_;
  std::vector<OutputTensor> args_;
  DataTypeVector types_;  // of the results
};

}  // namespace

std::string OutlineGraph(absl::string_view graph, uint64_t seed) {
  Graph old(StandardOps());
  if (!ImportGraphDefText(graph, old).ok()) return "";
  return Outline(old, seed).Make().value_or("");
}

}  // namespace weft
