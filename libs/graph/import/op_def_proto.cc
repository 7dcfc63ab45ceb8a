#include <map>
#include <string>

#include "libs/graph/import/attr_value_proto.h"
#include "libs/graph/import/graph_proto.h"
#include "schemas/tf/op_def.pb.h"

namespace weft {
namespace {

void ArgToProto(const ArgDef& arg, tf::OpDef::ArgDef* proto) {
  proto->set_name(arg.name);
  proto->set_type(static_cast<tf::DataType>(arg.type));
  proto->set_type_attr(arg.type_attr);
  proto->set_number_attr(arg.number_attr);
  proto->set_type_list_attr(arg.type_list_attr);
  proto->set_is_ref(arg.is_ref);
}

void AttrToProto(const AttrDef& attr, tf::OpDef::AttrDef* proto) {
  proto->set_name(attr.name);
  proto->set_type(attr.type);
  if (attr.default_value.has_value()) {
    AttrValueToProto(*attr.default_value, proto->mutable_default_value());
  }
  proto->set_has_minimum(attr.minimum.has_value());
  proto->set_minimum(attr.minimum.value_or(0));
  if (!attr.allowed_types.empty()) {
    AttrValueToProto(attr.allowed_types, proto->mutable_allowed_values());
  } else if (!attr.allowed_strings.empty()) {
    AttrValueToProto(attr.allowed_strings, proto->mutable_allowed_values());
  }
}

}  // namespace

void OpDefToProto(const OpDef& op, tf::OpDef* proto) {
  proto->Clear();
  proto->set_name(op.name);
  for (const ArgDef& arg : op.inputs) ArgToProto(arg, proto->add_input_arg());
  for (const ArgDef& arg : op.outputs) ArgToProto(arg, proto->add_output_arg());
  for (const AttrDef& attr : op.attrs) AttrToProto(attr, proto->add_attr());
  proto->set_is_stateful(op.is_stateful);
  proto->set_is_commutative(op.is_commutative);
  proto->set_is_aggregate(op.is_aggregate);
  proto->set_allows_uninitialized_input(op.allows_uninitialized_input);
}

void ExportOps(const Graph& graph, tf::OpList* ops) {
  std::map<std::string, const OpDef*> used;
  const auto add = [&](const std::string& name) {
    const OpDef* op = graph.registry()->Find(name);
    if (op != nullptr) used[name] = op;
  };
  for (const Node* node : graph.nodes()) add(node->type());
  for (const FunctionPtr& function : graph.functions().functions()) {
    for (const FunctionNode& node : function->nodes) add(node.op);
  }
  for (const auto& [name, op] : used) OpDefToProto(*op, ops->add_op());
}

}  // namespace weft
