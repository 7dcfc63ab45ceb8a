#include "integration_tests/testing/graph_mutator.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "integration_tests/testing/choices.h"
#include "integration_tests/testing/node_maker.h"
#include "integration_tests/testing/random_values.h"
#include "libs/base/text_proto.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/standard_ops.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

tf::GraphDef Parse(absl::string_view text) {
  tf::GraphDef def;
  if (!ParseTextProto(text, def, {.allow_unknown_fields = true}).ok()) {
    def.Clear();
  }
  return def;
}

std::string Print(const tf::GraphDef& def) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(def, &text);
  return text;
}

class Mutation {
 public:
  Mutation(tf::GraphDef& def, uint64_t seed)
      : ops_(StandardOps()),
        choices_(seed),
        def_(def),
        maker_(*ops_, choices_, def) {
    // Imports the graph, because the types of outputs are known only for a
    // valid graph.
    Graph graph(ops_);
    if (!ImportGraphDef(def.SerializeAsString(), graph).ok()) return;
    for (const Node* node : graph.nodes()) {
      for (int i = 0; i < node->num_outputs(); ++i) {
        maker_.AddOutput({i == 0 ? node->name() : TensorName({node, i}),
                          node->output_type(i)});
      }
    }
  }

  void Run() {
    const size_t kind = choices_.Below(100);
    if (def_.library().function_size() > 0 && choices_.Percent(40)) {
      return ChangeFunction();
    }
    if (kind < 15) return AddChain();
    if (def_.node_size() == 0 || kind < 35) return AddNode();
    if (kind < 55) return ChangeTensor();
    if (kind < 75) return ChangeAttr();
    if (kind < 88) return ChangeInput();
    if (kind < 94) return ToggleFeed();
    RemoveNode();
  }

 private:
  tf::NodeDef& AnyNode() {
    return *def_.mutable_node(
        static_cast<int>(choices_.Below(def_.node_size())));
  }

  // Returns a random node of a random function, or null if there is none.
  tf::NodeDef* NodeOfFunction() {
    auto& functions = *def_.mutable_library()->mutable_function();
    if (functions.empty()) return nullptr;
    auto& nodes = *functions[static_cast<int>(choices_.Below(functions.size()))]
                       .mutable_node_def();
    if (nodes.empty()) return nullptr;
    return &nodes[static_cast<int>(choices_.Below(nodes.size()))];
  }

  // Copies an input, attrs or the op of another node to a node of a function.
  void ChangeFunction() {
    tf::NodeDef* node = NodeOfFunction();
    tf::NodeDef* other = NodeOfFunction();
    if (node == nullptr || other == nullptr) return AddNode();
    const size_t kind = choices_.Below(4);
    if (kind == 0 && node->input_size() > 0 && other->input_size() > 0) {
      node->set_input(static_cast<int>(choices_.Below(node->input_size())),
                      choices_.Of(other->input()));
    } else if (kind == 1) {
      node->add_input(absl::StrCat("^", other->name()));
    } else if (kind == 2) {
      for (const auto& [name, value] : other->attr()) {
        if (choices_.Percent(50)) (*node->mutable_attr())[name] = value;
      }
    } else {
      // The op may be the name of the function that contains the node, so that
      // it calls itself.
      const auto& functions = def_.library().function();
      node->set_op(choices_.Percent(50)
                       ? other->op()
                       : choices_.Of(functions).signature().name());
    }
  }

  void AddNode() {
    if (def_.node_size() >= kMaxMutatedNodes) return RemoveNode();
    maker_.Add(*choices_.Of(ops_->List()));
  }

  void AddChain() {
    // A chain has about a dozen nodes.
    if (def_.node_size() + 12 >= kMaxMutatedNodes) return RemoveNode();
    maker_.AddChain();
  }

  void ChangeTensor() {
    std::vector<tf::TensorProto*> tensors;
    for (tf::NodeDef& node : *def_.mutable_node()) {
      for (auto& [name, value] : *node.mutable_attr()) {
        if (value.has_tensor()) tensors.push_back(value.mutable_tensor());
      }
    }
    if (tensors.empty()) return AddNode();
    tf::TensorProto* tensor = choices_.Of(tensors);
    if (choices_.Percent(50)) return ChangeElement(choices_, tensor);
    const auto dtype = static_cast<DataType>(tensor->dtype());
    RandomTensor(choices_, dtype, RandomSizes(choices_), tensor);
  }

  void ChangeAttr() {
    tf::NodeDef& node = AnyNode();
    const OpDef* op = ops_->Find(node.op());
    if (op == nullptr || op->attrs.empty()) return ChangeInput();
    const AttrDef& attr = choices_.Of(op->attrs);
    tf::AttrValue value;
    maker_.RandomAttr(attr, DT_FLOAT, &value);
    (*node.mutable_attr())[attr.name] = value;
  }

  void ChangeInput() {
    tf::NodeDef& node = AnyNode();
    if (node.input_size() == 0 || choices_.Percent(5)) {
      node.add_input(absl::StrCat("^", AnyNode().name()));
      return;
    }
    const int index = static_cast<int>(choices_.Below(node.input_size()));
    const std::string name = node.name();
    const OpDef* op = ops_->Find(node.op());
    DataType dtype = DT_FLOAT;
    if (op != nullptr && static_cast<size_t>(index) < op->inputs.size()) {
      const ArgDef& arg = op->inputs[index];
      dtype = arg.type;
      const auto attr = node.attr().find(arg.type_attr);
      if (attr != node.attr().end()) {
        dtype = static_cast<DataType>(attr->second.type());
      }
    }
    // the call may reallocate the nodes
    const std::string input = maker_.Input(dtype);
    for (tf::NodeDef& consumer : *def_.mutable_node()) {
      // Node names may not be unique in an invalid graph, and another node of
      // this name may have fewer inputs.
      if (consumer.name() != name || index >= consumer.input_size()) continue;
      consumer.set_input(index, input);
    }
  }

  // Replaces a constant by a fed value, or a fed value by a constant.
  void ToggleFeed() {
    for (int tries = 0; tries < 8; ++tries) {
      tf::NodeDef& node = AnyNode();
      auto& attrs = *node.mutable_attr();
      const bool is_const = node.op() == "Const";
      const char* from = is_const ? "value" : kFedValueAttr;
      const char* to = is_const ? kFedValueAttr : "value";
      if ((!is_const && node.op() != "Placeholder") || attrs.count(from) == 0) {
        continue;
      }
      const tf::AttrValue value = attrs[from];
      attrs.erase(from);
      attrs[to] = value;
      node.set_op(is_const ? "Placeholder" : "Const");
      attrs.erase("shape");
      return;
    }
  }

  // Removes a random unused node. Has no effect if there is none.
  void RemoveNode() {
    for (int tries = 0; tries < 8; ++tries) {
      const int index = static_cast<int>(choices_.Below(def_.node_size()));
      if (IsUsed(def_.node(index).name()) && tries < 7) continue;
      def_.mutable_node()->DeleteSubrange(index, 1);
      return;
    }
  }

  bool IsUsed(const std::string& name) const {
    const std::string control = absl::StrCat("^", name);
    const std::string output = absl::StrCat(name, ":");
    for (const tf::NodeDef& node : def_.node()) {
      for (const std::string& input : node.input()) {
        if (input == name || input == control ||
            absl::StartsWith(input, output)) {
          return true;
        }
      }
    }
    return false;
  }

  const std::shared_ptr<const OpRegistry> ops_;
  Choices choices_;
  tf::GraphDef& def_;
  NodeMaker maker_;
};

}  // namespace

std::string MutateGraph(absl::string_view graph, uint64_t seed) {
  tf::GraphDef def = Parse(graph);
  Choices choices(seed);
  const size_t changes = 1 + choices.Below(4);
  for (size_t i = 0; i < changes; ++i) Mutation(def, seed + i).Run();
  return Print(def);
}

std::string JoinGraphs(absl::string_view a, absl::string_view b) {
  tf::GraphDef def = Parse(a);
  const tf::GraphDef more = Parse(b);
  for (const tf::FunctionDef& function : more.library().function()) {
    *def.mutable_library()->add_function() = function;
  }
  const auto renamed = [](const std::string& name) {
    return absl::StartsWith(name, "^") ? absl::StrCat("^b/", name.substr(1))
                                       : absl::StrCat("b/", name);
  };
  for (const tf::NodeDef& node : more.node()) {
    if (def.node_size() >= kMaxMutatedNodes) break;
    tf::NodeDef* copy = def.add_node();
    *copy = node;
    copy->set_name(renamed(node.name()));
    for (std::string& input : *copy->mutable_input()) input = renamed(input);
  }
  return Print(def);
}

}  // namespace weft
