#include "libs/executor/node_trace.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

// Returns the name of an output as in a GraphDef: "x", "x:1".
std::string NameOfOutput(const NodeItem& item, int output) {
  std::string name(item.view.name);
  if (output > 0) absl::StrAppend(&name, ":", output);
  return name;
}

// Returns the stats of one output. For a reference, they describe the value
// that the variable has at this time.
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

void NodeTrace::NodeRan(const NodeItem& item, absl::Time begin,
                        size_t sent_bytes, const Slot* outputs, bool is_dead) {
  const int64_t start = absl::ToUnixNanos(begin);
  if (trace_.IsFull()) return trace_.AddOmitted(start);
  NodeExecStats stats;
  stats.node_name = std::string(item.view.name);
  stats.start_nanos = start;
  // A scheduler may have a clock that can be set back.
  stats.end_rel_nanos =
      std::max<int64_t>(absl::ToInt64Nanoseconds(Now() - begin), 0);
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
  const auto node = static_cast<size_t>(&item - plan_.nodes.data());
  const auto transfer = plan_.transfers.find(static_cast<int32_t>(node));
  if (transfer != plan_.transfers.end()) {
    return absl::StrCat("[", bytes, "B] ", item.view.name, " = ", item.view.op,
                        "(", transfer->second, ")");
  }
  return absl::StrCat(item.view.name, " = ", item.view.op, "(",
                      absl::StrJoin(InputsOf(node), ", "), ")");
}

std::vector<std::string> NodeTrace::InputsOf(size_t node) const {
  std::vector<std::string> names;
  const size_t first = plan_.first_source[node];
  for (int i = 0; i < plan_.nodes[node].num_inputs; ++i) {
    const InputSource& source = plan_.sources[first + i];
    if (source.node < 0) continue;
    names.push_back(NameOfOutput(plan_.nodes[source.node], source.output));
  }
  return names;
}

}  // namespace weft
