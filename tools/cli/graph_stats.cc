#include "tools/cli/graph_stats.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/gradients/gradients.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/near_nodes.h"
#include "libs/graph/unknown_op.h"
#include "libs/ops/standard_ops.h"
#include "libs/passes/prune.h"
#include "libs/passes/run_passes.h"
#include "libs/runtime/process/node_evaluator.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

struct Stats {
  int64_t nodes = 0;
  int64_t constant_bytes = 0;
  std::map<std::string, int64_t> by_op;
  std::map<std::string, int64_t> by_device;
  // nodes whose ops have no kernel
  std::map<std::string, int64_t> by_unknown_op;
};

// A count before and after the passes.
struct Change {
  int64_t before = 0;
  int64_t after = 0;
};
using Changes = std::map<std::string, Change>;

Stats StatsOf(const Graph& graph) {
  Stats stats;
  for (const Node* node : graph.nodes()) {
    // The graph of a step has _Retval nodes, which the file does not have.
    if (node->type() == "_Retval") continue;
    ++stats.nodes;
    ++stats.by_op[node->type()];
    ++stats.by_device[node->assigned_device()];
    if (IsUnknown(*node)) ++stats.by_unknown_op[node->type()];
    const Tensor* value =
        node->type() == "Const" ? node->attr<Tensor>("value") : nullptr;
    if (value != nullptr) {
      stats.constant_bytes += static_cast<int64_t>(value->num_bytes());
    }
  }
  return stats;
}

Changes Compare(const std::map<std::string, int64_t>& before,
                const std::map<std::string, int64_t>& after) {
  Changes changes;
  for (const auto& [name, count] : before) changes[name].before = count;
  for (const auto& [name, count] : after) changes[name].after = count;
  return changes;
}

absl::StatusOr<std::string> DeviceOf(const Node& node) {
  ASSIGN_OR_RETURN(const DeviceName requested,
                   DeviceName::Parse(node.requested_device()));
  const DeviceName otherwise{
      .job = "localhost", .replica = 0, .task = 0, .type = "CPU", .index = 0};
  return otherwise.OverriddenBy(requested).ToString();
}

absl::Status Place(Graph& graph) {
  for (const Node* node : graph.nodes()) {
    auto device = DeviceOf(*node);
    if (!device.ok()) {
      return Annotate(device.status(), absl::StrCat("node ", node->name()));
    }
    graph.set_assigned_device(node, *std::move(device));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Graph>> PruneTo(
    std::unique_ptr<Graph> graph, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return graph;
  CallableEnds ends;
  for (const std::string& name : wanted) {
    const Node* node = graph->FindNode(name);
    if (node != nullptr && node->num_outputs() == 0) {
      ends.targets.push_back(node);
      continue;
    }
    ASSIGN_OR_RETURN(const OutputTensor fetch,
                     FindTensorOrSuggest(*graph, name));
    ends.fetches.push_back(fetch);
  }
  return Prune(*graph, ends);
}

void AddRows(const std::string& kind, const Changes& changes, Table& table) {
  for (const auto& [name, change] : changes) {
    table.AddRow({kind, Printable(name), absl::StrCat(change.before),
                  absl::StrCat(change.after)});
  }
}

std::string TableText(const Stats& before, const Stats& after) {
  Table table({{""}, {""}, {"BEFORE", true}, {"AFTER", true}});
  table.AddRow(
      {"nodes", "", absl::StrCat(before.nodes), absl::StrCat(after.nodes)});
  table.AddRow({"constants", "", BytesText(before.constant_bytes),
                BytesText(after.constant_bytes)});
  AddRows("device", Compare(before.by_device, after.by_device), table);
  AddRows("op", Compare(before.by_op, after.by_op), table);
  AddRows("cannot run", Compare(before.by_unknown_op, after.by_unknown_op),
          table);
  return table.ToString();
}

Json ChangeJson(int64_t before, int64_t after) {
  return {{"before", before}, {"after", after}};
}

Json ChangesJson(const Changes& changes) {
  Json json = Json::object();
  for (const auto& [name, change] : changes) {
    json[name] = ChangeJson(change.before, change.after);
  }
  return json;
}

std::string StatsJson(const Stats& before, const Stats& after) {
  return JsonText(
      {{"nodes", ChangeJson(before.nodes, after.nodes)},
       {"constant_bytes",
        ChangeJson(before.constant_bytes, after.constant_bytes)},
       {"devices", ChangesJson(Compare(before.by_device, after.by_device))},
       {"ops", ChangesJson(Compare(before.by_op, after.by_op))},
       {"unknown_ops",
        ChangesJson(Compare(before.by_unknown_op, after.by_unknown_op))}});
}

}  // namespace

absl::StatusOr<std::string> GraphStatsView(
    Process& process, const GraphFile& file,
    const std::vector<std::string>& wanted, Format format) {
  auto graph = std::make_unique<Graph>(StandardOps());
  FunctionExpander expander(*graph, {.gradient = GradientFunction});
  RETURN_IF_ERROR(ImportGraphDef(file.graph_def, *graph, {.adder = &expander}));
  RETURN_IF_ERROR(Place(*graph));
  ASSIGN_OR_RETURN(graph, PruneTo(std::move(graph), wanted));
  const Stats before = StatsOf(*graph);
  graph = RunPasses(std::move(graph), {},
                    [&](const Node& node, absl::Span<const Tensor> inputs) {
                      return EvaluateNode(process, node, inputs);
                    });
  const Stats after = StatsOf(*graph);
  return format == Format::kJson ? StatsJson(before, after)
                                 : TableText(before, after);
}

}  // namespace weft::tools
