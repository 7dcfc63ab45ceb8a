#include "libs/graph/import/graph_def.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/base/text_proto.h"
#include "libs/graph/import/attr_value_proto.h"
#include "libs/graph/import/function_proto.h"
#include "libs/graph/import/graph_importer.h"
#include "libs/graph/import/graph_proto.h"
#include "libs/graph/version_rules.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

// Parsed messages are in an arena. On the heap, a protobuf map that gets no
// memory to grow is left broken, and so is its destructor.
using ::google::protobuf::Arena;

constexpr size_t kMaxBytes = kMaxGraphDefBytes;
// The number of largest nodes or functions that an error names.
constexpr size_t kNamed = 3;

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

// Writes the functions and the version to the GraphDef.
void ExportLibrary(const Graph& graph, int first_function, tf::GraphDef* def) {
  const FunctionLibrary& functions = graph.functions();
  if (functions.size() > first_function || !functions.gradients().empty()) {
    ExportFunctions(functions, first_function, def->mutable_library());
  }
  // A graph may have nodes of ops that are older than its version, from
  // functions that were built here or from its own program. VersionOfBuilt then
  // lowers the version.
  const int newest =
      graph.producer() == 0 ? kGraphDefVersion : graph.producer();
  def->mutable_versions()->set_producer(VersionOfBuilt(graph, newest));
}

bool IsWithin(size_t bytes, const ExportOptions& options) {
  return bytes <= static_cast<uint64_t>(options.max_bytes);
}

// Part is a node or function, and its size in bytes in the GraphDef.
struct Part {
  std::string name;
  std::string type;
  size_t bytes = 0;
};

// Returns the nodes and functions of the graph, the largest first.
std::vector<Part> PartsOf(const Graph& graph, const ExportOptions& options) {
  std::vector<Part> parts;
  for (int id = options.first_id; id < graph.num_nodes(); ++id) {
    const Node& node = *graph.node(id);
    const tf::NodeDef def = NodeToProto(node, options.assigned_devices);
    parts.push_back({node.name(), node.type(), def.ByteSizeLong()});
  }
  const auto functions = graph.functions().functions();
  for (size_t i = options.first_function; i < functions.size(); ++i) {
    const FunctionDef& function = *functions[i];
    parts.push_back(
        {function.signature.name, "function", function.serialized.size()});
  }
  std::stable_sort(
      parts.begin(), parts.end(),
      [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  return parts;
}

absl::Status TooLarge(const Graph& graph, const ExportOptions& options) {
  const std::vector<Part> parts = PartsOf(graph, options);
  std::string text;
  for (size_t i = 0; i < std::min(parts.size(), kNamed); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", "'", parts[i].name, "' (",
                    parts[i].type, ", ", parts[i].bytes, " bytes)");
  }
  if (parts.size() > kNamed) {
    absl::StrAppend(&text, " and ", parts.size() - kNamed, " more");
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "a GraphDef has at most ", options.max_bytes,
      " bytes, but this graph is larger. Its largest parts are: ", text,
      ". Feed large constants, or read them from files."));
}

// Adds the nodes to `def`. Stops at the first node beyond the size limit, so
// that no more memory is used.
absl::Status AddNodes(const Graph& graph, const ExportOptions& options,
                      tf::GraphDef& def) {
  size_t bytes = 0;
  for (int id = options.first_id; id < graph.num_nodes(); ++id) {
    tf::NodeDef* const node = def.add_node();
    *node = NodeToProto(*graph.node(id), options.assigned_devices);
    bytes += node->ByteSizeLong();
    if (IsWithin(bytes, options)) continue;
    def.Clear();
    return TooLarge(graph, options);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> WriteGraphDef(const Graph& graph,
                                          const ExportOptions& options) {
  tf::GraphDef def;
  RETURN_IF_ERROR(AddNodes(graph, options, def));
  ExportLibrary(graph, options.first_function, &def);
  const size_t size = def.ByteSizeLong();
  if (!IsWithin(size, options)) return TooLarge(graph, options);
  // The string is allocated with its final size, because a string that grows
  // takes at least twice the memory.
  std::string bytes(size, '\0');
  google::protobuf::io::ArrayOutputStream stream(bytes.data(),
                                                 static_cast<int>(size));
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);  // attrs sorted by name
  def.SerializeWithCachedSizes(&out);
  out.Trim();
  return bytes;
}

}  // namespace

absl::Status ImportGraphProto(const tf::GraphDef& def, Graph& graph,
                              const ImportOptions& options) {
  return CatchExceptions(
      [&] { return GraphImporter(def, options, graph).Run(); });
}

void ExportGraphProto(const Graph& graph, int first_id, bool assigned_devices,
                      tf::GraphDef* def, int first_function) {
  for (int id = first_id; id < graph.num_nodes(); ++id) {
    *def->add_node() = NodeToProto(*graph.node(id), assigned_devices);
  }
  ExportLibrary(graph, first_function, def);
}

absl::Status ImportGraphDef(absl::string_view serialized, Graph& graph,
                            const ImportOptions& options) {
  if (serialized.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("The GraphDef has ", serialized.size(), " bytes; ",
                     kMaxBytes, " can be read"));
  }
  return CatchExceptions([&]() -> absl::Status {
    Arena arena;
    tf::GraphDef& def = *Arena::CreateMessage<tf::GraphDef>(&arena);
    if (!def.ParseFromArray(serialized.data(),
                            static_cast<int>(serialized.size()))) {
      return absl::InvalidArgumentError(
          "The bytes are not a serialized GraphDef");
    }
    return ImportGraphProto(def, graph, options);
  });
}

absl::Status ImportGraphDefText(absl::string_view text, Graph& graph,
                                const ImportOptions& options) {
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError("The text of the GraphDef is too long");
  }
  return CatchExceptions([&]() -> absl::Status {
    Arena arena;
    tf::GraphDef& def = *Arena::CreateMessage<tf::GraphDef>(&arena);
    const absl::Status parsed =
        ParseTextProto(text, def, {.allow_unknown_fields = true});
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("The text is not a GraphDef: ", parsed.message()));
    }
    return ImportGraphProto(def, graph, options);
  });
}

absl::StatusOr<std::string> ExportGraphDef(const Graph& graph,
                                           const ExportOptions& options) {
  return CatchExceptions([&] { return WriteGraphDef(graph, options); });
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
