#include "tools/cli/graph_file.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/base/text_proto.h"
#include "schemas/tf/graph.pb.h"

namespace weft::tools {
namespace {

absl::Status ParseText(const std::string& content, tf::GraphDef& graph) {
  const absl::Status parsed = ParseTextProto(content, graph);
  if (parsed.ok()) return parsed;
  return absl::InvalidArgumentError(
      absl::StrCat("not the text of a GraphDef: ", parsed.message()));
}

absl::Status ParseBinary(const std::string& content, tf::GraphDef& graph) {
  if (content.size() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError("a GraphDef is no larger than 2 GiB");
  }
  if (graph.ParseFromString(content)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "not a serialised GraphDef (the text format is in files that end with "
      ".pbtxt)");
}

}  // namespace

absl::StatusOr<GraphFile> ReadGraphFile(absl::string_view path,
                                        const std::string& content) {
  tf::GraphDef graph;
  RETURN_IF_ERROR(absl::EndsWith(path, ".pbtxt") ? ParseText(content, graph)
                                                 : ParseBinary(content, graph));
  GraphFile file;
  for (const tf::NodeDef& node : graph.node()) {
    file.nodes.push_back({node.name(),
                          node.op(),
                          {node.input().begin(), node.input().end()},
                          node.device()});
  }
  if (!graph.SerializeToString(&file.graph_def)) {
    return absl::InvalidArgumentError("a GraphDef is no larger than 2 GiB");
  }
  return file;
}

}  // namespace weft::tools
