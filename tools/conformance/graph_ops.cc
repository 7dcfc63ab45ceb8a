#include "tools/conformance/graph_ops.h"

#include <map>
#include <utility>
#include <vector>

#include "schemas/tf/graph.pb.h"

namespace weft::conformance {
namespace {

void AddFunctions(const tf::AttrValue& value, std::vector<std::string>& names) {
  if (value.has_func()) names.push_back(value.func().name());
  for (const auto& function : value.list().func()) {
    names.push_back(function.name());
  }
}

// Appends the op of the node and the names of functions in its attrs. The op
// may also be the name of a function.
void AddCalled(const tf::NodeDef& node, std::vector<std::string>& names) {
  names.push_back(node.op());
  for (const auto& [name, value] : node.attr()) AddFunctions(value, names);
}

}  // namespace

absl::StatusOr<std::set<std::string>> OpsOf(absl::string_view graph_def) {
  tf::GraphDef graph;
  if (!graph.ParseFromArray(graph_def.data(),
                            static_cast<int>(graph_def.size()))) {
    return absl::InvalidArgumentError("the bytes are not a GraphDef");
  }
  std::map<std::string, const tf::FunctionDef*> functions;
  for (const tf::FunctionDef& function : graph.library().function()) {
    functions[function.signature().name()] = &function;
  }
  std::vector<std::string> names;
  for (const tf::NodeDef& node : graph.node()) AddCalled(node, names);
  std::set<std::string> seen;
  std::set<std::string> ops;
  while (!names.empty()) {
    const std::string name = std::move(names.back());
    names.pop_back();
    if (!seen.insert(name).second) continue;
    const auto function = functions.find(name);
    if (function == functions.end()) {
      ops.insert(name);
      continue;
    }
    for (const tf::NodeDef& node : function->second->node_def()) {
      AddCalled(node, names);
    }
  }
  return ops;
}

}  // namespace weft::conformance
