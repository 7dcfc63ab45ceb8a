#include "libs/graph/graph_def.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "libs/base/text_proto.h"
#include "libs/graph/attr_value_proto.h"
#include "libs/graph/function_proto.h"
#include "libs/graph/graph_importer.h"
#include "libs/graph/graph_proto.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

constexpr size_t kMaxBytes = std::numeric_limits<int>::max();

tf::NodeDef NodeToProto(const Node& node, bool assigned_devices) {
  tf::NodeDef def;
  def.set_name(node.name());
  def.set_op(node.type());
  const bool assigned = assigned_devices && !node.assigned_device().empty();
  def.set_device(assigned ? node.assigned_device() : node.requested_device());
  for (const OutputTensor& input : node.inputs()) {
    if (input.node == nullptr) continue;  // a loop that is not closed yet
    *def.add_input() =
        input.index == 0 ? input.node->name() : TensorName(input);
  }
  for (const Node* control : node.control_inputs()) {
    *def.add_input() = absl::StrCat("^", control->name());
  }
  for (const auto& [name, value] : node.attrs()) {
    AttrValueToProto(value, &(*def.mutable_attr())[name]);
  }
  return def;
}

}  // namespace

absl::Status ImportGraphProto(const tf::GraphDef& def, Graph& graph,
                              const ImportOptions& options) {
  return GraphImporter(def, options, graph).Run();
}

void ExportGraphProto(const Graph& graph, int first_id, bool assigned_devices,
                      tf::GraphDef* def, int first_function) {
  for (int id = first_id; id < graph.num_nodes(); ++id) {
    *def->add_node() = NodeToProto(*graph.node(id), assigned_devices);
  }
  const FunctionLibrary& functions = graph.functions();
  if (functions.size() > first_function || !functions.gradients().empty()) {
    ExportFunctions(functions, first_function, def->mutable_library());
  }
  def->mutable_versions()->set_producer(
      graph.producer() == 0 ? kGraphDefVersion : graph.producer());
}

absl::Status ImportGraphDef(absl::string_view serialized, Graph& graph,
                            const ImportOptions& options) {
  tf::GraphDef def;
  if (serialized.size() > kMaxBytes ||
      !def.ParseFromArray(serialized.data(),
                          static_cast<int>(serialized.size()))) {
    return absl::InvalidArgumentError("The bytes are not a GraphDef");
  }
  return ImportGraphProto(def, graph, options);
}

absl::Status ImportGraphDefText(absl::string_view text, Graph& graph,
                                const ImportOptions& options) {
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError("The text of the GraphDef is too long");
  }
  tf::GraphDef def;
  const absl::Status parsed =
      ParseTextProto(text, def, {.allow_unknown_fields = true});
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The text is not a GraphDef: ", parsed.message()));
  }
  return ImportGraphProto(def, graph, options);
}

std::string ExportGraphDef(const Graph& graph, int first_id,
                           bool assigned_devices, int first_function) {
  tf::GraphDef def;
  ExportGraphProto(graph, first_id, assigned_devices, &def, first_function);
  std::string bytes;
  if (def.ByteSizeLong() > kMaxBytes) return bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);  // attrs in order of their names
  def.SerializeWithCachedSizes(&out);
  out.Trim();
  return bytes;
}

std::string ExportGraphDefText(const Graph& graph, int first_id,
                               bool assigned_devices) {
  tf::GraphDef def;
  ExportGraphProto(graph, first_id, assigned_devices, &def);
  std::string text;
  google::protobuf::TextFormat::PrintToString(def, &text);
  return text;
}

}  // namespace weft
