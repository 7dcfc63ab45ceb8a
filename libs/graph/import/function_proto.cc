#include "libs/graph/import/function_proto.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/graph/functions/function_body.h"
#include "libs/graph/import/attr_value_proto.h"
#include "libs/graph/import/graph_proto.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/producers_first.h"
#include "libs/graph/unknown_op.h"
#include "libs/graph/version_rules.h"
#include "schemas/tf/function.pb.h"

namespace weft {
namespace {

absl::Status Refuse(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

std::string Serialized(const tf::FunctionDef& proto) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  if (!proto.SerializeToCodedStream(&out)) return "";
  out.Trim();
  return bytes;
}

ArgDef ArgFromProto(const tf::OpDef::ArgDef& proto) {
  return {.name = proto.name(),
          .type = static_cast<DataType>(proto.type()),
          .type_attr = proto.type_attr(),
          .number_attr = proto.number_attr(),
          .type_list_attr = proto.type_list_attr(),
          .is_ref = proto.is_ref()};
}

absl::StatusOr<AttrDef> AttrFromProto(const tf::OpDef::AttrDef& proto) {
  AttrDef attr{.name = proto.name(), .type = proto.type()};
  if (proto.has_default_value()) {
    ASSIGN_OR_RETURN(attr.default_value,
                     AttrValueFromProto(proto.default_value(), proto.type()));
    if (attr.default_value->KindName() != attr.type) {
      return Refuse(absl::StrCat("the default of attr '", attr.name, "' is ",
                                 attr.default_value->KindName(), " instead of ",
                                 attr.type));
    }
  }
  if (proto.has_minimum()) attr.minimum = proto.minimum();
  for (const int type : proto.allowed_values().list().type()) {
    attr.allowed_types.push_back(static_cast<DataType>(type));
  }
  const auto& strings = proto.allowed_values().list().s();
  attr.allowed_strings.assign(strings.begin(), strings.end());
  return attr;
}

// Checks that each attr to which an argument refers exists and has the right
// type.
absl::Status CheckArg(const ArgDef& arg, const OpDef& op) {
  const auto check = [&](const std::string& attr,
                         absl::string_view type) -> absl::Status {
    const AttrDef* def = attr.empty() ? nullptr : op.FindAttr(attr);
    if (attr.empty() || (def != nullptr && def->type == type)) {
      return absl::OkStatus();
    }
    return Refuse(absl::StrCat("argument '", arg.name, "' needs an attr '",
                               attr, "' of type ", type));
  };
  RETURN_IF_ERROR(check(arg.type_attr, "type"));
  RETURN_IF_ERROR(check(arg.number_attr, "int"));
  RETURN_IF_ERROR(check(arg.type_list_attr, "list(type)"));
  const int kinds = static_cast<int>(arg.type != DT_INVALID) +
                    static_cast<int>(!arg.type_attr.empty()) +
                    static_cast<int>(!arg.type_list_attr.empty());
  if (kinds == 1 && (arg.type_list_attr.empty() || arg.number_attr.empty())) {
    return absl::OkStatus();
  }
  return Refuse(absl::StrCat("argument '", arg.name, "' has no one type"));
}

bool IsBackEdge(const tf::NodeDef& consumer, const tf::NodeDef& producer) {
  return (consumer.op() == "Merge" || consumer.op() == "RefMerge") &&
         (producer.op() == "NextIteration" ||
          producer.op() == "RefNextIteration");
}

class FunctionReader {
 public:
  FunctionReader(const tf::FunctionDef& proto, const OpRegistry& registry,
                 bool is_built_here)
      : proto_(proto), registry_(registry), is_built_here_(is_built_here) {}

  absl::StatusOr<FunctionPtr> Read() {
    ASSIGN_OR_RETURN(function_->signature, OpDefFromProto(proto_.signature()));
    if (function_->name().empty()) return Refuse("it has no name");
    RETURN_IF_ERROR(IndexNames());
    ASSIGN_OR_RETURN(const std::vector<int> order, Order());
    for (const int node : order)
      RETURN_IF_ERROR(AddNode(proto_.node_def(node)));
    RETURN_IF_ERROR(ReadResults());
    RETURN_IF_ERROR(ReadControlResults());
    for (const auto& [name, value] : proto_.attr()) {
      ASSIGN_OR_RETURN(function_->attrs[name], AttrValueFromProto(value, ""));
    }
    SetBuiltHere(is_built_here_, *function_);
    if (proto_.ByteSizeLong() > kMaxGraphDefBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "function '", function_->name(),
          "' is larger than 2 GiB. Pass large constants as arguments."));
    }
    function_->serialized = Serialized(proto_);
    return FunctionPtr(std::move(function_));
  }

 private:
  absl::Status IndexNames() {
    FlatHashSet<absl::string_view> taken;
    for (const ArgDef& arg : function_->signature.inputs) {
      if (!taken.insert(arg.name).second) {
        return Refuse(absl::StrCat("argument '", arg.name, "' is there twice"));
      }
    }
    for (int i = 0; i < proto_.node_def_size(); ++i) {
      const std::string& name = proto_.node_def(i).name();
      if (!taken.insert(name).second) {
        return Refuse(absl::StrCat("node '", name, "' is there twice"));
      }
      index_of_.emplace(name, i);
    }
    return absl::OkStatus();
  }

  // Returns the nodes in an order with producers first. Among nodes that are
  // ready, the original order is kept. Missing inputs are reported when the
  // function is called.
  absl::StatusOr<std::vector<int>> Order() const {
    const int num_nodes = proto_.node_def_size();
    ProducersFirst nodes(num_nodes);
    for (int i = 0; i < num_nodes; ++i) {
      for (const std::string& input : proto_.node_def(i).input()) {
        const auto from = index_of_.find(NodeOfInput(input));
        if (from == index_of_.end() ||
            (!absl::StartsWith(input, "^") &&
             IsBackEdge(proto_.node_def(i), proto_.node_def(from->second)))) {
          continue;
        }
        nodes.AddEdge(from->second, i);
      }
    }
    std::vector<int> order = nodes.Order();
    if (static_cast<int>(order.size()) == num_nodes) return order;
    return Refuse("its nodes have a cycle that is not a loop");
  }

  absl::Status AddNode(const tf::NodeDef& def) {
    FunctionNode node{.name = def.name(),
                      .op = def.op(),
                      .inputs = {def.input().begin(), def.input().end()},
                      .device = def.device()};
    const OpDef* op = registry_.Find(def.op());
    for (const auto& [name, proto] : def.attr()) {
      const AttrDef* attr = op == nullptr ? nullptr : op->FindAttr(name);
      // An attr that the op does not have is ignored, as in a graph: a newer
      // writer may have added it.
      if (op != nullptr && attr == nullptr && !absl::StartsWith(name, "_")) {
        continue;
      }
      absl::StatusOr<AttrValue> value = AttrValueFromProto(
          proto, attr == nullptr ? "" : attr->type, /*in_function=*/true);
      if (!value.ok()) {
        return Annotate(value.status(), absl::StrCat("node '", def.name(),
                                                     "': attr '", name, "'"));
      }
      if (value->IsSet()) node.attrs[name] = *std::move(value);
    }
    function_->nodes.push_back(std::move(node));
    return absl::OkStatus();
  }

  absl::Status ReadResults() {
    for (const ArgDef& result : function_->signature.outputs) {
      const auto it = proto_.ret().find(result.name);
      if (it == proto_.ret().end()) {
        return Refuse(absl::StrCat("result '", result.name, "' is missing"));
      }
      function_->results.push_back(it->second);
    }
    return absl::OkStatus();
  }

  // Reads the control results. The names in the signature are only for display;
  // control_ret maps them to the nodes that run in each call.
  absl::Status ReadControlResults() {
    function_->has_control_results =
        proto_.signature().control_output_size() > 0 ||
        !proto_.control_ret().empty();
    for (const std::string& name : proto_.signature().control_output()) {
      const auto it = proto_.control_ret().find(name);
      if (it == proto_.control_ret().end()) {
        return Refuse(absl::StrCat("control output '", name, "' is missing"));
      }
      function_->control_results.push_back(it->second);
    }
    return absl::OkStatus();
  }

  const tf::FunctionDef& proto_;
  const OpRegistry& registry_;
  const bool is_built_here_;
  std::shared_ptr<FunctionDef> function_ = std::make_shared<FunctionDef>();
  FlatHashMap<absl::string_view, int> index_of_;
};

// FunctionWriter converts a graph to a FunctionDef message.
class FunctionWriter {
 public:
  FunctionWriter(const Graph& body, const FunctionEnds& ends)
      : body_(body), ends_(ends) {}

  absl::StatusOr<tf::FunctionDef> Write(const std::string& name) {
    tf::OpDef& signature = *proto_.mutable_signature();
    signature.set_name(name);
    for (const OutputTensor& arg : ends_.args) is_arg_.insert(arg.node);
    for (size_t i = 0; i < ends_.args.size(); ++i) {
      const std::string arg = ArgName(i);
      AddArg(arg, ends_.args[i], signature.add_input_arg());
      names_[ends_.args[i]] = arg;
    }
    for (const Node* node : body_.nodes()) {
      if (!is_arg_.contains(node)) RETURN_IF_ERROR(AddNode(*node));
    }
    for (size_t i = 0; i < ends_.results.size(); ++i) {
      const std::string result = absl::StrCat("result_", i);
      AddArg(result, ends_.results[i], signature.add_output_arg());
      ASSIGN_OR_RETURN((*proto_.mutable_ret())[result],
                       NameOf(ends_.results[i]));
    }
    for (const Node* node : ends_.control_results) {
      signature.add_control_output(node->name());
      (*proto_.mutable_control_ret())[node->name()] = node->name();
    }
    return std::move(proto_);
  }

 private:
  // Returns a name for argument `i` that no node has, because arguments and
  // nodes share a namespace.
  std::string ArgName(size_t i) const {
    std::string name = absl::StrCat("arg_", i);
    const Node* taken = body_.FindNode(name);
    while (taken != nullptr && !is_arg_.contains(taken)) {
      absl::StrAppend(&name, "_");
      taken = body_.FindNode(name);
    }
    return name;
  }

  static void AddArg(const std::string& name, const OutputTensor& tensor,
                     tf::OpDef::ArgDef* arg) {
    arg->set_name(name);
    arg->set_type(static_cast<tf::DataType>(
        RemoveRefType(tensor.node->output_type(tensor.index))));
  }

  absl::StatusOr<std::string> NameOf(const OutputTensor& tensor) const {
    const auto arg = names_.find(tensor);
    if (arg != names_.end()) return arg->second;
    if (is_arg_.contains(tensor.node)) {
      return Refuse(absl::StrCat(
          "'", TensorName(tensor),
          "' is not an argument, but another output of its node is"));
    }
    if (IsOfUnknown(tensor)) return NameOfUnknown(tensor);
    const OpDef& op = tensor.node->op();
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const auto [begin, end] = tensor.node->OutputRange(static_cast<int>(i));
      if (tensor.index >= end) continue;
      return absl::StrCat(tensor.node->name(), ":", op.outputs[i].name, ":",
                          tensor.index - begin);
    }
    return absl::InternalError(
        absl::StrCat("'", TensorName(tensor), "' is not an output"));
  }

  // Returns the name of an unknown node's output. Without a registered op the
  // outputs have no names, so the index is used.
  absl::StatusOr<std::string> NameOfUnknown(const OutputTensor& tensor) const {
    // If the op is known, the body names the outputs as the op does, so an
    // unknown node with this op is an error.
    if (body_.FindOp(tensor.node->type()) != nullptr) {
      return RefuseUnknown(body_, {&tensor.node, 1});
    }
    return absl::StrCat(tensor.node->name(), ":", tensor.index);
  }

  absl::Status AddNode(const Node& node) {
    tf::NodeDef& def = *proto_.add_node_def();
    def.set_name(node.name());
    def.set_op(node.type());
    def.set_device(node.requested_device());
    for (const OutputTensor& input : node.inputs()) {
      if (input.node == nullptr) {
        return Refuse(
            absl::StrCat("the loop at '", node.name(), "' is not closed"));
      }
      ASSIGN_OR_RETURN(*def.add_input(), NameOf(input));
    }
    for (const Node* control : node.control_inputs()) {
      if (is_arg_.contains(control)) continue;  // exists when the call runs
      def.add_input(absl::StrCat("^", control->name()));
    }
    for (const auto& [name, value] : node.attrs()) {
      AttrValueToProto(name == "_class" ? InsideClasses(value) : value,
                       &(*def.mutable_attr())[name]);
    }
    if (node.op().is_stateful) {
      proto_.mutable_signature()->set_is_stateful(true);
    }
    return absl::OkStatus();
  }

  // Returns the value of attr _class without the classes that name a node
  // outside of the function.
  AttrValue InsideClasses(const AttrValue& value) const {
    const auto* classes = value.Get<std::vector<std::string>>();
    if (classes == nullptr) return value;
    std::vector<std::string> inside;
    for (const std::string& text : *classes) {
      absl::string_view name = text;
      const bool is_location = absl::ConsumePrefix(&name, "loc:@");
      const Node* node = is_location ? body_.FindNode(name) : nullptr;
      if (is_location && (node == nullptr || is_arg_.contains(node))) continue;
      inside.push_back(text);
    }
    return inside;
  }

  const Graph& body_;
  const FunctionEnds& ends_;
  tf::FunctionDef proto_;
  FlatHashMap<OutputTensor, std::string> names_;
  FlatHashSet<const Node*> is_arg_;
};

}  // namespace

absl::StatusOr<OpDef> OpDefFromProto(const tf::OpDef& proto) {
  OpDef op{.name = proto.name(),
           .summary = proto.summary(),
           .is_stateful = proto.is_stateful(),
           .is_commutative = proto.is_commutative(),
           .is_aggregate = proto.is_aggregate(),
           .allows_uninitialized_input = proto.allows_uninitialized_input(),
           .shape_fn = shapes::Unknown};
  for (const auto& attr : proto.attr()) {
    ASSIGN_OR_RETURN(AttrDef def, AttrFromProto(attr));
    op.attrs.push_back(std::move(def));
  }
  for (const auto& arg : proto.input_arg()) {
    op.inputs.push_back(ArgFromProto(arg));
    RETURN_IF_ERROR(CheckArg(op.inputs.back(), op));
  }
  for (const auto& arg : proto.output_arg()) {
    op.outputs.push_back(ArgFromProto(arg));
    RETURN_IF_ERROR(CheckArg(op.outputs.back(), op));
  }
  return op;
}

absl::StatusOr<FunctionPtr> FunctionFromProto(const tf::FunctionDef& proto,
                                              const OpRegistry& registry,
                                              bool is_built_here) {
  absl::StatusOr<FunctionPtr> read =
      FunctionReader(proto, registry, is_built_here).Read();
  if (read.ok()) return read;
  return Annotate(read.status(),
                  absl::StrCat("Function '", proto.signature().name(), "'"));
}

absl::StatusOr<FunctionPtr> FunctionFromGraph(const std::string& name,
                                              const Graph& body,
                                              const FunctionEnds& ends) {
  ASSIGN_OR_RETURN(const tf::FunctionDef proto,
                   FunctionWriter(body, ends).Write(name));
  return FunctionFromProto(proto, *body.registry(), /*is_built_here=*/true);
}

void ExportFunctions(const FunctionLibrary& library, int first,
                     tf::FunctionDefLibrary* proto) {
  for (int i = first; i < library.size(); ++i) {
    proto->add_function()->ParseFromString(library.functions()[i]->serialized);
  }
  for (const auto& [name, gradient] : library.gradients()) {
    tf::GradientDef* def = proto->add_gradient();
    def->set_function_name(name);
    def->set_gradient_func(gradient);
  }
}

absl::Status ImportFunctions(const tf::FunctionDefLibrary& proto,
                             Graph& graph) {
  std::vector<FunctionPtr> functions;
  for (const tf::FunctionDef& function : proto.function()) {
    ASSIGN_OR_RETURN(functions.emplace_back(),
                     FunctionFromProto(function, *graph.registry()));
  }
  std::map<std::string, std::string, std::less<>> gradients;
  for (const tf::GradientDef& gradient : proto.gradient()) {
    const auto [it, is_new] =
        gradients.emplace(gradient.function_name(), gradient.gradient_func());
    if (is_new || it->second == gradient.gradient_func()) continue;
    return Refuse(absl::StrCat("Function '", gradient.function_name(),
                               "' has two gradients"));
  }
  return graph.AddFunctions(functions, gradients);
}

}  // namespace weft
