#include "libs/graph/import/producer_defaults.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/util/message_differencer.h"
#include "libs/base/hash_tables.h"
#include "schemas/tf/graph.pb.h"
#include "schemas/tf/op_def.pb.h"

namespace weft {
namespace {

using google::protobuf::util::MessageDifferencer;

// Maps the names of an op's attrs to their defaults.
using Defaults = FlatHashMap<absl::string_view, const tf::AttrValue*>;

Defaults DefaultsOf(const tf::OpDef& op) {
  Defaults defaults;
  for (const auto& attr : op.attr()) {
    if (attr.has_default_value()) {
      defaults.emplace(attr.name(), &attr.default_value());
    }
  }
  return defaults;
}

// Removes the attrs of the node that have their default in `defaults`. Attrs
// that `known` has are kept, unless `known` is null.
void DropFrom(tf::NodeDef& node, const OpDef* known, const Defaults& defaults) {
  std::vector<std::string> dropped;
  for (const auto& [name, value] : node.attr()) {
    if (absl::StartsWith(name, "_") ||
        (known != nullptr && known->FindAttr(name) != nullptr)) {
      continue;
    }
    const auto it = defaults.find(name);
    if (it != defaults.end() &&
        MessageDifferencer::Equals(*it->second, value)) {
      dropped.push_back(name);
    }
  }
  for (const std::string& name : dropped) node.mutable_attr()->erase(name);
}

FlatHashMap<absl::string_view, Defaults> DefaultsOf(const tf::OpList& list) {
  FlatHashMap<absl::string_view, Defaults> ops;
  for (const tf::OpDef& op : list.op()) ops[op.name()] = DefaultsOf(op);
  return ops;
}

// Calls `function` for each node of the graph and of its functions.
template <typename Function>
void ForEachNode(tf::GraphDef& graph, Function function) {
  for (tf::NodeDef& node : *graph.mutable_node()) function(node);
  for (auto& body : *graph.mutable_library()->mutable_function()) {
    for (tf::NodeDef& node : *body.mutable_node_def()) function(node);
  }
}

}  // namespace

void DropNewDefaults(const tf::OpList& producer, const OpRegistry& registry,
                     tf::GraphDef& graph) {
  const auto ops = DefaultsOf(producer);
  ForEachNode(graph, [&](tf::NodeDef& node) {
    const OpDef* known = registry.Find(node.op());
    const auto op = ops.find(node.op());
    if (known == nullptr || op == ops.end()) return;
    DropFrom(node, known, op->second);
  });
}

void StripDefaultAttrs(const tf::OpList& ops, tf::GraphDef& graph) {
  const auto defaults = DefaultsOf(ops);
  ForEachNode(graph, [&](tf::NodeDef& node) {
    const auto op = defaults.find(node.op());
    if (op != defaults.end()) DropFrom(node, nullptr, op->second);
  });
}

}  // namespace weft
