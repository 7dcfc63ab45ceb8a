#include "tools/cli/graph_file.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "libs/base/status.h"
#include "schemas/tf/graph.pb.h"

namespace weft::tools {
namespace {

// Keeps the first mistake of a text, with its place.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ =
        absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber,
                  const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::Status ParseText(const std::string& content, tf::GraphDef& graph) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(content, &graph)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("not the text of a GraphDef: ", error.text()));
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
