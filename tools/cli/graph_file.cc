#include "tools/cli/graph_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "libs/base/status.h"
#include "libs/base/text_proto.h"
#include "libs/graph/producer_defaults.h"
#include "libs/ops/standard_ops.h"
#include "schemas/tf/graph.pb.h"
#include "schemas/tf/meta_graph.pb.h"
#include "tools/cli/attr_text.h"

namespace weft::tools {
namespace {

// A serialised graph with a node has bytes that no text has: its fields are
// numbered 0x12, 0x1a and so on.
bool IsText(const std::string& content) {
  return std::none_of(content.begin(), content.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') ||
           byte == 0x7f;
  });
}

// Takes the graph out, rid of what is newer than our ops and does nothing.
tf::GraphDef GraphOf(tf::MetaGraphDef& meta) {
  tf::GraphDef graph = std::move(*meta.mutable_graph_def());
  DropNewDefaults(meta.meta_info_def().stripped_op_list(), *StandardOps(),
                  graph);
  return graph;
}

absl::StatusOr<tf::GraphDef> ParseText(const std::string& content) {
  tf::GraphDef graph;
  const absl::Status parsed = ParseTextProto(content, graph);
  if (parsed.ok()) return graph;
  tf::MetaGraphDef meta;
  const absl::Status as_meta =
      ParseTextProto(content, meta, {.allow_unknown_fields = true});
  if (as_meta.ok() && meta.has_graph_def()) return GraphOf(meta);
  if (!as_meta.ok() && absl::StrContains(content, "graph_def {")) {
    return absl::InvalidArgumentError(
        absl::StrCat("not the text of a MetaGraphDef: ", as_meta.message()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("not the text of a GraphDef: ", parsed.message()));
}

// Bytes of one message often are bytes of another one, with fields that make
// no sense.
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

absl::StatusOr<tf::GraphDef> ParseBinary(const std::string& content) {
  if (content.size() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError("a GraphDef is no larger than 2 GiB");
  }
  // A file is tried as either, and protobuf would log what the wrong one is.
  const google::protobuf::LogSilencer silence;
  tf::GraphDef graph;
  if (graph.ParseFromString(content) && MakesSense(graph)) return graph;
  tf::MetaGraphDef meta;
  if (meta.ParseFromString(content) && meta.has_graph_def() &&
      MakesSense(meta.graph_def())) {
    return GraphOf(meta);
  }
  return absl::InvalidArgumentError(
      "not a serialised GraphDef or MetaGraphDef, or damaged");
}

}  // namespace

absl::StatusOr<GraphFile> ReadGraphFile(absl::string_view path,
                                        const std::string& content) {
  const bool is_text = !content.empty() && IsText(content);
  ASSIGN_OR_RETURN(const tf::GraphDef graph,
                   is_text || absl::EndsWith(path, ".pbtxt")
                       ? ParseText(content)
                       : ParseBinary(content));
  GraphFile file;
  for (const tf::NodeDef& node : graph.node()) {
    file.nodes.push_back({node.name(),
                          node.op(),
                          {node.input().begin(), node.input().end()},
                          node.device(),
                          AttrsThatMatter(node, *StandardOps())});
  }
  if (!graph.SerializeToString(&file.graph_def)) {
    return absl::InvalidArgumentError("a GraphDef is no larger than 2 GiB");
  }
  return file;
}

}  // namespace weft::tools
