#include "tools/cli/example_features.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/graph.pb.h"
#include "tools/cli/tensor_json.h"

namespace weft::tools {
namespace {

// Maximum length of a chain of Identity nodes. Exports have shorter chains.
constexpr int kMostIdentities = 100;

absl::string_view NodeOf(absl::string_view tensor) {
  return tensor.substr(0, tensor.find(':'));
}

// Reads the features of one ParseExample node.
class FeatureReader {
 public:
  explicit FeatureReader(const tf::GraphDef& graph) {
    for (const tf::NodeDef& node : graph.node()) nodes_[node.name()] = &node;
  }

  // Returns the node that produces `tensor`, skipping Identity nodes, or null
  // if there is no such node.
  const tf::NodeDef* Source(absl::string_view tensor) const {
    for (int i = 0; i < kMostIdentities; ++i) {
      const auto found = nodes_.find(NodeOf(tensor));
      if (found == nodes_.end()) return nullptr;
      const tf::NodeDef* node = found->second;
      if (node->op() != "Identity" || node->input_size() == 0) return node;
      tensor = node->input(0);
    }
    return nullptr;
  }

  // Adds the features that a node parses. Returns INVALID_ARGUMENT for an
  // invalid node, and NOT_FOUND if its keys are not constants.
  absl::Status Add(const tf::NodeDef& node, ExampleFeatures& features) const {
    const bool is_v2 = node.op() == "ParseExampleV2";
    int input = 2;  // inputs 0 and 1 are "serialized" and "names"
    std::vector<std::string> sparse, dense, ragged;
    if (is_v2) {
      ASSIGN_OR_RETURN(sparse, KeysAt(node, input++));
      ASSIGN_OR_RETURN(dense, KeysAt(node, input++));
      ASSIGN_OR_RETURN(ragged, KeysAt(node, input++));
    } else {
      ASSIGN_OR_RETURN(sparse, KeysFrom(node, "sparse_types", input));
      ASSIGN_OR_RETURN(dense, KeysFrom(node, "Tdense", input));
    }
    RETURN_IF_ERROR(AddLists(node, "sparse_types", sparse, features));
    RETURN_IF_ERROR(AddLists(node, "ragged_value_types", ragged, features));
    return AddDense(node, dense, input, features);
  }

 private:
  static const tf::AttrValue::ListValue& ListOf(const tf::NodeDef& node,
                                                const std::string& attr) {
    const auto found = node.attr().find(attr);
    return found == node.attr().end() ? tf::AttrValue::default_instance().list()
                                      : found->second.list();
  }

  absl::StatusOr<Tensor> ConstantAt(const tf::NodeDef& node, int input) const {
    if (input >= node.input_size()) {
      return absl::InvalidArgumentError("the ParseExample node lacks an input");
    }
    const tf::NodeDef* source = Source(node.input(input));
    if (source == nullptr || source->op() != "Const") {
      return absl::NotFoundError(
          "an input of a ParseExample node is not a constant");
    }
    const auto value = source->attr().find("value");
    if (value == source->attr().end()) {
      return absl::InvalidArgumentError("a Const node has no value");
    }
    return TensorFromProto(value->second.tensor(), HeapAllocator());
  }

  // Returns the keys of a node that has all of them in one input.
  absl::StatusOr<std::vector<std::string>> KeysAt(const tf::NodeDef& node,
                                                  int input) const {
    ASSIGN_OR_RETURN(const Tensor keys, ConstantAt(node, input));
    if (keys.dtype() != DT_STRING) {
      return absl::InvalidArgumentError("the feature keys are not strings");
    }
    const auto texts = keys.flat<std::string>();
    return std::vector<std::string>(texts.begin(), texts.end());
  }

  // Returns the keys of a node that has one input for each key. Their number is
  // the number of types in `attr`.
  absl::StatusOr<std::vector<std::string>> KeysFrom(const tf::NodeDef& node,
                                                    const std::string& attr,
                                                    int& input) const {
    std::vector<std::string> keys;
    for (int i = 0; i < ListOf(node, attr).type_size(); ++i) {
      ASSIGN_OR_RETURN(const auto key, KeysAt(node, input++));
      keys.insert(keys.end(), key.begin(), key.end());
    }
    return keys;
  }

  static absl::Status AddLists(const tf::NodeDef& node, const std::string& attr,
                               const std::vector<std::string>& keys,
                               ExampleFeatures& features) {
    const auto& list = ListOf(node, attr);
    if (list.type_size() != static_cast<int>(keys.size())) {
      return absl::InvalidArgumentError(
          "the numbers of feature keys and types differ");
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      features[keys[i]].dtype =
          static_cast<DataType>(list.type(static_cast<int>(i)));
    }
    return absl::OkStatus();
  }

  absl::Status AddDense(const tf::NodeDef& node,
                        const std::vector<std::string>& keys, int first_default,
                        ExampleFeatures& features) const {
    const auto& types = ListOf(node, "Tdense");
    const auto& shapes = ListOf(node, "dense_shapes");
    const int count = static_cast<int>(keys.size());
    if (types.type_size() != count || shapes.shape_size() != count) {
      return absl::InvalidArgumentError(
          "the numbers of feature keys and types differ");
    }
    for (int i = 0; i < count; ++i) {
      ExampleFeature& feature = features[keys[static_cast<size_t>(i)]];
      feature.dtype = static_cast<DataType>(types.type(i));
      ASSIGN_OR_RETURN(feature.shape, ShapeFromProto(shapes.shape(i)));
      const auto value = ConstantAt(node, first_default + i);
      const bool is_required = value.ok() && value->num_elements() == 0;
      if (is_required) continue;
      feature.default_value =
          value.ok() ? *value : Tensor(feature.dtype, TensorShape({0}));
    }
    return absl::OkStatus();
  }

  absl::flat_hash_map<absl::string_view, const tf::NodeDef*> nodes_;
};

}  // namespace

ExampleFeatures FeaturesParsedFrom(const tf::GraphDef& graph,
                                   const std::string& tensor) {
  const FeatureReader reader(graph);
  ExampleFeatures features;
  const tf::NodeDef* const input = reader.Source(tensor);
  if (input == nullptr) return features;
  for (const tf::NodeDef& node : graph.node()) {
    if (node.op() != "ParseExample" && node.op() != "ParseExampleV2") continue;
    if (node.input_size() == 0 || reader.Source(node.input(0)) != input) {
      continue;
    }
    ExampleFeatures found;
    if (reader.Add(node, found).ok()) features.merge(std::move(found));
  }
  return features;
}

std::string DescribeValues(const ExampleFeature& feature) {
  if (!feature.shape) return "any number";
  const std::string shape = feature.shape->ToString();
  if (!feature.default_value) return absl::StrCat(shape, ", required");
  if (feature.default_value->num_elements() == 0) {
    return absl::StrCat(shape, ", default computed");
  }
  return absl::StrCat(shape, ", default ",
                      TensorToJson(*feature.default_value).dump());
}

}  // namespace weft::tools
