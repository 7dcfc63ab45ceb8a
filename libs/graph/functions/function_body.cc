#include "libs/graph/functions/function_body.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/graph/functions/function_loops.h"
#include "libs/graph/functions/function_state.h"
#include "libs/graph/node_signature.h"
#include "libs/graph/unknown_op.h"
#include "libs/graph/version_rules.h"

namespace weft {
namespace {

constexpr absl::string_view kColocation = "loc:@";
// The maximum number of tensors of one call, far above any real call. It limits
// the memory that a hostile attr can request.
constexpr int64_t kMaxTensors = 1 << 20;
// The maximum size of the attrs of one node, far above any real node. It is
// needed because the attrs that a node takes from its call may be copied many
// times.
constexpr int64_t kMaxAttrBytes = 64 << 20;

// AttrBytes adds up the sizes of attrs, and returns an error beyond
// kMaxAttrBytes.
class AttrBytes {
 public:
  absl::Status Add(const AttrValue& value) {
    bytes_ += value.NumBytes(kMaxAttrBytes);
    if (bytes_ <= kMaxAttrBytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("attrs come to more than ", kMaxAttrBytes,
                     " bytes, or functions in attrs are nested too deeply"));
  }

 private:
  int64_t bytes_ = 0;
};

absl::Status TooManyTensors(absl::string_view what) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " come to more than ", kMaxTensors, " tensors"));
}

bool IsHandle(DataType type) { return IsRefType(type) || type == DT_RESOURCE; }

bool IsMergeOp(absl::string_view op) {
  return op == "Merge" || op == "RefMerge";
}

absl::StatusOr<NameAttrList> Replace(const NameAttrList& function,
                                     const AttrMap& attrs) {
  if (function.attrs == nullptr) return function;
  auto replaced = std::make_shared<AttrMap>();
  AttrBytes bytes;
  for (const auto& [name, value] : *function.attrs) {
    ASSIGN_OR_RETURN(AttrValue by, ReplacePlaceholders(value, attrs));
    RETURN_IF_ERROR(bytes.Add(by));
    if (!by.IsSet() && value.IsSet()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attr '", name, "' of function '", function.name, "' is ",
          value.ToString(), ", and the call sets no such attr"));
    }
    (*replaced)[name] = std::move(by);
  }
  return NameAttrList{function.name, std::move(replaced)};
}

// Returns the number of tensors of the argument. The attr with that number is
// checked, because it may come from an untrusted graph.
absl::StatusOr<int> CheckedLength(const ArgDef& arg, const AttrMap& attrs) {
  if (!arg.number_attr.empty()) {
    const auto it = attrs.find(arg.number_attr);
    const int64_t* n = it == attrs.end() ? nullptr : it->second.Get<int64_t>();
    if (n == nullptr || *n < 0 || *n > kMaxTensors) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attr '", arg.number_attr, "' is not a valid number of tensors"));
    }
  }
  return ArgLength(arg, attrs);
}

absl::StatusOr<DataType> TypeOfArg(const ArgDef& arg, const AttrMap& attrs,
                                   int i) {
  DataType type = arg.type;
  const auto find = [&attrs](const std::string& name) -> const AttrValue* {
    const auto it = attrs.find(name);
    return it == attrs.end() ? nullptr : &it->second;
  };
  if (!arg.type_list_attr.empty()) {
    type = (*find(arg.type_list_attr)->Get<std::vector<DataType>>())[i];
  } else if (!arg.type_attr.empty()) {
    const AttrValue* value = find(arg.type_attr);
    const auto* given = value == nullptr ? nullptr : value->Get<DataType>();
    if (given == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("attr '", arg.type_attr, "' is not a type"));
    }
    type = *given;
  }
  return arg.is_ref ? MakeRefType(type) : type;
}

absl::StatusOr<DataTypeVector> TypesOf(const std::vector<ArgDef>& args,
                                       const AttrMap& attrs) {
  DataTypeVector types;
  for (const ArgDef& arg : args) {
    ASSIGN_OR_RETURN(const int length, CheckedLength(arg, attrs));
    if (static_cast<int64_t>(types.size()) + length > kMaxTensors) {
      return TooManyTensors("its arguments or results");
    }
    for (int i = 0; i < length; ++i) {
      ASSIGN_OR_RETURN(const DataType type, TypeOfArg(arg, attrs, i));
      types.push_back(type);
    }
  }
  return types;
}

// Reference is a parsed input such as "name:a:1".
struct Reference {
  std::string node;
  std::string arg;  // empty: `node` names an argument
  int index = -1;   // -1: all tensors
  bool is_control = false;
};

absl::StatusOr<Reference> ParseReference(absl::string_view text) {
  Reference result;
  absl::string_view rest = text;
  result.is_control = absl::ConsumePrefix(&rest, "^");
  const size_t first = rest.find(':');
  result.node = std::string(rest.substr(0, first));
  if (first == absl::string_view::npos) return result;
  rest = rest.substr(first + 1);
  const size_t second = rest.find(':');
  absl::string_view number = rest;
  if (second != absl::string_view::npos) {
    result.arg = std::string(rest.substr(0, second));
    number = rest.substr(second + 1);
  }
  if (absl::SimpleAtoi(number, &result.index) && result.index >= 0) {
    return result;
  }
  if (second != absl::string_view::npos || result.is_control) {
    return absl::InvalidArgumentError(
        absl::StrCat("Malformed input '", text, "'"));
  }
  result.arg = std::string(number);
  result.index = -1;
  return result;
}

// Instantiation adds the body of a function for one call.
class Instantiation {
 public:
  Instantiation(const FunctionDef& function, const BodyOptions& options,
                Graph& graph)
      : function_(function),
        options_(options),
        graph_(graph),
        loops_(function) {}

  absl::StatusOr<FunctionBody> Add(const AttrMap& attrs) {
    ASSIGN_OR_RETURN(attrs_, CompleteCallAttrs(function_, attrs));
    RETURN_IF_ERROR(BindArgs());
    for (const FunctionNode& node : function_.nodes) {
      if (absl::Status added = AddNode(node); !added.ok()) {
        return Annotate(added, absl::StrCat("node '", node.name, "'"));
      }
    }
    is_inside_ = true;
    RETURN_IF_ERROR(CloseLoops());
    is_inside_ = false;
    return Results();
  }

 private:
  struct Added {
    const FunctionNode* def = nullptr;
    const Node* node = nullptr;
    // Set for a constant that nodes inside loops consume: `node` is then a copy
    // without control inputs, for the nodes in loops, and `gated` is a copy
    // with control inputs from the gate, for all other nodes.
    const Node* gated = nullptr;
    // The op of the function's node; null if the op is unknown.
    const OpDef* op = nullptr;
    AttrMap attrs;  // of the function's node, placeholders replaced
  };
  struct BackEdge {
    const Node* merge;
    int input;
    std::string from;
  };

  absl::Status BindArgs() {
    ASSIGN_OR_RETURN(const DataTypeVector types,
                     TypesOf(function_.signature.inputs, attrs_));
    if (types.size() != options_.args.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the function takes ", types.size(), " arguments, but ",
                       options_.args.size(), " were given"));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const OutputTensor& arg = options_.args[i];
      const DataType given = arg.node->output_type(arg.index);
      if (given == types[i] || RemoveRefType(given) == types[i] ||
          IsOfUnknown(arg)) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "argument ", i, " is ", DataTypeName(types[i]), ", but '",
          TensorName(arg), "' is ", DataTypeName(given)));
    }
    size_t next = 0;
    for (const ArgDef& arg : function_.signature.inputs) {
      const int length = ArgLength(arg, attrs_);
      auto& bound = args_[arg.name];
      for (int i = 0; i < length; ++i) bound.push_back(options_.args[next++]);
    }
    return absl::OkStatus();
  }

  std::string Prefixed(absl::string_view name) const {
    return options_.prefix.empty() ? std::string(name)
                                   : absl::StrCat(options_.prefix, "/", name);
  }

  absl::StatusOr<AttrMap> AttrsOf(const FunctionNode& node) const {
    AttrMap attrs;
    AttrBytes bytes;
    for (const auto& [name, value] : node.attrs) {
      ASSIGN_OR_RETURN(AttrValue by, ReplacePlaceholders(value, attrs_));
      RETURN_IF_ERROR(bytes.Add(by));
      if (by.IsSet()) attrs[name] = std::move(by);
    }
    return attrs;
  }

  absl::Status AddNode(const FunctionNode& node) {
    // An op that starts with "_" is refused only if it is registered, because
    // names of functions may also begin with "_".
    if (absl::StartsWith(node.op, "_") &&
        graph_.registry()->Find(node.op) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("the op ", node.op, " is created when graphs are ",
                       "partitioned, and must not be in a function"));
    }
    if (node.op.empty())
      return absl::InvalidArgumentError("the node has no op");
    const OpDef* op = graph_.FindOp(node.op);
    ASSIGN_OR_RETURN(AttrMap attrs, AttrsOf(node));
    NodeSpec spec{.name = Prefixed(node.name),
                  .op = node.op,
                  .attrs = attrs,
                  .device = node.device};
    PrefixNames(spec);
    std::vector<BackEdge> back_edges;
    is_inside_ = loops_.IsInside(node.name);
    RETURN_IF_ERROR(AddInputs(node, spec, back_edges));
    if (options_.device) spec.device = options_.device(spec);
    TakeUnknownMark(spec);  // a function must not contain the mark
    RETURN_IF_ERROR(ApplyVersion(spec));
    RETURN_IF_ERROR(MarkIfUnknown(node, op, spec));
    Added added{.def = &node, .op = op, .attrs = std::move(attrs)};
    RETURN_IF_ERROR(AddGated(std::move(spec), added));
    for (BackEdge& edge : back_edges) {
      edge.merge = added.node;
      back_edges_.push_back(std::move(edge));
    }
    if (added_.emplace(node.name, std::move(added)).second) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        "the function has two nodes with this name");
  }

  // Returns whether the version of the graph applies to the function. It
  // applies to all functions that were imported with the graph.
  bool HasVersion() const {
    return graph_.producer() > 0 && !IsBuiltHere(function_);
  }

  absl::Status ApplyVersion(NodeSpec& spec) const {
    return HasVersion() ? AdaptToVersion(graph_.producer(), spec)
                        : absl::OkStatus();
  }

  absl::Status MarkIfUnknown(const FunctionNode& node, const OpDef* op,
                             NodeSpec& spec) {
    if (op == nullptr) return MarkUnknownNode(node, spec);
    const bool is_removed =
        HasVersion() &&
        !CheckNotRemoved(graph_.producer(), spec.name, spec.op).ok();
    if (is_removed ||
        !UndefinedFunctions(graph_.functions(), spec.attrs).empty()) {
      MarkNotRunnable(spec);
    }
    return absl::OkStatus();
  }

  absl::Status MarkUnknownNode(const FunctionNode& node, NodeSpec& spec) {
    ASSIGN_OR_RETURN(const std::vector<std::string>* outputs,
                     OutputsOfUnknown(node.name));
    MarkUnknown(static_cast<int>(outputs->size()), spec);
    return absl::OkStatus();
  }

  // Returns the names of the outputs of a node whose op is unknown. The node
  // gets one output for each name that the function mentions, in the order of
  // their first mention.
  absl::StatusOr<const std::vector<std::string>*> OutputsOfUnknown(
      const std::string& node) {
    if (!has_mentioned_) RETURN_IF_ERROR(FindMentioned());
    has_mentioned_ = true;
    const std::vector<std::string>& outputs = mentioned_[node];
    if (outputs.size() <= kMaxUnknownOutputs) return &outputs;
    return TooManyTensors("its outputs");
  }

  absl::Status FindMentioned() {
    FlatHashSet<std::string> unknown;
    for (const FunctionNode& node : function_.nodes) {
      if (graph_.FindOp(node.op) == nullptr) unknown.insert(node.name);
    }
    FlatHashSet<std::string> seen;
    const auto mention = [&](const std::string& text) -> absl::Status {
      ASSIGN_OR_RETURN(const Reference from, ParseReference(text));
      if (from.is_control || !unknown.contains(from.node)) {
        return absl::OkStatus();
      }
      std::string output = NameOfOutput(from);
      if (seen.insert(absl::StrCat(from.node, ":", output)).second) {
        mentioned_[from.node].push_back(std::move(output));
      }
      return absl::OkStatus();
    };
    for (const FunctionNode& node : function_.nodes) {
      for (const std::string& text : node.inputs)
        RETURN_IF_ERROR(mention(text));
    }
    for (const std::string& text : function_.results) {
      RETURN_IF_ERROR(mention(text));
    }
    return absl::OkStatus();
  }

  static std::string NameOfOutput(const Reference& from) {
    return absl::StrCat(from.arg, ":", std::max(from.index, 0));
  }

  absl::Status AddGated(NodeSpec spec, Added& added) {
    const std::string& name = added.def->name;
    LoopPlace place =
        loops_.IsOuterEnter(name) ? LoopPlace::kEnters : LoopPlace::kOutside;
    if (is_inside_) place = LoopPlace::kInside;
    if (spec.inputs.empty() && spec.control_inputs.empty()) {
      NodeSpec free = spec;
      spec.control_inputs = options_.gate;
      if (!options_.gate.empty() && loops_.IsConstantOfLoop(name)) {
        ASSIGN_OR_RETURN(added.gated, AddTo(std::move(spec), place));
        free.name = absl::StrCat(free.name, "/in_loops");
        spec = std::move(free);
        place = LoopPlace::kInside;
      }
    }
    ASSIGN_OR_RETURN(added.node, AddTo(std::move(spec), place));
    return absl::OkStatus();
  }

  // Returns the copy of the node that the current consumer takes: the one
  // without a gate inside a loop, else the gated copy.
  const Node* NodeOf(const Added& added) const {
    return added.gated == nullptr || is_inside_ ? added.node : added.gated;
  }

  absl::StatusOr<const Node*> AddTo(NodeSpec spec, LoopPlace place) {
    if (options_.add_node) return options_.add_node(std::move(spec), place);
    ASSIGN_OR_RETURN(const Node* node, graph_.AddNode(std::move(spec)));
    return node;
  }

  // Prefixes the names of loops and colocation groups in the attrs, because
  // each call has its own.
  void PrefixNames(NodeSpec& spec) const {
    const auto frame = spec.attrs.find("frame_name");
    if (frame != spec.attrs.end()) {
      if (const auto* name = frame->second.Get<std::string>()) {
        frame->second = Prefixed(*name);
      }
    }
    const auto it = spec.attrs.find("_class");
    if (it == spec.attrs.end()) return;
    const auto* classes = it->second.Get<std::vector<std::string>>();
    if (classes == nullptr) return;
    std::vector<std::string> renamed;
    for (const std::string& text : *classes) renamed.push_back(Renamed(text));
    it->second = std::move(renamed);
  }

  // Returns an entry of attr _class with its node renamed. If the entry names a
  // group instead of a node of the function, it is returned unchanged.
  std::string Renamed(const std::string& text) const {
    absl::string_view name = text;
    if (!absl::ConsumePrefix(&name, kColocation)) return text;
    const auto arg = args_.find(name);
    if (arg == args_.end()) {
      return IsNode(name) ? absl::StrCat(kColocation, Prefixed(name)) : text;
    }
    for (const OutputTensor& tensor : arg->second) {
      if (!IsHandle(tensor.node->output_type(tensor.index))) continue;
      return absl::StrCat(kColocation, tensor.node->name());
    }
    // An argument that is not a resource may be placed elsewhere than its
    // consumers, so the nodes are not colocated with its producer.
    return absl::StrCat(kColocation, Prefixed(name));
  }

  absl::Status AddInputs(const FunctionNode& node, NodeSpec& spec,
                         std::vector<BackEdge>& back_edges) {
    for (const std::string& text : node.inputs) {
      ASSIGN_OR_RETURN(const Reference from, ParseReference(text));
      if (from.is_control) {
        RETURN_IF_ERROR(AddControl(from.node, spec));
        continue;
      }
      if (!spec.control_inputs.empty()) {
        return absl::InvalidArgumentError(
            "Control dependencies must come after regular dependencies");
      }
      if (IsMergeOp(node.op) && IsLater(from.node)) {
        back_edges.push_back(
            {nullptr, static_cast<int>(spec.inputs.size()), text});
        spec.inputs.emplace_back();
        continue;
      }
      ASSIGN_OR_RETURN(const std::vector<OutputTensor> tensors, Find(from));
      if (spec.inputs.size() + tensors.size() > kMaxTensors) {
        return TooManyTensors("its inputs");
      }
      spec.inputs.insert(spec.inputs.end(), tensors.begin(), tensors.end());
    }
    return absl::OkStatus();
  }

  // Returns whether `name` is a node of the body, even if it was not added yet.
  bool IsNode(absl::string_view name) const {
    if (names_.empty()) {
      for (const FunctionNode& node : function_.nodes) {
        names_.insert(node.name);
      }
    }
    return names_.contains(name);
  }
  bool IsLater(const std::string& name) const {
    return !args_.contains(name) && !added_.contains(name) && IsNode(name);
  }

  // Adds a control input from a node or an argument. An argument may come from
  // a Switch, which runs on both branches, so with a gate the nodes of the gate
  // replace it: they run only if the call does.
  absl::Status AddControl(const std::string& name, NodeSpec& spec) const {
    const auto arg = args_.find(name);
    if (arg != args_.end()) {
      for (const Node* gate : options_.gate) {
        spec.control_inputs.push_back(gate);
      }
      if (!options_.gate.empty()) return absl::OkStatus();
      for (const OutputTensor& tensor : arg->second) {
        spec.control_inputs.push_back(tensor.node);
      }
      return absl::OkStatus();
    }
    const auto it = added_.find(name);
    if (it == added_.end()) return Unknown(absl::StrCat("^", name));
    spec.control_inputs.push_back(NodeOf(it->second));
    return absl::OkStatus();
  }

  static absl::Status Unknown(absl::string_view text) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", text, "' is not found"));
  }

  absl::StatusOr<std::vector<OutputTensor>> Find(const Reference& from) {
    const auto arg = args_.find(from.node);
    std::vector<OutputTensor> all;
    if (arg != args_.end() && from.arg.empty()) {
      all = arg->second;
    } else {
      const auto it = added_.find(from.node);
      if (it == added_.end()) {
        return Unknown(absl::StrCat(from.node, ":", from.arg));
      }
      if (it->second.op == nullptr) return OutputOfUnknown(from, it->second);
      ASSIGN_OR_RETURN(all, OutputsOf(it->second, from.arg));
    }
    if (from.index < 0) return all;
    if (from.index >= static_cast<int>(all.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", from.node, ":", from.arg, ":", from.index,
                       "': there are only ", all.size()));
    }
    return std::vector<OutputTensor>{all[from.index]};
  }

  absl::StatusOr<std::vector<OutputTensor>> OutputOfUnknown(
      const Reference& from, const Added& added) {
    ASSIGN_OR_RETURN(const std::vector<std::string>* outputs,
                     OutputsOfUnknown(from.node));
    const auto it = absl::c_find(*outputs, NameOfOutput(from));
    if (it == outputs->end()) return Unknown(from.node);
    const int index = static_cast<int>(it - outputs->begin());
    return std::vector<OutputTensor>{{NodeOf(added), index}};
  }

  // Returns the outputs that belong to output argument `arg`, or all outputs if
  // `arg` is empty.
  absl::StatusOr<std::vector<OutputTensor>> OutputsOf(
      const Added& from, const std::string& arg) const {
    std::vector<OutputTensor> outputs;
    int next = 0;
    for (const ArgDef& output : from.op->outputs) {
      ASSIGN_OR_RETURN(const int length, LengthOf(output, from));
      if (arg.empty() || output.name == arg) {
        for (int i = 0; i < length; ++i) {
          outputs.push_back({NodeOf(from), next + i});
        }
      }
      next += length;
    }
    if (next == from.node->num_outputs() &&
        (!outputs.empty() || HasOutput(*from.op, arg))) {
      return outputs;
    }
    return Unknown(absl::StrCat(from.def->name, ":", arg));
  }

  static bool HasOutput(const OpDef& op, const std::string& arg) {
    return std::any_of(
        op.outputs.begin(), op.outputs.end(),
        [&arg](const ArgDef& output) { return output.name == arg; });
  }

  // Returns the number of tensors of an output argument. The number may follow
  // from a node's inputs, in which case the function may not contain the attr.
  static absl::StatusOr<int> LengthOf(const ArgDef& arg, const Added& from) {
    if (arg.number_attr.empty() && arg.type_list_attr.empty()) return 1;
    const std::string& attr =
        arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
    if (from.attrs.contains(attr)) return CheckedLength(arg, from.attrs);
    if (&from.node->op() == from.op || IsUnknown(*from.node)) {
      return CheckedLength(arg, from.node->attrs());
    }
    const AttrDef* def = from.op->FindAttr(attr);
    if (def == nullptr || !def->default_value) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", from.def->name, "' has no attr '", attr, "'"));
    }
    return CheckedLength(arg, {{attr, *def->default_value}});
  }

  absl::Status CloseLoops() {
    for (const BackEdge& edge : back_edges_) {
      ASSIGN_OR_RETURN(const Reference from, ParseReference(edge.from));
      ASSIGN_OR_RETURN(const std::vector<OutputTensor> tensors, Find(from));
      if (tensors.size() != 1) return Unknown(edge.from);
      RETURN_IF_ERROR(graph_.SetBackEdge(edge.merge, edge.input, tensors[0]));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<FunctionBody> Results() {
    FunctionBody body;
    ASSIGN_OR_RETURN(const DataTypeVector types,
                     TypesOf(function_.signature.outputs, attrs_));
    for (const std::string& text : function_.results) {
      ASSIGN_OR_RETURN(const Reference from, ParseReference(text));
      ASSIGN_OR_RETURN(const std::vector<OutputTensor> tensors, Find(from));
      if (body.results.size() + tensors.size() > kMaxTensors) {
        return TooManyTensors("its results");
      }
      body.results.insert(body.results.end(), tensors.begin(), tensors.end());
    }
    if (options_.result != nullptr) {
      for (OutputTensor& result : body.results) {
        result = options_.result(result);
      }
    }
    RETURN_IF_ERROR(CheckResults(types, body.results));
    RETURN_IF_ERROR(GiveTypes(types, body.results));
    RETURN_IF_ERROR(AddControlResults(body));
    return body;
  }

  static absl::Status CheckResults(const DataTypeVector& types,
                                   const std::vector<OutputTensor>& results) {
    if (types.size() != results.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the signature has ", types.size(),
                       " results, but the body has ", results.size()));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const DataType made = results[i].node->output_type(results[i].index);
      if (made == types[i] || RemoveRefType(made) == types[i] ||
          IsOfUnknown(results[i])) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "result ", i, " is ", DataTypeName(made),
          ", but its type in the signature is ", DataTypeName(types[i])));
    }
    return absl::OkStatus();
  }

  // Sets the types of results that are outputs of unknown nodes, as the
  // signature gives them.
  absl::Status GiveTypes(const DataTypeVector& types,
                         std::vector<OutputTensor>& results) {
    for (size_t i = 0; i < types.size(); ++i) {
      OutputTensor& result = results[i];
      if (!IsOfUnknown(result)) continue;
      NodeSpec spec{.name = absl::StrCat(result.node->name(), "/result_", i),
                    .op = "Identity",
                    .inputs = {result},
                    .attrs = {{"T", RemoveRefType(types[i])}}};
      ASSIGN_OR_RETURN(const Node* typed,
                       AddTo(std::move(spec), LoopPlace::kOutside));
      result = {typed, 0};
    }
    return absl::OkStatus();
  }

  absl::Status AddControlResults(FunctionBody& body) const {
    if (function_.has_control_results) {
      for (const std::string& name : function_.control_results) {
        const auto it = added_.find(name);
        if (it == added_.end()) return Unknown(absl::StrCat("^", name));
        AddControlResult(it->second, body);
      }
      return absl::OkStatus();
    }
    for (const FunctionNode& node : function_.nodes) {
      const Added& added = added_.at(node.name);
      // The op of an unknown node may be stateless. As a control result, the
      // node would make all calls fail, so it is left out.
      if (added.op != nullptr && added.op->is_stateful) {
        AddControlResult(added, body);
      }
    }
    return absl::OkStatus();
  }

  // Adds a node that must run in each call to the control results. A node
  // inside a loop is replaced by the Exits of the loop, because its consumers
  // make it run until the loop ends. HoldState has added the consumers that
  // this needs.
  void AddControlResult(const Added& added, FunctionBody& body) const {
    const std::vector<std::string>& exits = loops_.ExitsAround(added.def->name);
    if (exits.empty()) {
      body.control_results.push_back(NodeOf(added));
      return;
    }
    for (const std::string& exit : exits) {
      const Node* node = added_.at(exit).node;
      if (absl::c_linear_search(body.control_results, node)) continue;
      body.control_results.push_back(node);
    }
  }

  const FunctionDef& function_;
  const BodyOptions& options_;
  Graph& graph_;
  const FunctionLoops loops_;
  bool is_inside_ = false;  // whether the current consumer is inside a loop
  AttrMap attrs_;
  FlatHashMap<std::string, std::vector<OutputTensor>> args_;
  FlatHashMap<std::string, Added> added_;
  std::vector<BackEdge> back_edges_;
  // The outputs that the function mentions, by the name of the unknown node.
  // Computed when the first unknown node is added.
  FlatHashMap<std::string, std::vector<std::string>> mentioned_;
  bool has_mentioned_ = false;
  mutable FlatHashSet<absl::string_view> names_;
};

}  // namespace

absl::StatusOr<AttrValue> ReplacePlaceholders(const AttrValue& value,
                                              const AttrMap& attrs) {
  if (const auto* placeholder = value.Get<AttrPlaceholder>()) {
    const auto it = attrs.find(placeholder->name);
    return it == attrs.end() ? AttrValue() : it->second;
  }
  if (const auto* function = value.Get<NameAttrList>()) {
    ASSIGN_OR_RETURN(NameAttrList replaced, Replace(*function, attrs));
    return AttrValue(std::move(replaced));
  }
  if (const auto* list = value.Get<std::vector<NameAttrList>>()) {
    std::vector<NameAttrList> replaced;
    for (const NameAttrList& function : *list) {
      ASSIGN_OR_RETURN(NameAttrList one, Replace(function, attrs));
      replaced.push_back(std::move(one));
    }
    return AttrValue(std::move(replaced));
  }
  return value;
}

absl::StatusOr<AttrMap> CompleteCallAttrs(const FunctionDef& function,
                                          const AttrMap& attrs) {
  AttrMap result = attrs;
  for (const AttrDef& def : function.signature.attrs) {
    const auto it = result.find(def.name);
    if (it != result.end() && it->second.IsSet()) continue;
    if (!def.default_value) {
      return absl::InvalidArgumentError(
          absl::StrCat("Attr '", def.name, "' is not found"));
    }
    result[def.name] = *def.default_value;
  }
  return result;
}

absl::string_view NodeOfInput(absl::string_view input) {
  absl::ConsumePrefix(&input, "^");
  return input.substr(0, input.find(':'));
}

absl::StatusOr<FunctionTypes> TypesOfCall(const FunctionDef& function,
                                          const AttrMap& attrs) {
  const auto types = [&]() -> absl::StatusOr<FunctionTypes> {
    ASSIGN_OR_RETURN(const AttrMap complete,
                     CompleteCallAttrs(function, attrs));
    FunctionTypes result;
    ASSIGN_OR_RETURN(result.args, TypesOf(function.signature.inputs, complete));
    ASSIGN_OR_RETURN(result.results,
                     TypesOf(function.signature.outputs, complete));
    return result;
  }();
  if (types.ok()) return types;
  return Annotate(types.status(),
                  absl::StrCat("Function '", function.name(), "'"));
}

absl::StatusOr<FunctionBody> AddFunctionBody(const FunctionDef& function,
                                             const AttrMap& attrs,
                                             const BodyOptions& options,
                                             Graph& graph) {
  const auto add = [&]() -> absl::StatusOr<FunctionBody> {
    const auto is_stateful = [&graph](const FunctionNode& node) {
      const OpDef* op = graph.FindOp(node.op);
      return op != nullptr && op->is_stateful;
    };
    ASSIGN_OR_RETURN(const std::optional<FunctionDef> held,
                     HoldState(function, is_stateful));
    return Instantiation(held ? *held : function, options, graph).Add(attrs);
  };
  absl::StatusOr<FunctionBody> body = add();
  if (body.ok()) return body;
  return Annotate(body.status(),
                  absl::StrCat("Function '", function.name(), "'"));
}

}  // namespace weft
