#include "tools/cli/graph_show.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "re2/re2.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

std::string AttrsText(const GraphFile::Node& node) {
  return absl::StrJoin(node.attrs, ", ", absl::PairFormatter("="));
}

// Lists the ops in `nodes` for which Weft has no kernel. Returns "" if there
// are none.
std::string UnknownOpsText(const std::vector<const GraphFile::Node*>& nodes) {
  std::map<std::string, int64_t> counts;
  for (const GraphFile::Node* node : nodes) {
    if (node->is_unknown_op) ++counts[Printable(node->op)];
  }
  if (counts.empty()) return "";
  std::vector<std::string> texts;
  for (const auto& [op, count] : counts) {
    texts.push_back(absl::StrCat(op, " (", CountText(count, "node"), ")"));
  }
  return absl::StrCat(
      "\nOps that are not registered: ", absl::StrJoin(texts, ", "), "\n");
}

std::string NodesText(const std::vector<const GraphFile::Node*>& nodes) {
  Table table({{"NODE"}, {"OP"}, {"DEVICE"}, {"INPUTS"}, {"ATTRS"}});
  for (const GraphFile::Node* node : nodes) {
    table.AddRow({node->name, node->op, node->device,
                  absl::StrJoin(node->inputs, ", "), AttrsText(*node)});
  }
  return absl::StrCat(table.ToString(), UnknownOpsText(nodes));
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
    if (node->is_unknown_op) json.back()["unknown_op"] = true;
  }
  return JsonText(json);
}

}  // namespace

absl::StatusOr<std::string> GraphNodesView(const GraphFile& file,
                                           const Invocation& invocation) {
  const RE2 pattern(invocation.name_pattern, RE2::Quiet);
  if (!pattern.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--name=", invocation.name_pattern,
                     " is not a regular expression: ", pattern.error()));
  }
  const std::vector<std::string>& ops = invocation.ops;
  std::vector<const GraphFile::Node*> nodes;
  for (const GraphFile::Node& node : file.nodes) {
    if (!ops.empty() && std::count(ops.begin(), ops.end(), node.op) == 0) {
      continue;
    }
    if (RE2::PartialMatch(node.name, pattern)) nodes.push_back(&node);
  }
  return invocation.format == Format::kJson ? NodesJson(nodes)
                                            : NodesText(nodes);
}

}  // namespace weft::tools
