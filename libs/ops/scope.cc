#include "libs/ops/scope.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/graph/node_signature.h"
#include "libs/ops/adapt_value.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

constexpr int64_t kMaxInt32 = 2147483647;
// TensorFlow's graph seed if only the op has a seed.
constexpr int64_t kDefaultGraphSeed = 87654321;

bool IsValidScopeName(absl::string_view prefix, absl::string_view name) {
  if (name.empty()) return false;
  // Below another scope, a name may begin with any valid character.
  if (prefix.empty() && !absl::ascii_isalnum(name[0]) && name[0] != '.') {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("_.\\-/>", c);
  });
}

// Converts a device string of tf.device to a device function: existing fields
// win.
DeviceFunction MergeInto(const DeviceName& outer) {
  return [outer](const NodeSpec& spec) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const DeviceName inner, DeviceName::Parse(spec.device));
    return outer.OverriddenBy(inner).ToString();
  };
}

// Python's %, never negative.
int64_t TruncateSeed(int64_t seed) {
  const int64_t rest = seed % kMaxInt32;
  return rest < 0 ? rest + kMaxInt32 : rest;
}

// The colocation groups of `node`; the group of its own name if it has none.
std::vector<std::string> ColocationGroups(const Node& node) {
  std::vector<std::string> groups;
  if (const auto* listed = node.attr<std::vector<std::string>>("_class")) {
    for (const std::string& entry : *listed) {
      if (absl::StartsWith(entry, "loc:@")) groups.push_back(entry);
    }
  }
  if (groups.empty()) groups.push_back(absl::StrCat("loc:@", node.name()));
  return groups;
}

// Adds groups to attr _class, which stays sorted.
void AddColocationGroups(const std::vector<std::string>& groups,
                         AttrMap& attrs) {
  std::vector<std::string> all = groups;
  auto it = attrs.find("_class");
  if (it != attrs.end()) {
    if (const auto* had = it->second.Get<std::vector<std::string>>()) {
      all.insert(all.end(), had->begin(), had->end());
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  attrs["_class"] = std::move(all);
}

}  // namespace

Scope::Scope(std::shared_ptr<GraphState> state) : state_(std::move(state)) {}

Scope Scope::Root() { return Root(StandardOps()); }

Scope Scope::Root(std::shared_ptr<const OpRegistry> registry) {
  return Scope(std::make_shared<GraphState>(std::move(registry)));
}

void Scope::UpdateStatus(absl::Status status) const {
  const GraphWriter::Turn turn(graph().writer());
  if (turn && ok()) state_->status = std::move(status);
}

Scope Scope::WithName(absl::string_view name) const {
  Scope result = *this;
  result.own_name_ = std::string(name);
  return result;
}

Scope Scope::SubScope(absl::string_view name) const {
  // As in tf.name_scope: "" is the root, "a/" re-enters an existing scope.
  if (name.empty() || absl::EndsWith(name, "/")) return ReenterScope(name);
  if (!IsValidScopeName(prefix_, name)) {
    UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is not a valid scope name")));
    return *this;
  }
  return ReenterScope(PlainUniqueName(absl::StrCat(prefix_, name)));
}

Scope Scope::ReenterScope(absl::string_view full_prefix) const {
  Scope result = *this;
  absl::ConsumeSuffix(&full_prefix, "/");
  result.prefix_ =
      full_prefix.empty() ? std::string() : absl::StrCat(full_prefix, "/");
  result.own_name_.clear();
  return result;
}

Scope Scope::WithDevice(absl::string_view device) const {
  Scope result = *this;
  absl::StatusOr<DeviceName> inner = DeviceName::Parse(device);
  if (!inner.ok()) {
    UpdateStatus(inner.status());
    return result;
  }
  absl::StatusOr<DeviceName> outer = DeviceName::Parse(device_);
  if (outer.ok()) result.device_ = outer->OverriddenBy(*inner).ToString();
  if (!device_functions_.empty()) {
    result.device_functions_.push_back(MergeInto(*inner));
  }
  return result;
}

Scope Scope::WithoutDevice() const {
  Scope result = *this;
  result.device_.clear();
  result.device_functions_.clear();
  return result;
}

Scope Scope::WithDeviceFunction(absl::StatusOr<DeviceFunction> function) const {
  Scope result = *this;
  if (!function.ok()) UpdateStatus(function.status());
  if (!function.ok() || *function == nullptr) return result;
  if (device_functions_.empty() && !device_.empty()) {
    absl::StatusOr<DeviceName> outer = DeviceName::Parse(device_);
    if (outer.ok()) result.device_functions_.push_back(MergeInto(*outer));
  }
  result.device_functions_.push_back(*std::move(function));
  return result;
}

Scope Scope::WithContainer(absl::string_view container) const {
  Scope result = *this;
  result.container_ = std::string(container);
  return result;
}

Scope Scope::WithControlDependencies(
    absl::Span<const Operation> operations) const {
  Scope result = *this;
  for (const Operation& operation : operations) {
    if (!operation) {
      UpdateStatus(absl::InvalidArgumentError("a control dependency is null"));
      continue;
    }
    auto& all = result.control_dependencies_;
    if (std::find(all.begin(), all.end(), operation.node()) == all.end()) {
      all.push_back(operation.node());
    }
  }
  return result;
}

Scope Scope::WithoutControlDependencies() const {
  return WithControlFlowContext(nullptr);
}

Scope Scope::WithControlFlowContext(
    std::shared_ptr<ControlFlowContext> context) const {
  Scope result = *this;
  result.control_dependencies_.clear();
  result.control_flow_context_ = std::move(context);
  return result;
}

Scope Scope::WithGradientSource(absl::string_view source) const {
  Scope result = *this;
  if (gradient_source_.empty()) result.gradient_source_ = std::string(source);
  return result;
}

Scope Scope::ColocateWith(const Operation& operation) const {
  // Colocation overrides outer devices, as in TensorFlow.
  Scope result = WithoutDevice();
  if (!operation) {
    UpdateStatus(
        absl::InvalidArgumentError("the operation to colocate with is null"));
    return result;
  }
  for (std::string& group : ColocationGroups(*operation.node())) {
    result.colocation_groups_.push_back(std::move(group));
  }
  result.colocation_device_ = operation.node()->requested_device();
  return result;
}

Scope Scope::ColocateWithName(absl::string_view node_name) const {
  Scope result = WithoutDevice();
  result.colocation_device_.clear();
  result.colocation_groups_.push_back(absl::StrCat("loc:@", node_name));
  return result;
}

void Scope::SetGraphSeed(int64_t seed) const {
  const GraphWriter::Turn turn(graph().writer());
  if (turn) state_->seed = seed;
}

std::pair<int64_t, int64_t> Scope::GetSeeds(
    std::optional<int64_t> op_seed) const {
  if (!state_->seed && !op_seed) return {0, 0};
  const int64_t graph_seed = state_->seed.value_or(kDefaultGraphSeed);
  const std::pair<int64_t, int64_t> seeds = {
      TruncateSeed(graph_seed),
      TruncateSeed(op_seed.value_or(graph().num_nodes()))};
  // (0, 0) would mean "not seeded".
  if (seeds == std::pair<int64_t, int64_t>(0, 0)) return {0, kMaxInt32};
  return seeds;
}

void Scope::AddToCollection(absl::string_view collection, Output item) const {
  if (!item) return;
  const GraphWriter::Turn turn(graph().writer());
  if (!turn) return;
  state_->collections[std::string(collection)].emplace_back(item);
}

void Scope::AddToCollection(absl::string_view collection,
                            Operation item) const {
  if (!item) return;  // an error, which sticks
  const GraphWriter::Turn turn(graph().writer());
  if (!turn) return;
  state_->collections[std::string(collection)].emplace_back(item);
}

std::vector<Output> Scope::GetCollection(absl::string_view collection) const {
  std::vector<Output> values;
  const auto it = state_->collections.find(collection);
  if (it == state_->collections.end()) return values;
  for (const CollectionItem& item : it->second) {
    if (const Output* value = std::get_if<Output>(&item)) {
      values.push_back(*value);
    }
  }
  return values;
}

std::vector<Operation> Scope::GetOperations(
    absl::string_view collection) const {
  std::vector<Operation> operations;
  const auto it = state_->collections.find(collection);
  if (it == state_->collections.end()) return operations;
  for (const CollectionItem& item : it->second) {
    const Output* value = std::get_if<Output>(&item);
    operations.push_back(value != nullptr ? Operation(*value)
                                          : std::get<Operation>(item));
  }
  return operations;
}

// TensorFlow's Graph.unique_name, which counts without regard to case.
std::string Scope::PlainUniqueName(absl::string_view full_name) const {
  const GraphWriter::Turn turn(graph().writer());
  if (!turn) return std::string(full_name);
  auto& counts = state_->name_counts;
  const std::string key = absl::AsciiStrToLower(full_name);
  int& count = counts[key];
  int next = count++;
  // An imported node was not counted here.
  if (next == 0 && graph().FindNode(full_name) == nullptr) {
    return std::string(full_name);
  }
  next = std::max(next, 1);
  while (true) {
    const std::string suffix = absl::StrCat("_", next++);
    std::string name = absl::StrCat(full_name, suffix);
    if (!counts.contains(absl::StrCat(key, suffix)) &&
        graph().FindNode(name) == nullptr) {
      counts[absl::StrCat(key, suffix)] = 1;
      return name;
    }
  }
}

std::string Scope::UniqueName(absl::string_view op) const {
  // A name that ends in "/" is a scope's and is used unchanged.
  if (absl::EndsWith(own_name_, "/")) {
    return own_name_.substr(0, own_name_.size() - 1);
  }
  return PlainUniqueName(
      absl::StrCat(prefix_, own_name_.empty() ? op : own_name_));
}

absl::StatusOr<std::string> Scope::DeviceOf(const NodeSpec& spec) const {
  if (!colocation_device_.empty()) return colocation_device_;
  if (device_functions_.empty()) return device_;
  NodeSpec so_far = spec;
  for (auto it = device_functions_.rbegin(); it != device_functions_.rend();
       ++it) {
    ASSIGN_OR_RETURN(so_far.device, (*it)(so_far));
  }
  ASSIGN_OR_RETURN(DeviceName device, DeviceName::Parse(so_far.device));
  return device.ToString();
}

// Applies the scope's control inputs, container, colocation and device to a
// node.
absl::Status Scope::Decorate(const OpDef& op, NodeSpec& spec) const {
  for (const Node* node : control_dependencies_) {
    const bool is_input =
        std::any_of(spec.inputs.begin(), spec.inputs.end(),
                    [&](const OutputTensor& e) { return e.node == node; });
    if (!is_input) spec.control_inputs.push_back(node);
  }
  if (!container_.empty() && op.is_stateful &&
      op.FindAttr("container") != nullptr) {
    AttrValue& container = spec.attrs["container"];
    const std::string* given = container.Get<std::string>();
    if (given == nullptr || given->empty()) container = container_;
  }
  if (!colocation_groups_.empty()) {
    AddColocationGroups(colocation_groups_, spec.attrs);
  }
  ASSIGN_OR_RETURN(spec.device, DeviceOf(spec));
  return absl::OkStatus();
}

Scope Scope::OutsideFunctions() const {
  const std::shared_ptr<OuterGraph> outer = state_->outer.lock();
  if (outer == nullptr) return *this;
  Scope result = outer->scope();
  result.prefix_ = prefix_;
  result.own_name_ = own_name_;
  result.variable_scope_ = variable_scope_;
  return result.OutsideFunctions();
}

bool Scope::IsOfThisGraph(const Node& node) const {
  return node.id() < graph().num_nodes() && graph().node(node.id()) == &node;
}

absl::StatusOr<Output> Scope::Inside(const Output& value) const {
  if (!value || IsOfThisGraph(*value.node())) return value;
  const std::shared_ptr<OuterGraph> outer = state_->outer.lock();
  if (outer != nullptr) return outer->Capture(value);
  return absl::InvalidArgumentError(
      absl::StrCat("input '", value.node()->name(), "' is of another graph"));
}

// In a function, outer values become captured arguments, and outer control
// inputs become control inputs of the call.
absl::Status Scope::EnterContext(NodeSpec& spec) const {
  const std::shared_ptr<OuterGraph> outer = state_->outer.lock();
  if (outer == nullptr) return absl::OkStatus();
  for (OutputTensor& input : spec.inputs) {
    ASSIGN_OR_RETURN(const Output inside, Inside(input));
    input = inside.output_tensor();
  }
  std::vector<const Node*> controls;
  for (const Node* control : spec.control_inputs) {
    if (control == nullptr || IsOfThisGraph(*control)) {
      controls.push_back(control);
    } else {
      RETURN_IF_ERROR(outer->CaptureControl(control));
    }
  }
  spec.control_inputs = std::move(controls);
  return absl::OkStatus();
}

absl::Status Scope::PrepareSpec(NodeSpec& spec) const {
  const OpDef* op = graph().registry()->Find(spec.op);
  if (op == nullptr) return absl::OkStatus();  // rejected when it is added
  RETURN_IF_ERROR(Decorate(*op, spec));
  RETURN_IF_ERROR(EnterContext(spec));
  return control_flow_context_ == nullptr ? absl::OkStatus()
                                          : control_flow_context_->AddOp(spec);
}

const Node* Scope::Add(NodeSpec spec) const {
  const GraphWriter::Turn turn(graph().writer());
  if (!turn) return nullptr;
  if (absl::Status status = PrepareSpec(spec); !status.ok()) {
    UpdateStatus(Annotate(
        status, absl::StrCat("Node '", spec.name, "' (op: '", spec.op, "')")));
    return nullptr;
  }
  if (absl::StartsWith(spec.name, "_")) {
    UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("'", spec.name, "' is not a valid node name")));
    return nullptr;
  }
  absl::StatusOr<Node*> node = graph().AddNode(std::move(spec));
  if (!node.ok()) {
    UpdateStatus(node.status());
    return nullptr;
  }
  if (control_flow_context_ != nullptr)
    control_flow_context_->NoteInside(*node);
  return *node;
}

const Node* Scope::AddConst(absl::string_view name, Tensor value) const {
  NodeSpec spec;
  spec.name = std::string(name);
  spec.op = "Const";
  spec.attrs["dtype"] = value.dtype();
  spec.attrs["value"] = std::move(value);
  return Add(std::move(spec));
}

const Node* Scope::AddNode(absl::string_view op, const InputList& inputs,
                           AttrMap attrs) const {
  const GraphWriter::Turn turn(graph().writer());
  if (!turn || !ok()) return nullptr;
  NodeSpec spec;
  spec.op = std::string(op);
  // The name is chosen first, because Consts for values are named after it.
  spec.name = UniqueName(op);
  const OpDef* def = graph().registry()->Find(op);
  if (def == nullptr) return Add(std::move(spec));  // reports the error
  absl::StatusOr<std::vector<OutputTensor>> outputs =
      ConvertInputs(*def, spec.name, inputs, attrs);
  if (!outputs.ok()) {
    UpdateStatus(
        Annotate(outputs.status(),
                 absl::StrCat("Node '", spec.name, "' (op: '", op, "')")));
    return nullptr;
  }
  spec.inputs = *std::move(outputs);
  spec.attrs = std::move(attrs);
  return Add(std::move(spec));
}

Output Scope::ToOutput(const Input& input, absl::string_view name) const {
  if (!ok()) return Output();
  if (!input.value()) return input.output();
  const Node* node = AddConst(UniqueName(name), *input.value());
  return node == nullptr ? Output() : Output(node, 0);
}

namespace {

// An input and its argument.
struct PlacedInput {
  const Input* input;
  const ArgDef* arg;
  std::string name;  // "y", or "values_1" in a list
};

std::vector<PlacedInput> PlaceInputs(const OpDef& op,
                                     const std::vector<int>& lengths,
                                     const InputList& inputs) {
  std::vector<PlacedInput> placed;
  size_t next = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const ArgDef& arg = op.inputs[i];
    const bool list = !arg.number_attr.empty() || !arg.type_list_attr.empty();
    for (int j = 0; j < lengths[i] && next < inputs.size(); ++j) {
      placed.push_back({&inputs[next++], &arg,
                        list ? absl::StrCat(arg.name, "_", j) : arg.name});
    }
  }
  return placed;
}

// The type attr `attr`: as given, from another input, or the default;
// DT_INVALID if the op does not determine it.
DataType TypeAttr(const OpDef& op, const std::string& attr,
                  const AttrMap& attrs,
                  const std::vector<PlacedInput>& placed) {
  auto given = attrs.find(attr);
  if (given != attrs.end()) {
    const DataType* type = given->second.Get<DataType>();
    return type == nullptr ? DT_INVALID : *type;
  }
  for (const PlacedInput& other : placed) {
    if (other.arg->type_attr != attr) continue;
    if (other.input->value()) {
      if (!other.input->adapts()) return other.input->value()->dtype();
    } else if (other.input->output()) {
      return RemoveRefType(other.input->output().dtype());
    }
  }
  const AttrDef* def = op.FindAttr(attr);
  if (def == nullptr || !def->default_value) return DT_INVALID;
  const DataType* type = def->default_value->Get<DataType>();
  return type == nullptr ? DT_INVALID : *type;
}

// The type if nothing else determines it: the value's own, or that of the other
// values.
DataType CommonValueType(const std::string& attr,
                         const std::vector<PlacedInput>& placed) {
  DataType result = DT_INVALID;
  for (const PlacedInput& other : placed) {
    if (other.arg->type_attr != attr || !other.input->value()) continue;
    const DataType type = other.input->value()->dtype();
    if (result == DT_INVALID || IsFloatingType(type)) result = type;
  }
  return result;
}

absl::StatusOr<Tensor> ValueOf(const OpDef& op, const PlacedInput& placed,
                               const AttrMap& attrs,
                               const std::vector<PlacedInput>& all) {
  const Tensor& value = *placed.input->value();
  if (!placed.input->adapts()) return value;
  DataType type = placed.arg->type;
  if (type == DT_INVALID && !placed.arg->type_attr.empty()) {
    type = TypeAttr(op, placed.arg->type_attr, attrs, all);
    if (type == DT_INVALID) {
      type = CommonValueType(placed.arg->type_attr, all);
    }
  }
  if (type == DT_INVALID) return value;
  absl::StatusOr<Tensor> adapted = AdaptValue(value, type);
  if (!adapted.ok()) {
    return Annotate(adapted.status(),
                    absl::StrCat("input '", placed.name, "'"));
  }
  return adapted;
}

}  // namespace

absl::StatusOr<std::vector<OutputTensor>> Scope::ConvertInputs(
    const OpDef& op, absl::string_view node_name, const InputList& inputs,
    const AttrMap& attrs) const {
  ASSIGN_OR_RETURN(const std::vector<int> lengths,
                   InputLengths(op, attrs, static_cast<int>(inputs.size())));
  const std::vector<PlacedInput> placed = PlaceInputs(op, lengths, inputs);
  if (placed.size() < inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("takes ", placed.size(), " inputs, but ", inputs.size(),
                     " are given: ", SummarizeOp(op)));
  }
  std::vector<OutputTensor> outputs;
  for (const PlacedInput& one : placed) {
    if (!one.input->value()) {
      outputs.push_back(one.input->output().output_tensor());
      continue;
    }
    ASSIGN_OR_RETURN(Tensor value, ValueOf(op, one, attrs, placed));
    const std::string name =
        PlainUniqueName(absl::StrCat(node_name, "/", one.name));
    const Node* node = AddConst(name, std::move(value));
    if (node == nullptr) return status();
    outputs.push_back({node, 0});
  }
  return outputs;
}

Scope Scope::WithVariableScope(
    std::shared_ptr<const VariableScopeState> state) const {
  Scope result = *this;
  result.variable_scope_ = std::move(state);
  return result;
}

}  // namespace weft
