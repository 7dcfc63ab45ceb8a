#include "libs/graph/unknown_op.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/str_cat.h"
#include "libs/base/shorten.h"
#include "libs/base/status.h"
#include "libs/graph/node_signature.h"

namespace weft {
namespace {

// AddNode takes it off again, so that no node and no export has it.
constexpr absl::string_view kMark = "_weft_unknown_outputs";
constexpr size_t kMaxText = 2000;
constexpr size_t kMaxName = 100;

// By op, the nodes of ops that are not registered.
using NodesByOp = std::map<std::string, std::vector<const Node*>>;

std::string Entry(const std::string& op,
                  const std::vector<const Node*>& nodes) {
  std::string text = absl::StrCat("'", ShortenText(op, kMaxName), "' (node '",
                                  ShortenText(nodes[0]->name(), kMaxName), "'");
  if (nodes.size() > 1) {
    absl::StrAppend(&text, " and ", nodes.size() - 1, " more");
  }
  return text + ")";
}

absl::Status NotRegistered(const NodesByOp& ops) {
  std::string text = "Op type not registered ";
  size_t named = 0;
  for (const auto& [op, nodes] : ops) {
    const std::string entry = Entry(op, nodes);
    if (text.size() + entry.size() > kMaxText - kMaxName) break;
    absl::StrAppend(&text, named++ == 0 ? "" : ", ", entry);
  }
  if (named < ops.size()) {
    absl::StrAppend(&text, " and ", ops.size() - named, " more ops");
  }
  return absl::NotFoundError(text);
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

// Of the i-th tensor of an argument that takes references; DT_INVALID if the
// attrs do not say.
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

bool IsOfUnknown(const OutputTensor& input) {
  return input.node != nullptr && IsUnknown(*input.node);
}

void MarkUnknown(int num_outputs, NodeSpec& spec) {
  spec.attrs[std::string(kMark)] = int64_t{num_outputs};
}

std::optional<int> TakeUnknownMark(NodeSpec& spec) {
  const auto mark = spec.attrs.find(kMark);
  if (mark == spec.attrs.end()) return std::nullopt;
  const int64_t* outputs = mark->second.Get<int64_t>();
  const int64_t count = outputs == nullptr ? 0 : *outputs;
  spec.attrs.erase(mark);
  return static_cast<int>(
      std::clamp<int64_t>(count, 0, int64_t{kMaxUnknownOutputs}));
}

std::shared_ptr<const OpDef> MakeUnknownOp(absl::string_view name) {
  // Nobody knows what it does, so no pass may drop, move or repeat it.
  return std::make_shared<const OpDef>(
      OpDef{.name = std::string(name), .is_stateful = true});
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
      // AddNode refuses an output that its node does not have.
      if (IsUnknown(*input.node) || input.index >= input.node->num_outputs()) {
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

absl::Status RefuseUnknown(const OpRegistry& registry,
                           absl::Span<const Node* const> unknown) {
  NodesByOp not_registered;
  for (const Node* node : unknown) {
    if (registry.Find(node->type()) != nullptr) continue;
    not_registered[node->type()].push_back(node);
  }
  if (!not_registered.empty()) return NotRegistered(not_registered);
  if (unknown.empty()) return absl::OkStatus();
  return NoReference(*registry.Find(unknown[0]->type()), *unknown[0]);
}

absl::Status CheckNoneUnknown(const Graph& graph) {
  std::vector<const Node*> unknown;
  for (const Node* node : graph.nodes()) {
    if (IsUnknown(*node)) unknown.push_back(node);
  }
  return RefuseUnknown(*graph.registry(), unknown);
}

}  // namespace weft
