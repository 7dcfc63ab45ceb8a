#include "libs/master/callable.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/near_nodes.h"
#include "libs/graph/unknown_op.h"
#include "libs/master/partial_run.h"
#include "libs/partition/partition.h"
#include "libs/passes/prune.h"

namespace weft {
namespace {

// The number of unknown targets for which similar names are suggested: each
// search compares all nodes.
constexpr int kMostSuggestedFor = 3;

// A GraphVersion is the first `num_nodes` nodes of a graph.
struct GraphVersion {
  const Graph& graph;
  int num_nodes = 0;

  absl::StatusOr<OutputTensor> FindOutputTensor(const std::string& name) const {
    ASSIGN_OR_RETURN(const OutputTensor found,
                     FindTensorOrSuggest(graph, name));
    if (found.node->id() < num_nodes) return found;
    return absl::NotFoundError(
        absl::StrCat("node '", found.node->name(), "' is still being placed"));
  }
  const Node* FindNode(const std::string& name) const {
    const Node* found = graph.FindNode(name);
    return found != nullptr && found->id() < num_nodes ? found : nullptr;
  }
};

absl::StatusOr<OutputTensor> FindTensor(const GraphVersion& graph,
                                        const std::string& name,
                                        absl::StatusCode unknown_code) {
  absl::StatusOr<OutputTensor> found = graph.FindOutputTensor(name);
  if (found.ok()) return found;
  // The outputs of an unknown node are not known.
  const Node* node = graph.FindNode(name.substr(0, name.rfind(':')));
  if (node != nullptr && IsUnknown(*node)) return found;
  return absl::Status(
      unknown_code,
      absl::StrCat("Tensor ", name,
                   ", specified as a feed or a fetch, was not found in the "
                   "graph: ",
                   found.status().message()));
}

absl::StatusOr<CallableEnds> ResolveNames(const GraphVersion& graph,
                                          const protocol::CallableSpec& spec,
                                          absl::StatusCode unknown_code) {
  CallableEnds ends;
  FlatHashSet<OutputTensor> fed;
  for (const std::string& name : spec.feeds) {
    ASSIGN_OR_RETURN(OutputTensor feed, FindTensor(graph, name, unknown_code));
    if (!fed.insert(feed).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("Endpoint \"", name, "\" fed more than once."));
    }
    ends.feeds.push_back(feed);
  }
  for (const std::string& name : spec.fetches) {
    ASSIGN_OR_RETURN(OutputTensor fetch, FindTensor(graph, name, unknown_code));
    if (fed.contains(fetch)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is both fed and fetched."));
    }
    ends.fetches.push_back(fetch);
  }
  std::string unknown, suggestion;
  int num_unknown = 0;
  for (const std::string& name : spec.targets) {
    const Node* target = graph.FindNode(name);
    if (target == nullptr) {
      absl::StrAppend(&unknown, " ", name);
      if (++num_unknown <= kMostSuggestedFor) {
        absl::StrAppend(&suggestion, SuggestNodes(graph.graph, name));
      }
    } else {
      ends.targets.push_back(target);
    }
  }
  if (!unknown.empty()) {
    return absl::NotFoundError(
        absl::StrCat("Some target nodes not found in the graph:", unknown,
                     suggestion.empty() ? "" : ".", suggestion));
  }
  return ends;
}

absl::Status CheckPartialRun(const CallableEnds& ends) {
  if (ends.fetches.empty() && ends.targets.empty()) {
    return absl::InvalidArgumentError(
        "Specify at least one target to fetch or execute.");
  }
  FlatHashSet<OutputTensor> fetched;
  for (const OutputTensor& fetch : ends.fetches) {
    if (fetched.insert(fetch).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Endpoint \"", fetch.node->name(), ":", fetch.index,
                     "\" fetched more than once."));
  }
  return absl::OkStatus();
}

// Most callables use one device, and then their graph is the partition.
absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> Partition(
    std::unique_ptr<Graph> pruned) {
  std::map<std::string, std::unique_ptr<Graph>> result;
  if (pruned->num_nodes() == 0) return result;
  const std::string& first = pruned->node(0)->assigned_device();
  for (const Node* node : pruned->nodes()) {
    if (node->assigned_device() != first) return PartitionGraph(*pruned);
  }
  result[first] = std::move(pruned);
  return result;
}

// Adds the indices of the callable's feeds or fetches of the graph's nodes of
// type `op`.
void AddIndices(const Graph& graph, absl::string_view op,
                std::vector<int>& indices) {
  for (const Node* node : graph.nodes()) {
    if (node->type() != op) continue;
    indices.push_back(static_cast<int>(*node->attr<int64_t>("index")));
  }
}

// The minimum hold. A shorter one would end before a task could report that no
// step runs.
constexpr absl::Duration kLeastHold = absl::Milliseconds(10);

// Returns the longest hold that a _MarkVariables node of the graph requests;
// nullopt if there is no such node.
std::optional<absl::Duration> FindMaxHold(const Graph& graph) {
  std::optional<absl::Duration> max_hold;
  for (const Node* node : graph.nodes()) {
    if (node->type() != "_MarkVariables") continue;
    const absl::Duration asked =
        absl::Microseconds(*node->attr<int64_t>("max_hold_micros"));
    max_hold = std::max(max_hold.value_or(kLeastHold), asked);
  }
  return max_hold;
}

bool AwaitsVariables(const Graph& graph) {
  return absl::c_any_of(graph.nodes(), [](const Node* node) {
    return node->type() == "WaitForVariable" ||
           node->type() == "WaitForRefVariable";
  });
}

absl::StatusOr<std::string> TaskOfDevice(const std::string& device) {
  ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(device));
  return name.TaskOnly().ToString();
}

// Lists the tensors that the part sends to `task`; the first few by name.
absl::StatusOr<std::string> DescribeSends(const Callable::Part& part,
                                          const std::string& task) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> names;
  size_t count = 0;
  for (const protocol::DevicePartition& partition : part.partitions) {
    for (const Node* node : partition.graph->nodes()) {
      if (node->type() != "_Send") continue;
      ASSIGN_OR_RETURN(const std::string receiver,
                       TaskOfDevice(*node->attr<std::string>("recv_device")));
      if (receiver != task || ++count > kNamed) continue;
      names.push_back(
          absl::StrCat("tensor ", *node->attr<std::string>("tensor_name")));
    }
  }
  if (count == 0) return std::string();
  return absl::StrCat(
      ", sends ", task, " [", absl::StrJoin(names, ", "),
      count > kNamed ? absl::StrCat(" and ", count - kNamed, " more") : "",
      "]");
}

absl::Status GroupByTask(
    std::map<std::string, std::unique_ptr<Graph>> by_device,
    protocol::WorkerDirectory& directory, const std::string& own_task,
    Callable& callable) {
  std::map<std::string, Callable::Part> parts;
  for (auto& [device, graph] : by_device) {
    ASSIGN_OR_RETURN(const std::string task, TaskOfDevice(device));
    Callable::Part& part = parts[task];
    part.task = task;
    part.worker = directory.Find(task);
    if (part.worker == nullptr) {
      return absl::InternalError(
          absl::StrCat("no task of this master has the device ", device));
    }
    AddIndices(*graph, "_Arg", part.feeds);
    AddIndices(*graph, "_Retval", part.fetches);
    part.partitions.push_back(
        {device, std::shared_ptr<const Graph>(std::move(graph))});
  }
  auto own = parts.extract(own_task);
  for (auto& [task, part] : parts) {
    ASSIGN_OR_RETURN(part.sends, DescribeSends(part, own_task));
  }
  for (auto& [task, part] : parts) callable.parts.push_back(std::move(part));
  if (own) callable.parts.push_back(std::move(own.mapped()));
  return absl::OkStatus();
}

}  // namespace

absl::Status Callable::CheckFeeds(absl::Span<const Tensor> feeds) const {
  if (feeds.size() != feed_types.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("This callable takes ", feed_types.size(), " feeds, but ",
                     feeds.size(), " were given."));
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i].dtype() == feed_types[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Expects arg[", i, "] to be ", DataTypeName(feed_types[i]),
                     " but ", DataTypeName(feeds[i].dtype()),
                     " is provided (feed of ", spec.feeds[i], ")."));
  }
  return absl::OkStatus();
}

absl::StatusOr<PrunedCallable> PruneCallable(
    const Graph& graph, int num_nodes, const protocol::CallableSpec& spec,
    absl::StatusCode unknown_tensor_code, const std::string& own_task) {
  ASSIGN_OR_RETURN(CallableEnds ends,
                   ResolveNames({graph, num_nodes}, spec, unknown_tensor_code));
  if (spec.is_partial) {
    RETURN_IF_ERROR(CheckPartialRun(ends));
    ends.client_device = absl::StrCat(own_task, "/device:CPU:0");
  }
  PrunedCallable pruned{.spec = spec};
  for (const OutputTensor& feed : ends.feeds) {
    pruned.feed_types.push_back(
        RemoveRefType(feed.node->output_type(feed.index)));
  }
  ASSIGN_OR_RETURN(pruned.graph, Prune(graph, ends));
  return pruned;
}

absl::Status Callable::NameEnds(const Part& part,
                                const absl::Status& status) const {
  const auto names = [](const std::vector<std::string>& all,
                        const std::vector<int>& indices) {
    return absl::StrJoin(indices, ", ", [&](std::string* out, int index) {
      absl::StrAppend(out, all[index]);
    });
  };
  if (part.feeds.empty() && part.fetches.empty() && part.sends.empty()) {
    return status;
  }
  return Append(
      status,
      absl::StrCat("[[", part.task, " takes feeds [",
                   names(spec.feeds, part.feeds), "], makes fetches [",
                   names(spec.fetches, part.fetches), "]", part.sends, "]]"));
}

absl::StatusOr<std::shared_ptr<Callable>> CompileCallable(
    PrunedCallable pruned, const PassOptions& passes,
    const NodeEvaluator& evaluate, protocol::WorkerDirectory& directory,
    const std::string& own_task) {
  auto callable = std::make_shared<Callable>();
  callable->spec = std::move(pruned.spec);
  callable->feed_types = std::move(pruned.feed_types);
  std::unique_ptr<Graph> graph =
      RunPasses(std::move(pruned.graph), passes, evaluate);
  callable->max_hold = FindMaxHold(*graph);
  callable->awaits_variables = AwaitsVariables(*graph);
  if (callable->spec.is_partial) {
    callable->partial = std::make_shared<PartialRun>(
        callable->feed_types, callable->spec.fetches.size(),
        std::exchange(callable->spec.keeps_open, nullptr));
  }
  ASSIGN_OR_RETURN(auto by_device, Partition(std::move(graph)));
  RETURN_IF_ERROR(
      GroupByTask(std::move(by_device), directory, own_task, *callable));
  return callable;
}

absl::StatusOr<std::vector<std::string>> ExportPartitions(
    const Callable& callable) {
  std::map<std::string, std::string> by_device;
  for (const Callable::Part& part : callable.parts) {
    for (const protocol::DevicePartition& partition : part.partitions) {
      auto graph = ExportGraphDef(*partition.graph, {.assigned_devices = true});
      if (!graph.ok()) {
        return Append(
            Annotate(graph.status(), absl::StrCat("the part of the graph for ",
                                                  partition.device)),
            "Or run without output_partition_graphs.");
      }
      by_device[partition.device] = *std::move(graph);
    }
  }
  std::vector<std::string> graphs;
  for (auto& [device, graph] : by_device) graphs.push_back(std::move(graph));
  return graphs;
}

}  // namespace weft
