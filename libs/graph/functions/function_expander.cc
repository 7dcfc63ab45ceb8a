#include "libs/graph/functions/function_expander.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/graph/frame_analysis.h"
#include "libs/graph/node_signature.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

enum class Functional { kNone, kCall, kGradient, kIf, kCase, kWhile };

Functional KindOf(absl::string_view op, const Graph& graph) {
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall") {
    return Functional::kCall;
  }
  if (op == "SymbolicGradient") return Functional::kGradient;
  if (op == "If" || op == "StatelessIf") return Functional::kIf;
  if (op == "Case" || op == "StatelessCase") return Functional::kCase;
  if (op == "While" || op == "StatelessWhile") return Functional::kWhile;
  const bool is_function = graph.registry()->Find(op) == nullptr &&
                           graph.functions().Find(op) != nullptr;
  return is_function ? Functional::kCall : Functional::kNone;
}

bool IsControlFlowOp(const Node& node) {
  return IsSwitch(node) || IsMerge(node) || IsEnter(node) || IsExit(node) ||
         IsNextIteration(node) || node.type() == "LoopCond";
}

DataType TypeOf(const OutputTensor& output) {
  return output.node->output_type(output.index);
}

bool IsHandle(const OutputTensor& output) {
  return TypeOf(output) == DT_RESOURCE || IsRefType(TypeOf(output));
}

// Returns whether the output is available from the begin of a step, or is a
// handle, which nothing has to wait for.
bool IsThereAtOnce(const OutputTensor& output) {
  const Node& node = *output.node;
  return IsHandle(output) ||
         ((node.type() == "Const" || node.type() == "Placeholder") &&
          node.control_inputs().empty());
}

// Returns the device that `inner` requests, completed by the call's device.
std::string MergedDevice(const std::string& call, const std::string& inner) {
  if (inner.empty()) return call;
  const auto outer = DeviceName::Parse(call);
  const auto own = DeviceName::Parse(inner);
  if (!outer.ok() || !own.ok()) return inner;  // placement reports it
  return outer->OverriddenBy(*own).ToString();
}

absl::StatusOr<NameAttrList> FunctionAttr(const AttrMap& attrs,
                                          absl::string_view name) {
  const auto it = attrs.find(name);
  const auto* function =
      it == attrs.end() ? nullptr : it->second.Get<NameAttrList>();
  if (function != nullptr) return *function;
  return absl::InvalidArgumentError(
      absl::StrCat("attr '", name, "' is not a function"));
}

int64_t ConstantBytes(const AttrValue& value) {
  if (const auto* tensor = value.Get<Tensor>()) {
    return static_cast<int64_t>(tensor->TotalBytes());
  }
  int64_t bytes = 0;
  if (const auto* tensors = value.Get<std::vector<Tensor>>()) {
    for (const Tensor& tensor : *tensors) {
      bytes += static_cast<int64_t>(tensor.TotalBytes());
    }
  }
  return bytes;
}

// Returns a valid node name for a function, whose name may be any text
// ("__inference_<lambda>_7").
std::string NodeName(std::string function) {
  for (char& c : function) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains(R"(/-.>\)", c)) c = '_';
  }
  if (absl::StrContains(R"(/->\)", function[0])) function.insert(0, 1, '_');
  return function;
}

// The input of each Identity node of a function, by the name of the node.
using Identities = FlatHashMap<absl::string_view, absl::string_view>;

// Returns the source of `text`, an input, after following Identity nodes back.
absl::string_view BehindIdentities(const Identities& identities,
                                   absl::string_view text) {
  for (int steps = 0; steps < 16; ++steps) {
    const auto it = identities.find(text.substr(0, text.find(':')));
    if (it == identities.end()) return text;
    text = it->second;
  }
  return text;
}

// Returns for each result of a loop's body whether it is the argument at the
// same position, passed through unchanged.
std::vector<bool> FindInvariants(const FunctionDef& body,
                                 size_t num_variables) {
  std::vector<bool> is_invariant(num_variables, false);
  const OpDef& op = body.signature;
  const auto is_single = [](const ArgDef& arg) {
    return arg.number_attr.empty() && arg.type_list_attr.empty();
  };
  if (op.inputs.size() != num_variables || op.outputs.size() != num_variables ||
      !std::all_of(op.inputs.begin(), op.inputs.end(), is_single) ||
      !std::all_of(op.outputs.begin(), op.outputs.end(), is_single)) {
    return is_invariant;
  }
  Identities identities;
  for (const FunctionNode& node : body.nodes) {
    if (node.op != "Identity" || node.inputs.size() != 1) continue;
    identities.emplace(node.name, node.inputs[0]);
  }
  for (size_t i = 0; i < num_variables; ++i) {
    is_invariant[i] =
        BehindIdentities(identities, body.results[i]) == op.inputs[i].name;
  }
  return is_invariant;
}

}  // namespace

absl::StatusOr<const Node*> FunctionExpander::Add(NodeSpec spec) {
  return AddAny(std::move(spec));
}

absl::StatusOr<FunctionBody> FunctionExpander::AddFunction(
    const std::string& prefix, const NameAttrList& function,
    std::vector<OutputTensor> args) {
  const Site site{.name = NodeName(prefix)};
  return Call(site.name, function, std::move(args), {}, site);
}

void FunctionExpander::EndImport() {
  expected_.clear();
  has_effects_.clear();
  frames_.clear();
  num_expanded_ = 0;
  constant_bytes_ = 0;
  num_bytes_ = 0;
  const int num_nodes = graph_.num_nodes();
  if (static_cast<int>(flow_.size()) > num_nodes) flow_.resize(num_nodes);
  absl::erase_if(redirects_, [num_nodes](const auto& entry) {
    return entry.second.from_id >= num_nodes;
  });
}

absl::Status FunctionExpander::Count(const NodeSpec& spec) {
  if (++num_expanded_ > options_.max_nodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("The functions that this graph calls come to more than ",
                     options_.max_nodes, " nodes, in ", Chain(),
                     ". Call them fewer times, or in a loop."));
  }
  // A node's name is stored twice in memory, and each input is stored with its
  // type.
  int64_t bytes = static_cast<int64_t>(
      2 * spec.name.size() + spec.device.size() +
      spec.inputs.size() * (sizeof(OutputTensor) + sizeof(DataType)) +
      spec.control_inputs.size() * sizeof(const Node*));
  for (const auto& [name, value] : spec.attrs) {
    constant_bytes_ += ConstantBytes(value);
    bytes +=
        static_cast<int64_t>(name.size()) + value.NumBytes(options_.max_bytes);
  }
  if (constant_bytes_ > options_.max_constant_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "The constants of the functions that this graph calls come to more "
        "than ",
        options_.max_constant_bytes, " bytes, in ", Chain(),
        ". Pass large constants as arguments."));
  }
  return CountBytes(bytes);
}

absl::Status FunctionExpander::CountBytes(int64_t bytes) {
  num_bytes_ += bytes;
  if (num_bytes_ <= options_.max_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("The functions that this graph calls come to more than ",
                   options_.max_bytes, " bytes without their constants, in ",
                   Chain(), ". Call them fewer times, or in a loop."));
}

absl::StatusOr<const Node*> FunctionExpander::AddInner(NodeSpec spec) {
  spec.name = UniqueName(spec.name);
  RETURN_IF_ERROR(Count(spec));
  ASSIGN_OR_RETURN(const Node* node, AddAny(std::move(spec)));
  RETURN_IF_ERROR(CountBytes(
      node->num_outputs() *
      static_cast<int64_t>(sizeof(DataType) + sizeof(PartialShape))));
  return node;
}

absl::StatusOr<const Node*> FunctionExpander::AddAny(NodeSpec spec) {
  for (OutputTensor& input : spec.inputs) {
    const auto it = redirects_.find(input);
    if (it != redirects_.end()) input = it->second.to;
  }
  const Functional kind =
      IsMarkedUnknown(spec) ? Functional::kNone : KindOf(spec.op, graph_);
  if (kind == Functional::kNone) {
    ASSIGN_OR_RETURN(const Node* node, graph_.AddNode(std::move(spec)));
    return node;
  }
  const std::string op = spec.op;
  const std::string prefix =
      absl::StrCat("Node '", spec.name, "' (op: '", op, "')");
  ASSIGN_OR_RETURN(const Site site, EnterSite(std::move(spec)));
  absl::StatusOr<FunctionBody> body;
  switch (kind) {
    case Functional::kNone:
    case Functional::kCall:
      body = ExpandCall(op, site);
      break;
    case Functional::kGradient:
      body = ExpandGradient(site);
      break;
    case Functional::kIf:
      body = ExpandIf(site);
      break;
    case Functional::kCase:
      body = ExpandCase(site);
      break;
    case Functional::kWhile:
      body = ExpandWhile(site);
      break;
  }
  if (!body.ok()) return Annotate(body.status(), prefix);
  RETURN_IF_ERROR(Annotate(CheckResults(site, *body), prefix));
  return LeaveSite(op, site, *std::move(body));
}

absl::StatusOr<FunctionExpander::Site> FunctionExpander::EnterSite(
    NodeSpec spec) {
  ASSIGN_OR_RETURN(NodeSignature signature, graph_.Resolve(spec));
  Site site{.name = std::move(spec.name),
            .device = std::move(spec.device),
            .attrs = std::move(signature.attrs),
            .args = std::move(spec.inputs),
            .output_types = std::move(signature.output_types)};
  site.has_effects = HasEffects(spec.op, site.attrs);
  // An argument that is an output of an unknown node has no certain type. An
  // Identity gives it the type that the call declares.
  for (size_t i = 0; i < site.args.size(); ++i) {
    if (!IsOfUnknown(site.args[i])) continue;
    ASSIGN_OR_RETURN(
        const Node* typed,
        Make(site, absl::StrCat("unknown_input_", i),
             {.op = "Identity",
              .inputs = {site.args[i]},
              .attrs = {{"T", RemoveRefType(signature.input_types[i])}}}));
    site.args[i] = Value(typed);
  }
  RETURN_IF_ERROR(GateSite(site, std::move(spec.control_inputs)));
  return site;
}

// Delays a call in a branch or a loop until the branch is taken or the
// iteration begins. The arguments that come from the branch or loop determine
// this time, and all other arguments are made to wait for them. This includes
// arguments that a loop only passes on, because they exist in its last
// iteration too.
absl::Status FunctionExpander::GateSite(Site& site,
                                        std::vector<const Node*> waits) {
  const auto hold = [&](size_t i, std::vector<const Node*> controls) {
    absl::StatusOr<const Node*> value = Make(site, absl::StrCat("input_", i),
                                             {.op = "Identity",
                                              .inputs = {site.args[i]},
                                              .controls = std::move(controls)});
    if (value.ok()) site.args[i] = Value(*value);
    return value;
  };
  std::vector<const Node*> gates = waits;
  std::vector<size_t> others;
  Flow flow = Flow::kNone;
  for (const Node* control : waits) flow = std::max(flow, FlowOf(control));
  for (const OutputTensor& arg : site.args) {
    flow = std::max(flow, FlowOf(arg.node));
  }
  site.is_in_control_flow = flow != Flow::kNone;
  for (size_t i = 0; i < site.args.size(); ++i) {
    if (flow == Flow::kNone || FlowOf(site.args[i].node) < flow) {
      others.push_back(i);
      continue;
    }
    ASSIGN_OR_RETURN(const Node* value, hold(i, waits));
    gates.push_back(value);
  }
  // The nodes with side effects wait until all arguments of the call exist.
  std::vector<const Node*> begins = gates;
  for (const size_t i : others) {
    const OutputTensor& arg = site.args[i];
    if (site.has_effects && !IsThereAtOnce(arg)) begins.push_back(arg.node);
  }
  if (!begins.empty()) {
    ASSIGN_OR_RETURN(const Node* gate,
                     Make(site, "input_control_node",
                          {.op = "NoOp", .controls = std::move(begins)}));
    if (!gates.empty()) site.gate = {gate};
    if (site.has_effects) site.effects_gate = {gate};
  }
  for (const size_t i : others) {
    // Without a gate only a reference needs an Identity, so that its value is
    // read when the call begins and not while the call runs.
    if (site.gate.empty() && !IsRefType(TypeOf(site.args[i]))) continue;
    RETURN_IF_ERROR(hold(i, site.gate).status());
  }
  return absl::OkStatus();
}

absl::Status FunctionExpander::CheckResults(const Site& site,
                                            const FunctionBody& body) {
  if (body.results.size() != site.output_types.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the called function has ", body.results.size(),
        " results, but the node declares ", site.output_types.size()));
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    const DataType type = RemoveRefType(TypeOf(body.results[i]));
    if (type == RemoveRefType(site.output_types[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "result ", i, " of the called function is ", DataTypeName(type),
        ", but the node declares ", DataTypeName(site.output_types[i])));
  }
  return absl::OkStatus();
}

absl::StatusOr<const Node*> FunctionExpander::LeaveSite(const std::string& op,
                                                        const Site& site,
                                                        FunctionBody body) {
  NodeSpec spec{.name = site.name, .device = site.device};
  spec.control_inputs = std::move(body.control_results);
  for (size_t i = 0; i < body.results.size(); ++i) {
    const OutputTensor& result = body.results[i];
    if (TypeOf(result) != DT_RESOURCE) {
      spec.inputs.push_back(result);
      continue;
    }
    const std::string text =
        absl::StrCat("a resource: the output ", TensorName(result));
    ASSIGN_OR_RETURN(
        const Node* stands_for,
        Make(site, absl::StrCat("resource_", i),
             {.op = "Const",
              .attrs = {{"dtype", DT_STRING}, {"value", Tensor::Scalar(text)}},
              .controls = site.gate}));
    spec.inputs.push_back(Value(stands_for));
  }
  spec.op = spec.inputs.empty()       ? "NoOp"
            : spec.inputs.size() == 1 ? "Identity"
                                      : "IdentityN";
  if (spec.inputs.empty()) {
    spec.control_inputs.insert(spec.control_inputs.end(), site.gate.begin(),
                               site.gate.end());
  }
  spec.attrs[std::string(kCallAttr)] = op;
  ASSIGN_OR_RETURN(const Node* node, graph_.AddNode(std::move(spec)));
  SetInControlFlow(node, site.is_in_control_flow);
  for (size_t i = 0; i < body.results.size(); ++i) {
    const OutputTensor& result = body.results[i];
    if (TypeOf(result) != DT_RESOURCE) continue;
    redirects_[{node, static_cast<int>(i)}] = {result, node->id()};
    SetInControlFlow(result.node, site.is_in_control_flow);
  }
  return node;
}

absl::StatusOr<FunctionBody> FunctionExpander::ExpandCall(const std::string& op,
                                                          const Site& site) {
  NameAttrList function;
  if (graph_.registry()->Find(op) != nullptr) {
    ASSIGN_OR_RETURN(function, FunctionAttr(site.attrs, "f"));
  } else {
    function = {op, std::make_shared<const AttrMap>(site.attrs)};
  }
  return Call(site.name, function, site.args, {site.gate, site.effects_gate},
              site);
}

absl::StatusOr<FunctionBody> FunctionExpander::ExpandGradient(
    const Site& site) {
  ASSIGN_OR_RETURN(const NameAttrList function, FunctionAttr(site.attrs, "f"));
  const std::string own(graph_.functions().FindGradient(function.name));
  if (!own.empty()) {
    return Call(site.name, {own, function.attrs}, site.args,
                {site.gate, site.effects_gate}, site);
  }
  const FunctionDef* def = graph_.functions().Find(function.name);
  if (def == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("Function '", function.name, "' is not defined"));
  }
  if (!options_.gradient) {
    return absl::UnimplementedError(absl::StrCat(
        "Function '", function.name, "' has no gradient in the library"));
  }
  const AttrMap none;
  const AttrMap& attrs = function.attrs == nullptr ? none : *function.attrs;
  ASSIGN_OR_RETURN(
      const FunctionPtr gradient,
      options_.gradient(absl::StrCat("SymbolicGradient_", site.name), *def,
                        attrs, graph_));
  RETURN_IF_ERROR(graph_.AddFunctions({gradient}));
  return Call(site.name, {gradient->name(), nullptr}, site.args,
              {site.gate, site.effects_gate}, site);
}

absl::StatusOr<FunctionBody> FunctionExpander::Call(
    const std::string& name, const NameAttrList& function,
    std::vector<OutputTensor> args, const Begin& begin, const Site& site) {
  const FunctionDef* def = graph_.functions().Find(function.name);
  if (def == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("Function '", function.name, "' is not defined"));
  }
  const AttrMap none;
  const AttrMap& attrs = function.attrs == nullptr ? none : *function.attrs;
  if (IsBeingExpanded(function.name) ||
      static_cast<int>(frames_.size()) >= options_.max_depth) {
    return CallAtRunTime(name, *def, attrs, std::move(args), begin, site);
  }
  BodyOptions options{
      .prefix = name, .args = std::move(args), .gate = begin.gate};
  // A node with a resource as input gets no device from the call, so that it is
  // placed with the resource, unless the function requests a device.
  options.device = [this, &site](const NodeSpec& spec) {
    if (spec.device.empty() && KindOf(spec.op, graph_) == Functional::kNone &&
        std::any_of(spec.inputs.begin(), spec.inputs.end(),
                    [](const OutputTensor& input) {
                      return input.node != nullptr && IsHandle(input);
                    })) {
      return std::string();
    }
    return MergedDevice(site.device, spec.device);
  };
  options.add_node = [this, &begin](NodeSpec spec, LoopPlace place) {
    // Nodes inside a loop need no gate, because they run only after the loop's
    // Enters.
    if (place == LoopPlace::kInside) return AddInner(std::move(spec));
    if (RunsRegardless(spec, begin)) spec.control_inputs = begin.gate;
    if (!begin.effects_gate.empty() &&
        (place == LoopPlace::kEnters || HasEffects(spec.op, spec.attrs))) {
      spec.control_inputs.insert(spec.control_inputs.end(),
                                 begin.effects_gate.begin(),
                                 begin.effects_gate.end());
    }
    return AddInner(std::move(spec));
  };
  options.result = [this](const OutputTensor& result) {
    const auto it = redirects_.find(result);
    return it == redirects_.end() ? result : it->second.to;
  };
  frames_.push_back({def->name(), name});
  absl::StatusOr<FunctionBody> body =
      AddFunctionBody(*def, attrs, options, graph_);
  frames_.pop_back();
  if (!body.ok()) return body;
  RETURN_IF_ERROR(CountBytes(
      static_cast<int64_t>(body->results.size() * sizeof(OutputTensor))));
  return body;
}

absl::StatusOr<FunctionBody> FunctionExpander::CallAtRunTime(
    const std::string& name, const FunctionDef& function, const AttrMap& attrs,
    std::vector<OutputTensor> args, const Begin& begin, const Site& site) {
  ASSIGN_OR_RETURN(const FunctionTypes types, TypesOfCall(function, attrs));
  // Functions of old graphs may not declare that they are stateful.
  const bool has_effects =
      function.signature.is_stateful || FunctionHasEffects(function.name());
  NodeSpec spec{
      .name = UniqueName(
          name == site.name ? absl::StrCat(name, "/", NodeName(function.name()))
                            : name),
      .op = has_effects ? "StatefulPartitionedCall" : "PartitionedCall",
      .inputs = std::move(args),
      .control_inputs = begin.gate,
      .attrs = {{"Tin", types.args},
                {"Tout", types.results},
                {"f", NameAttrList{function.name(),
                                   std::make_shared<const AttrMap>(attrs)}}},
      .device = site.device};
  ASSIGN_OR_RETURN(const Node* node, graph_.AddNode(std::move(spec)));
  FunctionBody body;
  for (int i = 0; i < node->num_outputs(); ++i)
    body.results.push_back({node, i});
  if (has_effects) body.control_results = {node};
  return body;
}

// ---- If and Case ----

absl::StatusOr<OutputTensor> FunctionExpander::MakePredicate(
    const Site& site, const std::string& name, const OutputTensor& value) {
  const PartialShape& shape = value.node->output_shape(value.index);
  if (RemoveRefType(TypeOf(value)) == DT_BOOL && shape.has_rank() &&
      shape.rank() == 0) {
    return value;
  }
  ASSIGN_OR_RETURN(const Node* node,
                   Make(site, name, {.op = "ToBool", .inputs = {value}}));
  return Value(node);
}

absl::StatusOr<FunctionBody> FunctionExpander::ExpandIf(const Site& site) {
  ASSIGN_OR_RETURN(const OutputTensor pred,
                   MakePredicate(site, "cond", site.args[0]));
  std::vector<Branch> branches(2);
  branches[0].name = absl::StrCat(site.name, "/else");
  branches[1].name = absl::StrCat(site.name, "/then");
  ASSIGN_OR_RETURN(branches[0].function,
                   FunctionAttr(site.attrs, "else_branch"));
  ASSIGN_OR_RETURN(branches[1].function,
                   FunctionAttr(site.attrs, "then_branch"));
  ASSIGN_OR_RETURN(const Node* switched, Make(site, "switch_pred",
                                              {.op = "Switch",
                                               .inputs = {pred, pred},
                                               .controls = site.effects_gate}));
  const std::string pivots[] = {"pivot_f", "pivot_t"};
  for (int side = 0; side < 2; ++side) {
    ASSIGN_OR_RETURN(branches[side].pivot,
                     Make(site, pivots[side],
                          {.op = "Identity", .inputs = {{switched, side}}}));
  }
  for (size_t i = 1; i < site.args.size(); ++i) {
    ASSIGN_OR_RETURN(const Node* node,
                     Make(site, absl::StrCat("switch_", i - 1),
                          {.op = "Switch", .inputs = {site.args[i], pred}}));
    for (int side = 0; side < 2; ++side) {
      branches[side].args.push_back({node, side});
    }
  }
  return MergeBranches(site, branches);
}

// Expands a Case. Each branch has its own predicate, and exactly one predicate
// is true.
absl::StatusOr<FunctionBody> FunctionExpander::ExpandCase(const Site& site) {
  const auto* functions =
      site.attrs.at("branches").Get<std::vector<NameAttrList>>();
  if (functions == nullptr || functions->empty()) {
    return absl::InvalidArgumentError(
        "attr 'branches' must name at least one function");
  }
  const int last = static_cast<int>(functions->size()) - 1;
  std::vector<Branch> branches(functions->size());
  OutputTensor any;  // whether the index selects an earlier branch
  for (int i = 0; i <= last; ++i) {
    Branch& branch = branches[i];
    branch.name = absl::StrCat(site.name, "/branch", i);
    branch.function = (*functions)[i];
    OutputTensor pred;
    if (i < last) {
      ASSIGN_OR_RETURN(const Node* number,
                       Make(site, absl::StrCat("number_", i),
                            {.op = "Const",
                             .attrs = {{"dtype", DT_INT32},
                                       {"value", Tensor::Scalar<int32_t>(i)}},
                             .controls = site.gate}));
      ASSIGN_OR_RETURN(
          const Node* is_it,
          Make(site, absl::StrCat("is_", i),
               {.op = "Equal", .inputs = {site.args[0], Value(number)}}));
      pred = Value(is_it);
    } else if (last == 0) {
      ASSIGN_OR_RETURN(
          const Node* always,
          Make(site, "always",
               {.op = "Const",
                .attrs = {{"dtype", DT_BOOL}, {"value", Tensor::Scalar(true)}},
                .controls = site.gate}));
      pred = Value(always);
    } else {
      // An index that is out of range selects the last branch.
      ASSIGN_OR_RETURN(const Node* is_other,
                       Make(site, absl::StrCat("is_", i),
                            {.op = "LogicalNot", .inputs = {any}}));
      pred = Value(is_other);
    }
    if (any.node == nullptr) {
      any = pred;
    } else if (i < last) {
      ASSIGN_OR_RETURN(const Node* either,
                       Make(site, absl::StrCat("up_to_", i),
                            {.op = "LogicalOr", .inputs = {any, pred}}));
      any = Value(either);
    }
    ASSIGN_OR_RETURN(const Node* switched,
                     Make(site, absl::StrCat("switch_pred_", i),
                          {.op = "Switch",
                           .inputs = {pred, pred},
                           .controls = site.effects_gate}));
    ASSIGN_OR_RETURN(branch.pivot,
                     Make(site, absl::StrCat("pivot_", i),
                          {.op = "Identity", .inputs = {{switched, 1}}}));
    for (size_t arg = 1; arg < site.args.size(); ++arg) {
      ASSIGN_OR_RETURN(
          const Node* node,
          Make(site, absl::StrCat("switch_", i, "_", arg - 1),
               {.op = "Switch", .inputs = {site.args[arg], pred}}));
      branch.args.push_back({node, 1});
    }
  }
  return MergeBranches(site, branches);
}

absl::StatusOr<FunctionBody> FunctionExpander::MergeBranches(
    const Site& site, std::vector<Branch>& branches) {
  const auto& promised = *site.attrs.at("Tout").Get<DataTypeVector>();
  bool has_effects = false;
  for (Branch& branch : branches) {
    ASSIGN_OR_RETURN(branch.body,
                     Call(branch.name, branch.function, branch.args,
                          BeginAt(branch.pivot, site), site));
    if (branch.body.results.size() != promised.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", branch.name, "' has ", branch.body.results.size(),
                       " results, but attr 'Tout' has ", promised.size()));
    }
    has_effects |= !branch.body.control_results.empty();
  }
  FunctionBody merged;
  for (size_t i = 0; i < promised.size(); ++i) {
    Made merge{.op = "Merge"};
    for (const Branch& branch : branches) {
      merge.inputs.push_back(branch.body.results[i]);
    }
    ASSIGN_OR_RETURN(const Node* node,
                     Make(site, absl::StrCat("merge_", i), std::move(merge)));
    SetInControlFlow(node, site.is_in_control_flow);
    merged.results.push_back(Value(node));
  }
  if (!has_effects && !promised.empty()) return merged;
  Made executed{.op = "Merge"};
  for (const Branch& branch : branches) {
    ASSIGN_OR_RETURN(const Node* done,
                     Make(site,
                          absl::StrCat(branch.name.substr(site.name.size() + 1),
                                       "_executed"),
                          {.op = "Identity",
                           .inputs = {Value(branch.pivot)},
                           .controls = branch.body.control_results}));
    executed.inputs.push_back(Value(done));
  }
  ASSIGN_OR_RETURN(const Node* node,
                   Make(site, "branch_executed", std::move(executed)));
  SetInControlFlow(node, site.is_in_control_flow);
  merged.control_results = {node};
  return merged;
}

// ---- While ----

absl::StatusOr<std::vector<FunctionExpander::LoopVariable>>
FunctionExpander::EnterLoop(const Site& site,
                            const std::vector<bool>& is_invariant) {
  const auto* parallel = site.attrs.at("parallel_iterations").Get<int64_t>();
  std::vector<LoopVariable> loop;
  for (const OutputTensor& arg : site.args) loop.push_back({.initial = arg});
  if (std::all_of(is_invariant.begin(), is_invariant.end(),
                  [](bool invariant) { return invariant; })) {
    // The loop needs at least one variable that is not invariant.
    ASSIGN_OR_RETURN(
        const Node* turn,
        Make(site, "turn",
             {.op = "Const",
              .attrs = {{"dtype", DT_BOOL}, {"value", Tensor::Scalar(true)}},
              .controls = site.gate}));
    loop.push_back({.initial = Value(turn)});
  }
  for (size_t i = 0; i < loop.size(); ++i) {
    const bool invariant = i < is_invariant.size() && is_invariant[i];
    ASSIGN_OR_RETURN(const Node* enter,
                     Make(site, absl::StrCat("enter_", i),
                          {.op = "Enter",
                           .inputs = {loop[i].initial},
                           .attrs = {{"frame_name", site.name},
                                     {"is_constant", invariant},
                                     {"parallel_iterations", *parallel}},
                           .controls = site.effects_gate}));
    loop[i].value = Value(enter);
    if (invariant) continue;
    ASSIGN_OR_RETURN(
        loop[i].merge,
        Make(site, absl::StrCat("merge_", i),
             {.op = "Merge", .inputs = {Value(enter), OutputTensor()}}));
    loop[i].value = Value(loop[i].merge);
  }
  return loop;
}

absl::Status FunctionExpander::CloseLoop(const Site& site,
                                         std::vector<LoopVariable>& loop,
                                         const FunctionBody& turn,
                                         const Node* pivot) {
  FlatHashSet<OutputTensor> invariants;
  for (const LoopVariable& variable : loop) {
    if (variable.merge == nullptr) invariants.insert(variable.value);
  }
  for (size_t i = 0; i < loop.size(); ++i) {
    if (loop[i].merge == nullptr) continue;
    const OutputTensor from =
        i < turn.results.size() ? turn.results[i] : loop[i].in_body;
    std::vector<const Node*> controls = turn.control_results;
    // A value that comes directly from an invariant exists in the last
    // iteration too, but no iteration follows that one. So the NextIteration
    // also waits for the pivot of the body.
    if (invariants.contains(from)) controls.push_back(pivot);
    ASSIGN_OR_RETURN(const Node* node,
                     Make(site, absl::StrCat("next_iteration_", i),
                          {.op = "NextIteration",
                           .inputs = {from},
                           .controls = std::move(controls)}));
    RETURN_IF_ERROR(graph_.SetBackEdge(loop[i].merge, 1, Value(node)));
  }
  return absl::OkStatus();
}

absl::StatusOr<FunctionBody> FunctionExpander::ExpandWhile(const Site& site) {
  ASSIGN_OR_RETURN(const NameAttrList cond, FunctionAttr(site.attrs, "cond"));
  ASSIGN_OR_RETURN(const NameAttrList body, FunctionAttr(site.attrs, "body"));
  const FunctionDef* def = graph_.functions().Find(body.name);
  if (def == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("Function '", body.name, "' is not defined"));
  }
  ASSIGN_OR_RETURN(std::vector<LoopVariable> loop,
                   EnterLoop(site, FindInvariants(*def, site.args.size())));
  const auto first = std::find_if(
      loop.begin(), loop.end(),
      [](const LoopVariable& variable) { return variable.merge != nullptr; });

  std::vector<OutputTensor> args;
  for (size_t i = 0; i < site.args.size(); ++i) args.push_back(loop[i].value);
  ASSIGN_OR_RETURN(const FunctionBody condition,
                   Call(absl::StrCat(site.name, "/cond"), cond, args,
                        BeginAt(first->merge, site), site));
  if (condition.results.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the condition '", cond.name, "' has ",
                     condition.results.size(), " results instead of one"));
  }
  ASSIGN_OR_RETURN(const OutputTensor goes_on,
                   MakePredicate(site, "goes_on", condition.results[0]));
  ASSIGN_OR_RETURN(const Node* loop_cond,
                   Make(site, "LoopCond",
                        {.op = "LoopCond",
                         .inputs = {goes_on},
                         .controls = condition.control_results}));

  const Node* pivot = nullptr;
  for (size_t i = 0; i < loop.size(); ++i) {
    LoopVariable& variable = loop[i];
    variable.in_body = variable.value;
    variable.exit = variable.initial;
    if (variable.merge == nullptr) continue;
    ASSIGN_OR_RETURN(
        const Node* switched,
        Make(site, absl::StrCat("switch_", i),
             {.op = "Switch", .inputs = {variable.value, Value(loop_cond)}}));
    variable.in_body = {switched, 1};
    ASSIGN_OR_RETURN(const Node* exit,
                     Make(site, absl::StrCat("exit_", i),
                          {.op = "Exit", .inputs = {{switched, 0}}}));
    SetInControlFlow(exit, site.is_in_control_flow);
    variable.exit = Value(exit);
    if (pivot != nullptr) continue;
    ASSIGN_OR_RETURN(pivot,
                     Make(site, "loop_body_control",
                          {.op = "Identity", .inputs = {variable.in_body}}));
  }
  args.clear();
  for (size_t i = 0; i < site.args.size(); ++i) args.push_back(loop[i].in_body);
  Begin begin = BeginAt(pivot, site);
  for (const LoopVariable& variable : loop) {
    if (variable.merge == nullptr) begin.always_there.insert(variable.value);
  }
  ASSIGN_OR_RETURN(
      const FunctionBody turn,
      Call(absl::StrCat(site.name, "/body"), body, args, begin, site));
  if (turn.results.size() != site.args.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body '", body.name, "' has ", turn.results.size(),
                     " results for ", site.args.size(), " arguments"));
  }
  RETURN_IF_ERROR(CloseLoop(site, loop, turn, pivot));
  FunctionBody result;
  for (size_t i = 0; i < site.args.size(); ++i) {
    result.results.push_back(loop[i].exit);
  }
  // A loop with side effects has ended when one of its variables leaves the
  // loop.
  const bool has_effects =
      !condition.control_results.empty() || !turn.control_results.empty();
  if (has_effects || result.results.empty()) {
    result.control_results = {first->exit.node};
  }
  return result;
}

// ---- Functions for all kinds of calls ----

FunctionExpander::Begin FunctionExpander::BeginAt(const Node* node,
                                                  const Site& site) {
  Begin begin{.gate = {node}};
  if (site.has_effects) begin.effects_gate = {node};
  return begin;
}

// Returns whether the node would run even if the function around it does not
// begin. A node that calls a function needs one such input only: the call keeps
// all of its inputs, but its expanded nodes may need only that input.
bool FunctionExpander::RunsRegardless(const NodeSpec& spec,
                                      const Begin& begin) const {
  if (begin.always_there.empty() || !spec.control_inputs.empty()) return false;
  const auto is_there = [&begin](const OutputTensor& input) {
    return begin.always_there.contains(input);
  };
  return KindOf(spec.op, graph_) == Functional::kNone
             ? std::all_of(spec.inputs.begin(), spec.inputs.end(), is_there)
             : std::any_of(spec.inputs.begin(), spec.inputs.end(), is_there);
}

bool FunctionExpander::HasEffects(absl::string_view op, const AttrMap& attrs) {
  const OpDef* registered = graph_.registry()->Find(op);
  if (KindOf(op, graph_) == Functional::kNone) {
    return registered != nullptr && registered->is_stateful;
  }
  std::vector<std::string> functions;
  if (registered == nullptr) functions.emplace_back(op);
  for (const auto& [name, value] : attrs) AddFunctionNames(value, functions);
  return std::any_of(functions.begin(), functions.end(),
                     [this](const std::string& function) {
                       return FunctionHasEffects(function);
                     });
}

bool FunctionExpander::FunctionHasEffects(const std::string& function) {
  const auto known = has_effects_.find(function);
  if (known != has_effects_.end()) return known->second;
  // If none of the reached functions has effects, this also holds for every
  // function that they call.
  std::vector<std::string> reached;
  const bool found = ReachesEffects(function, reached);
  if (found) {
    has_effects_.insert_or_assign(std::string(function), true);
  } else {
    for (const std::string& name : reached) {
      has_effects_.insert_or_assign(std::string(name), false);
    }
  }
  return found;
}

bool FunctionExpander::ReachesEffects(const std::string& function,
                                      std::vector<std::string>& reached) const {
  FlatHashSet<std::string> seen = {function};
  reached.push_back(function);
  for (size_t i = 0; i < reached.size(); ++i) {
    const auto known = has_effects_.find(reached[i]);
    if (known != has_effects_.end() && known->second) return true;
    const FunctionDef* body = graph_.functions().Find(reached[i]);
    if (body == nullptr || known != has_effects_.end()) continue;
    std::vector<std::string> called;
    for (const FunctionNode& node : body->nodes) {
      const OpDef* op = graph_.registry()->Find(node.op);
      if (op != nullptr && op->is_stateful &&
          KindOf(node.op, graph_) == Functional::kNone) {
        return true;
      }
      if (op == nullptr) called.push_back(node.op);
      for (const auto& [name, value] : node.attrs) {
        AddFunctionNames(value, called);
      }
    }
    const absl::string_view gradient =
        graph_.functions().FindGradient(reached[i]);
    if (!gradient.empty()) called.emplace_back(gradient);
    for (std::string& name : called) {
      if (seen.insert(name).second) reached.push_back(std::move(name));
    }
  }
  return false;
}

bool FunctionExpander::IsBeingExpanded(absl::string_view function) const {
  return std::any_of(
      frames_.begin(), frames_.end(),
      [function](const Frame& frame) { return frame.function == function; });
}

std::string FunctionExpander::Chain() const {
  if (frames_.empty()) return "its own nodes";
  return absl::StrJoin(frames_, " > ",
                       [](std::string* out, const Frame& frame) {
                         absl::StrAppend(out, "'", frame.call, "' (function '",
                                         frame.function, "')");
                       });
}

absl::StatusOr<const Node*> FunctionExpander::Make(const Site& site,
                                                   const std::string& name,
                                                   Made made) {
  // A node that forwards a resource gets no requested device, so that it is
  // placed with the resource.
  const bool takes_handle = std::any_of(
      made.inputs.begin(), made.inputs.end(), [](const OutputTensor& input) {
        return input.node != nullptr && TypeOf(input) == DT_RESOURCE;
      });
  NodeSpec spec{.name = UniqueName(absl::StrCat(site.name, "/", name)),
                .op = std::move(made.op),
                .inputs = std::move(made.inputs),
                .control_inputs = std::move(made.controls),
                .attrs = std::move(made.attrs),
                .device = takes_handle ? "" : site.device};
  RETURN_IF_ERROR(Count(spec));
  ASSIGN_OR_RETURN(const Node* node, graph_.AddNode(std::move(spec)));
  return node;
}

std::string FunctionExpander::UniqueName(const std::string& name) const {
  const auto is_taken = [this](const std::string& taken) {
    return expected_.contains(taken) || graph_.FindNode(taken) != nullptr;
  };
  if (!is_taken(name)) return name;
  for (int i = 1;; ++i) {
    std::string other = absl::StrCat(name, "_", i);
    if (!is_taken(other)) return other;
  }
}

FunctionExpander::Flow FunctionExpander::FlowOf(const Node* node) {
  for (int id = static_cast<int>(flow_.size()); id < graph_.num_nodes(); ++id) {
    const Node& added = *graph_.node(id);
    if (IsControlFlowOp(added)) {
      flow_.push_back(IsConstantEnter(added) ? Flow::kInvariant : Flow::kIn);
      continue;
    }
    Flow most = Flow::kNone;
    const auto follow = [&](const Node* from) {
      if (from != nullptr) most = std::max(most, flow_[from->id()]);
    };
    for (const OutputTensor& input : added.inputs()) follow(input.node);
    for (const Node* control : added.control_inputs()) follow(control);
    flow_.push_back(most);
  }
  return flow_[node->id()];
}

void FunctionExpander::SetInControlFlow(const Node* node, bool is_in) {
  FlowOf(node);
  flow_[node->id()] = is_in ? Flow::kIn : Flow::kNone;
}

}  // namespace weft
