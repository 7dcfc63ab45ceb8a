#include "tools/cli/graph_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "libs/base/status.h"
#include "libs/base/text_proto.h"
#include "libs/graph/import/producer_defaults.h"
#include "libs/ops/standard_ops.h"
#include "schemas/tf/graph.pb.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/saved_model.pb.h"
#include "tools/cli/attr_text.h"

namespace weft::tools {
namespace {

// Returns whether the content is text. A serialized graph with a node is not
// text, because its fields have tags such as 0x12 and 0x1a.
bool IsText(const std::string& content) {
  return std::none_of(content.begin(), content.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') ||
           byte == 0x7f;
  });
}

// Takes the graph out of a MetaGraphDef. Removes attrs that are unknown here if
// they have the default of the writer's op.
tf::GraphDef GraphOf(tf::MetaGraphDef& meta) {
  tf::GraphDef graph = std::move(*meta.mutable_graph_def());
  DropNewDefaults(meta.meta_info_def().stripped_op_list(), *StandardOps(),
                  graph);
  return graph;
}

// Returns whether a graph looks valid after parsing. The bytes of another
// message type can often be parsed as a GraphDef, but then its fields are
// meaningless.
bool MakesSense(const tf::GraphDef& graph) {
  if (!graph.GetReflection()->GetUnknownFields(graph).empty() &&
      graph.node().empty()) {
    return false;
  }
  const auto is_named = [](const tf::NodeDef& node) {
    return !node.name().empty() && !node.op().empty() && IsText(node.name()) &&
           IsText(node.op());
  };
  const auto has_signature = [](const tf::FunctionDef& function) {
    return !function.signature().name().empty();
  };
  const auto& functions = graph.library().function();
  return std::all_of(graph.node().begin(), graph.node().end(), is_named) &&
         std::all_of(functions.begin(), functions.end(), has_signature);
}

absl::Status ItIsASavedModel() {
  return absl::InvalidArgumentError(
      "a SavedModel, which may contain several graphs; `weft saved_model show "
      "DIR` shows it, and `weft predict --model=DIR` runs it");
}

// Parses a GraphDef as text, ignoring fields of newer writers as in the binary
// form. Text with only unknown fields, or with a misspelled field name, is an
// error.
absl::StatusOr<tf::GraphDef> ParseNewerText(const std::string& content,
                                            const absl::Status& strict) {
  tf::GraphDef graph;
  const absl::Status parsed =
      ParseTextProto(content, graph, {.allow_unknown_fields = true});
  const bool is_empty = graph.node_size() == 0 && !graph.has_library();
  if (parsed.ok() && !is_empty && MakesSense(graph)) return graph;
  const absl::Status& why = parsed.ok() ? strict : parsed;
  return absl::InvalidArgumentError(
      absl::StrCat("not the text of a GraphDef: ", why.message()));
}

absl::StatusOr<tf::GraphDef> ParseText(const std::string& content) {
  tf::GraphDef graph;
  const absl::Status parsed = ParseTextProto(content, graph);
  if (parsed.ok()) return graph;
  tf::MetaGraphDef meta;
  const absl::Status as_meta =
      ParseTextProto(content, meta, {.allow_unknown_fields = true});
  if (as_meta.ok() && meta.has_graph_def()) return GraphOf(meta);
  tf::SavedModel model;
  if (ParseTextProto(content, model, {.allow_unknown_fields = true}).ok() &&
      model.meta_graphs_size() > 0) {
    return ItIsASavedModel();
  }
  if (!as_meta.ok() && absl::StrContains(content, "graph_def {")) {
    return absl::InvalidArgumentError(
        absl::StrCat("not the text of a MetaGraphDef: ", as_meta.message()));
  }
  return ParseNewerText(content, parsed);
}

absl::StatusOr<tf::GraphDef> ParseBinary(const std::string& content) {
  if (content.size() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(
        "the graph exceeds 2 GiB, the maximum size of a GraphDef");
  }
  // The content is parsed as one message type after the other. Protobuf would
  // log an error for each wrong type.
  const google::protobuf::LogSilencer silence;
  tf::GraphDef graph;
  if (graph.ParseFromString(content) && MakesSense(graph)) return graph;
  tf::MetaGraphDef meta;
  if (meta.ParseFromString(content) && meta.has_graph_def() &&
      MakesSense(meta.graph_def())) {
    return GraphOf(meta);
  }
  tf::SavedModel model;
  if (model.ParseFromString(content) && model.meta_graphs_size() > 0 &&
      MakesSense(model.meta_graphs(0).graph_def())) {
    return ItIsASavedModel();
  }
  return absl::InvalidArgumentError(
      "not a serialised GraphDef or MetaGraphDef, or corrupt");
}

// Calls `visit` with the nodes of the graph and of each of its functions.
template <typename Visit>
void VisitNodes(tf::GraphDef& graph, Visit visit) {
  for (tf::NodeDef& node : *graph.mutable_node()) visit(node);
  if (!graph.has_library()) return;
  for (auto& function : *graph.mutable_library()->mutable_function()) {
    for (tf::NodeDef& node : *function.mutable_node_def()) visit(node);
  }
}

absl::flat_hash_set<std::string> FunctionNames(const tf::GraphDef& graph) {
  absl::flat_hash_set<std::string> names;
  for (const auto& function : graph.library().function()) {
    names.insert(function.signature().name());
  }
  return names;
}

}  // namespace

absl::StatusOr<GraphFile> ReadGraphFile(absl::string_view path,
                                        const std::string& content,
                                        const GraphFileOptions& options) {
  const bool is_text = !content.empty() && IsText(content);
  ASSIGN_OR_RETURN(tf::GraphDef graph, is_text || absl::EndsWith(path, ".pbtxt")
                                           ? ParseText(content)
                                           : ParseBinary(content));
  if (options.clear_devices) {
    VisitNodes(graph, [](tf::NodeDef& node) { node.clear_device(); });
  }
  GraphFile file;
  const absl::flat_hash_set<std::string> functions = FunctionNames(graph);
  for (const tf::NodeDef& node : graph.node()) {
    file.nodes.push_back({node.name(),
                          node.op(),
                          {node.input().begin(), node.input().end()},
                          node.device(),
                          AttrsThatMatter(node, *StandardOps())});
    file.nodes.back().is_unknown_op =
        StandardOps()->Find(node.op()) == nullptr &&
        !functions.contains(node.op());
  }
  if (!graph.SerializeToString(&file.graph_def)) {
    return absl::InvalidArgumentError(
        "the graph exceeds 2 GiB, the maximum size of a GraphDef");
  }
  return file;
}

}  // namespace weft::tools
