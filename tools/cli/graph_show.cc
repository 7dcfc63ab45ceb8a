#include "tools/cli/graph_show.h"

#include <regex.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

// POSIX's extended regular expressions: std::regex throws at bad patterns, and
// its recursion ends at long names.
class Pattern {
 public:
  static absl::StatusOr<std::unique_ptr<Pattern>> Create(
      const std::string& text) {
    auto pattern = std::make_unique<Pattern>();
    const int error =
        regcomp(&pattern->regex_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    pattern->is_compiled_ = error == 0;
    if (error == 0) return pattern;
    char why[200];
    regerror(error, &pattern->regex_, why, sizeof(why));
    return absl::InvalidArgumentError(absl::StrCat(
        "--name=", text, " is no extended regular expression: ", why));
  }
  ~Pattern() {
    if (is_compiled_) regfree(&regex_);
  }

  bool IsIn(const std::string& text) const {
    return regexec(&regex_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t regex_;
  bool is_compiled_ = false;
};

std::string AttrsText(const GraphFile::Node& node) {
  return absl::StrJoin(node.attrs, ", ", absl::PairFormatter("="));
}

std::string NodesText(const std::vector<const GraphFile::Node*>& nodes) {
  Table table({{"NODE"}, {"OP"}, {"DEVICE"}, {"INPUTS"}, {"ATTRS"}});
  for (const GraphFile::Node* node : nodes) {
    table.AddRow({node->name, node->op, node->device,
                  absl::StrJoin(node->inputs, ", "), AttrsText(*node)});
  }
  return table.ToString();
}

std::string NodesJson(const std::vector<const GraphFile::Node*>& nodes) {
  Json json = Json::array();
  for (const GraphFile::Node* node : nodes) {
    Json attrs = Json::object();
    for (const auto& [name, text] : node->attrs) attrs[name] = text;
    json.push_back({{"name", node->name},
                    {"op", node->op},
                    {"device", node->device},
                    {"inputs", node->inputs},
                    {"attrs", std::move(attrs)}});
  }
  return JsonText(json);
}

}  // namespace

absl::StatusOr<std::string> GraphNodesView(const GraphFile& file,
                                           const Invocation& invocation) {
  ASSIGN_OR_RETURN(const auto pattern,
                   Pattern::Create(invocation.name_pattern));
  const std::vector<std::string>& ops = invocation.ops;
  std::vector<const GraphFile::Node*> nodes;
  for (const GraphFile::Node& node : file.nodes) {
    if (!ops.empty() && std::count(ops.begin(), ops.end(), node.op) == 0) {
      continue;
    }
    if (pattern->IsIn(node.name)) nodes.push_back(&node);
  }
  return invocation.format == Format::kJson ? NodesJson(nodes)
                                            : NodesText(nodes);
}

}  // namespace weft::tools
