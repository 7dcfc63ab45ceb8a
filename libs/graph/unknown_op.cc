#include "libs/graph/unknown_op.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/shorten.h"
#include "libs/base/status.h"
#include "libs/graph/node_signature.h"
#include "libs/graph/version_rules.h"

namespace weft {
namespace {

// The attr that marks the spec of an unknown node. AddNode removes it again, so
// neither nodes nor exported graphs have it.
constexpr absl::string_view kMark = "_weft_unknown_outputs";
constexpr size_t kMaxText = 2000;
constexpr size_t kMaxName = 100;

// The value of the mark for a node that has the outputs of its op.
constexpr int64_t kOutputsOfOp = -1;

// Maps each op or function to the nodes that need it.
using NodesByName = std::map<std::string, std::vector<const Node*>>;

std::string Entry(const std::string& name,
                  const std::vector<const Node*>& nodes) {
  std::string text = absl::StrCat("'", ShortenText(name, kMaxName), "' (node '",
                                  ShortenText(nodes[0]->name(), kMaxName), "'");
  if (nodes.size() > 1) {
    absl::StrAppend(&text, " and ", nodes.size() - 1, " more");
  }
  return text + ")";
}

// Formats "WHAT 'a' (node 'x'), 'b' (node 'y') and 3 more KIND", in at most
// `max` bytes.
std::string ListMissing(absl::string_view what, absl::string_view kind,
                        const NodesByName& entries, size_t max) {
  std::string text = absl::StrCat(what, " ");
  size_t named = 0;
  for (const auto& [name, nodes] : entries) {
    const std::string entry = Entry(name, nodes);
    if (text.size() + entry.size() > max - kMaxName) break;
    absl::StrAppend(&text, named++ == 0 ? "" : ", ", entry);
  }
  if (named < entries.size()) {
    absl::StrAppend(&text, " and ", entries.size() - named, " more ", kind);
  }
  return text;
}

// Returns the error that lists all missing ops and functions. REQUIRES: `ops`
// or `functions` is not empty.
absl::Status Missing(const NodesByName& ops, const NodesByName& functions) {
  const size_t max = ops.empty() || functions.empty() ? kMaxText : kMaxText / 2;
  std::vector<std::string> parts;
  if (!ops.empty()) {
    parts.push_back(ListMissing("Op type not registered", "ops", ops, max));
  }
  if (!functions.empty()) {
    parts.push_back(
        ListMissing("Function not defined", "functions", functions, max));
  }
  return absl::NotFoundError(absl::StrJoin(parts, "; "));
}

// Returns the error of an unknown node whose op is known. REQUIRES: the
// functions of the node are defined.
absl::Status NotRunnable(const Graph& graph, const Node& node) {
  RETURN_IF_ERROR(CheckNotRemoved(graph.producer(), node.name(), node.type()));
  return absl::FailedPreconditionError(absl::StrCat(
      "Node '", ShortenText(node.name(), kMaxName), "' (op: '", node.type(),
      "') was added before the functions that it calls; add the node again, or "
      "import it together with them"));
}

absl::Status NoReference(const OpDef& op, const Node& node) {
  const absl::Status why =
      CheckReferences(op, node.name(), node.attrs(), node.inputs());
  const absl::Status status =
      why.ok() ? absl::InvalidArgumentError(absl::StrCat(
                     "Node '", node.name(), "' (op: '", node.type(),
                     "') was imported without the reference that it needs"))
               : why;
  return absl::Status(status.code(), ShortenText(status.message(), kMaxText));
}

// Returns the type of the i-th tensor of an argument that takes references;
// DT_INVALID if the attrs do not determine it.
DataType ExpectedType(const ArgDef& arg, const AttrMap& attrs, int i) {
  if (arg.type != DT_INVALID) return MakeRefType(arg.type);
  const auto attr = attrs.find(arg.type_list_attr.empty() ? arg.type_attr
                                                          : arg.type_list_attr);
  if (attr == attrs.end()) return DT_INVALID;
  if (const auto* type = attr->second.Get<DataType>())
    return MakeRefType(*type);
  const auto* types = attr->second.Get<DataTypeVector>();
  return types == nullptr || i >= static_cast<int>(types->size())
             ? DT_INVALID
             : MakeRefType((*types)[i]);
}

}  // namespace

bool IsUnknown(const Node& node) { return node.op().shape_fn == nullptr; }

bool HasGuessedOutputs(const Node& node) {
  return IsUnknown(node) && node.op().inputs.empty() &&
         node.op().outputs.empty();
}

bool IsOfUnknown(const OutputTensor& input) {
  return input.node != nullptr && HasGuessedOutputs(*input.node);
}

void MarkUnknown(int num_outputs, NodeSpec& spec) {
  spec.attrs[std::string(kMark)] = int64_t{num_outputs};
}

void MarkNotRunnable(NodeSpec& spec) {
  spec.attrs[std::string(kMark)] = kOutputsOfOp;
}

void MarkAs(const Node& unknown, NodeSpec& copy) {
  if (HasGuessedOutputs(unknown)) {
    MarkUnknown(unknown.num_outputs(), copy);
  } else {
    MarkNotRunnable(copy);
  }
}

bool IsMarkedUnknown(const NodeSpec& spec) {
  return spec.attrs.contains(kMark);
}

std::optional<UnknownMark> TakeUnknownMark(NodeSpec& spec) {
  const auto mark = spec.attrs.find(kMark);
  if (mark == spec.attrs.end()) return std::nullopt;
  const int64_t* outputs = mark->second.Get<int64_t>();
  const int64_t count = outputs == nullptr ? 0 : *outputs;
  spec.attrs.erase(mark);
  if (count == kOutputsOfOp) return UnknownMark();
  return UnknownMark{static_cast<int>(
      std::clamp<int64_t>(count, 0, int64_t{kMaxUnknownOutputs}))};
}

std::shared_ptr<const OpDef> MakeUnknownOp(absl::string_view name) {
  // The effects of an unknown op are unknown. It counts as stateful, so that no
  // pass removes, moves or repeats its node.
  return std::make_shared<const OpDef>(
      OpDef{.name = std::string(name), .is_stateful = true});
}

std::shared_ptr<const OpDef> MakeUnknownOp(const OpDef& known) {
  auto op = std::make_shared<OpDef>(known);
  op->is_stateful = true;
  op->shape_fn = nullptr;
  return op;
}

std::vector<std::string> UndefinedFunctions(const FunctionLibrary& functions,
                                            const AttrMap& attrs) {
  std::vector<std::string> undefined;
  const auto check = [&](const NameAttrList& function) {
    if (functions.Find(function.name) != nullptr) return;
    if (absl::c_linear_search(undefined, function.name)) return;
    undefined.push_back(function.name);
  };
  for (const auto& [name, value] : attrs) {
    if (absl::StartsWith(name, "_")) continue;
    if (const auto* function = value.Get<NameAttrList>()) check(*function);
    const auto* list = value.Get<std::vector<NameAttrList>>();
    if (list != nullptr) std::for_each(list->begin(), list->end(), check);
  }
  return undefined;
}

absl::Status CheckReferences(const OpDef& op, absl::string_view node,
                             const AttrMap& attrs,
                             absl::Span<const OutputTensor> inputs) {
  const auto lengths = InputLengths(op, attrs, static_cast<int>(inputs.size()));
  if (!lengths.ok()) return absl::OkStatus();
  size_t next = 0;
  for (size_t arg = 0; arg < lengths->size(); ++arg) {
    for (int i = 0; i < (*lengths)[arg]; ++i, ++next) {
      if (next >= inputs.size()) return absl::OkStatus();
      const OutputTensor& input = inputs[next];
      if (!op.inputs[arg].is_ref || input.node == nullptr) continue;
      // An output that its node does not have is skipped here, because AddNode
      // refuses it.
      if (IsOfUnknown(input) || input.index >= input.node->num_outputs()) {
        continue;
      }
      const DataType given = input.node->output_type(input.index);
      if (IsRefType(given)) continue;
      const DataType expected = ExpectedType(op.inputs[arg], attrs, i);
      return absl::InvalidArgumentError(absl::StrCat(
          "Input ", next, " of node ", node, " was passed ",
          DataTypeName(given), " from ", TensorName(input),
          " incompatible with expected ",
          DataTypeName(expected == DT_INVALID ? MakeRefType(given) : expected),
          "."));
    }
  }
  return absl::OkStatus();
}

absl::Status RefuseUnknown(const Graph& graph,
                           absl::Span<const Node* const> unknown) {
  NodesByName ops;
  NodesByName functions;
  for (const Node* node : unknown) {
    if (graph.FindOp(node->type()) == nullptr) {
      ops[node->type()].push_back(node);
      continue;
    }
    for (const std::string& function :
         UndefinedFunctions(graph.functions(), node->attrs())) {
      functions[function].push_back(node);
    }
  }
  if (!ops.empty() || !functions.empty()) return Missing(ops, functions);
  if (unknown.empty()) return absl::OkStatus();
  const Node& first = *unknown[0];
  const OpDef* op = graph.registry()->Find(first.type());
  return HasGuessedOutputs(first) && op != nullptr ? NoReference(*op, first)
                                                   : NotRunnable(graph, first);
}

absl::Status CheckNoneUnknown(const Graph& graph) {
  std::vector<const Node*> unknown;
  for (const Node* node : graph.nodes()) {
    if (IsUnknown(*node)) unknown.push_back(node);
  }
  return RefuseUnknown(graph, unknown);
}

}  // namespace weft
