#include "libs/graph/producer_defaults.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "google/protobuf/util/message_differencer.h"
#include "schemas/tf/graph.pb.h"
#include "schemas/tf/op_def.pb.h"

namespace weft {
namespace {

using google::protobuf::util::MessageDifferencer;

bool IsDefault(const tf::OpDef& op, const std::string& name,
               const tf::AttrValue& value) {
  for (const auto& attr : op.attr()) {
    if (attr.name() != name) continue;
    return attr.has_default_value() &&
           MessageDifferencer::Equals(attr.default_value(), value);
  }
  return false;
}

void DropFrom(tf::NodeDef& node, const OpDef& known, const tf::OpDef& op) {
  std::vector<std::string> dropped;
  for (const auto& [name, value] : node.attr()) {
    if (absl::StartsWith(name, "_") || known.FindAttr(name) != nullptr) {
      continue;
    }
    if (IsDefault(op, name, value)) dropped.push_back(name);
  }
  for (const std::string& name : dropped) node.mutable_attr()->erase(name);
}

}  // namespace

void DropNewDefaults(const tf::OpList& producer, const OpRegistry& registry,
                     tf::GraphDef& graph) {
  absl::flat_hash_map<std::string, const tf::OpDef*> ops;
  for (const tf::OpDef& op : producer.op()) ops[op.name()] = &op;
  for (tf::NodeDef& node : *graph.mutable_node()) {
    const OpDef* known = registry.Find(node.op());
    const auto op = ops.find(node.op());
    if (known == nullptr || op == ops.end()) continue;
    DropFrom(node, *known, *op->second);
  }
}

}  // namespace weft
