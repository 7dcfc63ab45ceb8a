#include "libs/passes/graph_rewrite.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/graph/unknown_op.h"
#include "libs/passes/node_kinds.h"

namespace weft {
namespace {

bool ReadsVariable(const Node& node, const std::vector<bool>& reads_variable) {
  if (!IsIdentity(node)) return false;
  const OutputTensor& input = node.input(0);
  if (input.node == nullptr || input.node->id() > node.id()) return false;
  return IsRefType(input.node->output_type(input.index)) ||
         reads_variable[input.node->id()];
}

}  // namespace

GraphRewrite::GraphRewrite(const Graph& graph)
    : graph_(graph),
      uses_(graph.num_nodes()),
      pure_(graph.num_nodes()),
      gone_(graph.num_nodes(), false),
      free_(graph.num_nodes(), false),
      reads_variable_(graph.num_nodes(), false) {
  for (const Node* node : graph.nodes()) {
    const bool pins = IsControlFlow(*node) || NamesItsInputs(*node);
    for (const OutputTensor& input : node->inputs()) {
      if (input.node == nullptr) continue;
      Uses& uses = uses_[input.node->id()];
      uses.any = true;
      uses.pinned |= pins;
    }
    for (const Node* input : node->control_inputs()) {
      Uses& uses = uses_[input->id()];
      uses.any = true;
      uses.pinned |= pins;
    }
    pure_[node->id()] = weft::IsPure(*node);
    free_[node->id()] =
        node->type() == "Const" && node->attr<Tensor>("value") != nullptr &&
        absl::c_all_of(node->control_inputs(),
                       [&](const Node* input) { return free_[input->id()]; });
    reads_variable_[node->id()] = ReadsVariable(*node, reads_variable_);
  }
}

OutputTensor GraphRewrite::Resolve(OutputTensor output) const {
  for (auto it = outputs_.find(output); it != outputs_.end();
       it = outputs_.find(output)) {
    output = it->second;
  }
  return output;
}

int GraphRewrite::NumInputs(const Node& node) const {
  auto it = replaced_.find(&node);
  return it == replaced_.end() ? node.num_inputs()
                               : static_cast<int>(it->second.inputs.size());
}

OutputTensor GraphRewrite::Input(const Node& node, int i) const {
  auto replaced = replaced_.find(&node);
  if (replaced != replaced_.end()) return Resolve(replaced->second.inputs[i]);
  auto it = inputs_.find({&node, i});
  return Resolve(it == inputs_.end() ? node.input(i) : it->second);
}

const Node* GraphRewrite::ResolveControl(const Node* node) const {
  for (auto it = controls_.find(node); it != controls_.end();
       it = controls_.find(node)) {
    node = it->second;
    if (node == nullptr) break;
  }
  return node;
}

std::vector<const Node*> GraphRewrite::ControlInputs(const Node& node) const {
  std::vector<const Node*> result;
  auto it = folded_.find(&node);
  const auto add = [&](absl::Span<const Node* const> controls) {
    for (const Node* control : controls) {
      control = ResolveControl(control);
      if (control == nullptr || free_[control->id()]) continue;
      result.push_back(control);
    }
  };
  add(it == folded_.end() ? node.control_inputs() : it->second.controls);
  auto replaced = replaced_.find(&node);
  if (replaced != replaced_.end()) add(replaced->second.more_controls);
  absl::c_sort(result,
               [](const Node* a, const Node* b) { return a->id() < b->id(); });
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

const Tensor* GraphRewrite::ConstantValue(const OutputTensor& output) const {
  const OutputTensor from = Resolve(output);
  if (from.node == nullptr) return nullptr;
  auto it = folded_.find(from.node);
  if (it != folded_.end()) return &it->second.values[from.index];
  return from.node->type() == "Const" ? from.node->attr<Tensor>("value")
                                      : nullptr;
}

const Tensor* GraphRewrite::FreeConstantValue(
    const OutputTensor& output) const {
  const OutputTensor from = Resolve(output);
  const bool is_free = from.node != nullptr && free_[from.node->id()];
  return is_free ? ConstantValue(from) : nullptr;
}

bool GraphRewrite::MayBeTaken(const OutputTensor& output) const {
  // One output of a Switch is dead while the Switch itself is not.
  return output.node != nullptr && !IsControlFlow(*output.node) &&
         !reads_variable_[output.node->id()];
}

bool GraphRewrite::MayBypass(const Node& node, const OutputTensor& to) const {
  const Node* from = to.node;
  if (IsEnd(node) || IsPinned(node) || IsGone(node)) return false;
  if (node.num_outputs() != 1 || !ControlInputs(node).empty()) return false;
  if (from == nullptr || from->id() >= node.id()) return false;
  if (from->output_type(to.index) != node.output_type(0)) return false;
  return from->assigned_device() == node.assigned_device() && MayBeTaken(to);
}

void GraphRewrite::MoveUses(const Node& from, const Node& to) {
  const Uses& moved = uses_[from.id()];
  Uses& uses = uses_[to.id()];
  uses.any |= moved.any;
  uses.pinned |= moved.pinned;
  gone_[from.id()] = true;
}

void GraphRewrite::Bypass(const Node& node, const OutputTensor& to) {
  outputs_[{&node, 0}] = to;
  controls_[&node] = to.node;
  MoveUses(node, *to.node);
}

void GraphRewrite::Merge(const Node& node, const Node& other) {
  for (int i = 0; i < node.num_outputs(); ++i) {
    outputs_[{&node, i}] = {&other, i};
  }
  controls_[&node] = &other;
  MoveUses(node, other);
}

void GraphRewrite::RemoveControl(const Node& node) {
  const std::vector<const Node*> controls = ControlInputs(node);
  const Node* instead = controls.empty() ? nullptr : controls[0];
  controls_[&node] = instead;
  gone_[node.id()] = true;
  if (instead != nullptr) MoveUses(node, *instead);
}

void GraphRewrite::Fold(const Node& node, std::vector<Tensor> outputs) {
  Constants constants{std::move(outputs), ControlInputs(node)};
  for (int i = 0; i < node.num_inputs(); ++i) {
    // The control inputs of its inputs.
    for (const Node* control : ControlInputs(*Input(node, i).node)) {
      constants.controls.push_back(control);
    }
  }
  free_[node.id()] = constants.controls.empty();
  folded_[&node] = std::move(constants);
}

void GraphRewrite::SetInput(const Node& node, int i, const OutputTensor& to) {
  inputs_[{&node, i}] = to;
  uses_[to.node->id()].any = true;
}

void GraphRewrite::Replace(const Node& node, Replacement replacement) {
  for (const OutputTensor& input : replacement.inputs) {
    uses_[input.node->id()].any = true;
  }
  for (const Node* control : replacement.more_controls) {
    uses_[control->id()].any = true;
  }
  replaced_[&node] = std::move(replacement);
}

void GraphRewrite::TakeInstead(const OutputTensor& from,
                               const OutputTensor& to) {
  outputs_[from] = to;
  uses_[to.node->id()].any = true;
}

void GraphRewrite::Remove(const Node& node) { gone_[node.id()] = true; }

// Builds the new graph.
class GraphRewrite::Builder {
 public:
  explicit Builder(const GraphRewrite& rewrite)
      : rewrite_(rewrite),
        old_(rewrite.graph_),
        needed_(old_.num_nodes(), false),
        new_(std::make_unique<Graph>(old_.registry(),
                                     old_.shared_functions())) {}

  absl::StatusOr<std::unique_ptr<Graph>> Build() {
    new_->set_producer(old_.producer());
    FindNeeded();
    for (const Node* node : old_.nodes()) {
      if (needed_[node->id()]) RETURN_IF_ERROR(Add(*node));
    }
    for (const BackEdge& edge : back_edges_) {
      RETURN_IF_ERROR(new_->SetBackEdge(edge.consumer, edge.input,
                                        outputs_[edge.producer]));
    }
    return std::move(new_);
  }

 private:
  struct BackEdge {
    const Node* consumer;  // in the new graph
    int input;
    OutputTensor producer;  // in the old graph
  };

  const Constants* Folded(const Node& node) const {
    auto it = rewrite_.folded_.find(&node);
    return it == rewrite_.folded_.end() ? nullptr : &it->second;
  }

  void FindNeeded() {
    for (const Node* node : old_.nodes()) {
      if (rewrite_.IsGone(*node)) continue;
      if (rewrite_.IsEnd(*node) || !rewrite_.IsPure(*node)) Want(node);
    }
    while (!stack_.empty()) {
      const Node* node = stack_.back();
      stack_.pop_back();
      for (const Node* input : rewrite_.ControlInputs(*node)) Want(input);
      if (Folded(*node) != nullptr) continue;
      for (int i = 0; i < rewrite_.NumInputs(*node); ++i) {
        Want(rewrite_.Input(*node, i).node);
      }
    }
  }
  void Want(const Node* node) {
    if (node == nullptr || needed_[node->id()]) return;
    needed_[node->id()] = true;
    stack_.push_back(node);
  }

  absl::Status Add(const Node& node) {
    const Constants* folded = Folded(node);
    return folded == nullptr ? Copy(node) : AddConstants(node, *folded);
  }

  absl::Status Copy(const Node& node) {
    NodeSpec spec{.name = node.name(),
                  .op = node.type(),
                  .attrs = node.attrs(),
                  .device = node.requested_device()};
    auto replaced = rewrite_.replaced_.find(&node);
    if (replaced != rewrite_.replaced_.end()) {
      spec.op = replaced->second.op;
      spec.attrs = replaced->second.attrs;
    }
    std::vector<BackEdge> pending;
    for (int i = 0; i < rewrite_.NumInputs(node); ++i) {
      const OutputTensor from = rewrite_.Input(node, i);
      auto to = outputs_.find(from);
      if (to == outputs_.end()) pending.push_back({nullptr, i, from});
      spec.inputs.push_back(to == outputs_.end() ? OutputTensor() : to->second);
    }
    spec.control_inputs = NewControls(node);
    if (IsUnknown(node)) MarkAs(node, spec);
    ASSIGN_OR_RETURN(const Node* copy, Place(std::move(spec), node));
    for (int i = 0; i < copy->num_outputs(); ++i) {
      outputs_[{&node, i}] = {copy, i};
    }
    controls_[&node] = copy;
    for (BackEdge& edge : pending) {
      if (edge.producer.node == nullptr) continue;  // never connected
      edge.consumer = copy;
      back_edges_.push_back(edge);
    }
    return absl::OkStatus();
  }

  absl::Status AddConstants(const Node& node, const Constants& folded) {
    for (size_t i = 0; i < folded.values.size(); ++i) {
      const Tensor& value = folded.values[i];
      std::string name = folded.values.size() == 1
                             ? node.name()
                             : absl::StrCat("_Const_", node.name(), "_", i);
      NodeSpec spec{.name = std::move(name),
                    .op = "Const",
                    .control_inputs = NewControls(node),
                    .attrs = {{"dtype", value.dtype()}, {"value", value}},
                    .device = node.requested_device()};
      ASSIGN_OR_RETURN(const Node* constant, Place(std::move(spec), node));
      outputs_[{&node, static_cast<int>(i)}] = {constant, 0};
      controls_.emplace(&node, constant);
    }
    return absl::OkStatus();
  }

  std::vector<const Node*> NewControls(const Node& node) const {
    std::vector<const Node*> result;
    for (const Node* control : rewrite_.ControlInputs(node)) {
      result.push_back(controls_.at(control));
    }
    return result;
  }

  absl::StatusOr<const Node*> Place(NodeSpec spec, const Node& like) {
    ASSIGN_OR_RETURN(Node * node, new_->AddNode(std::move(spec)));
    new_->set_assigned_device(node, like.assigned_device());
    return node;
  }

  const GraphRewrite& rewrite_;
  const Graph& old_;
  std::vector<bool> needed_;
  std::vector<const Node*> stack_;
  std::unique_ptr<Graph> new_;
  // Maps outputs of the old graph to those of the new one.
  FlatHashMap<OutputTensor, OutputTensor> outputs_;
  FlatHashMap<const Node*, const Node*> controls_;
  std::vector<BackEdge> back_edges_;
};

absl::StatusOr<std::unique_ptr<Graph>> GraphRewrite::Build() const {
  return Builder(*this).Build();
}

std::optional<std::vector<int64_t>> IntegersIn(const Tensor* constant) {
  if (constant == nullptr || constant->rank() != 1) return std::nullopt;
  std::vector<int64_t> result;
  if (constant->dtype() == DT_INT32) {
    for (int32_t value : constant->flat<int32_t>()) result.push_back(value);
  } else if (constant->dtype() == DT_INT64) {
    for (int64_t value : constant->flat<int64_t>()) result.push_back(value);
  } else {
    return std::nullopt;
  }
  return result;
}

}  // namespace weft
