#include "libs/executor/node_trace.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

// As in a GraphDef: "x", "x:1".
std::string NameOfOutput(const NodeItem& item, int output) {
  std::string name(item.view.name);
  if (output > 0) absl::StrAppend(&name, ":", output);
  return name;
}

std::vector<std::vector<std::string>> InputsOf(const PlanImpl& plan) {
  std::vector<std::vector<std::string>> inputs(plan.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].resize(plan.nodes[i].num_inputs);
  }
  for (const NodeItem& from : plan.nodes) {
    for (int e = from.first_edge; e < from.end_edge; ++e) {
      const Edge& edge = plan.edges[e];
      if (edge.is_control()) continue;
      const int input = edge.slot - plan.nodes[edge.node].first_input;
      inputs[edge.node][input] = NameOfOutput(from, edge.output);
    }
  }
  for (std::vector<std::string>& names : inputs) {
    std::erase(names, "");
  }
  return inputs;
}

// Of one output; a reference is what its variable will be when it is read.
OutputStats StatsOf(int slot, const Slot& output) {
  OutputStats stats{.slot = slot};
  if (output.is_dead || output.is_ref() || !output.tensor.IsInitialized()) {
    return stats;
  }
  const Tensor& tensor = output.tensor;
  stats.dtype = static_cast<int32_t>(tensor.dtype());
  for (const int64_t size : tensor.shape().dims()) stats.dims.push_back(size);
  stats.num_bytes = static_cast<int64_t>(tensor.TotalBytes());
  return stats;
}

}  // namespace

NodeTrace::NodeTrace(const PlanImpl& plan, DeviceTrace& trace,
                     const Clock& clock)
    : plan_(plan), trace_(trace), clock_(clock), inputs_(InputsOf(plan)) {}

void NodeTrace::NodeRan(const NodeItem& item, absl::Time begin,
                        size_t sent_bytes, const Slot* outputs, bool is_dead) {
  NodeExecStats stats;
  stats.node_name = std::string(item.view.name);
  stats.start_nanos = absl::ToUnixNanos(begin);
  stats.end_rel_nanos = absl::ToInt64Nanoseconds(Now() - begin);
  size_t received_bytes = 0;
  for (int i = 0; !is_dead && i < item.num_outputs; ++i) {
    stats.output.push_back(StatsOf(i, outputs[i]));
    received_bytes += static_cast<size_t>(stats.output.back().num_bytes);
  }
  stats.timeline_label =
      LabelOf(item, item.is_recv ? received_bytes : sent_bytes);
  if (item.kind == NodeKind::kAsync) {
    trace_.AddWait(std::move(stats));
  } else {
    trace_.AddOnThread(std::move(stats));
  }
}

std::string NodeTrace::LabelOf(const NodeItem& item, size_t bytes) const {
  const auto node = static_cast<int32_t>(&item - plan_.nodes.data());
  const auto transfer = plan_.transfers.find(node);
  if (transfer != plan_.transfers.end()) {
    return absl::StrCat("[", bytes, "B] ", item.view.name, " = ", item.view.op,
                        "(", transfer->second, ")");
  }
  return absl::StrCat(item.view.name, " = ", item.view.op, "(",
                      absl::StrJoin(inputs_[node], ", "), ")");
}

}  // namespace weft
