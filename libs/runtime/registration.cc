#include "libs/runtime/registration.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/graph/placement_graph.h"
#include "libs/runtime/running_step.h"

namespace weft {
namespace {

absl::StatusOr<std::string> TaskOf(const Node& node, absl::string_view attr) {
  const std::string* device = node.attr<std::string>(attr);
  if (device == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("Node ", node.name(), " has no attr ", attr, "."));
  }
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(*device));
  return name.TaskOnly().ToString();
}

absl::StatusOr<protocol::Worker*> FindTask(protocol::WorkerDirectory* directory,
                                           const std::string& task,
                                           const Node& node) {
  protocol::Worker* found = directory ? directory->Find(task) : nullptr;
  if (found != nullptr) return found;
  return absl::NotFoundError(absl::StrCat(
      "Node ", node.name(), " sends to ", task,
      ", which is not a task of this cluster. Check the cluster spec."));
}

uint64_t EdgeOf(const Node& node) {
  return static_cast<uint64_t>(*node.attr<int64_t>("edge"));
}

}  // namespace

void AddContainers(const Graph& graph, const ResourceManager& resources,
                   Registration::Containers& containers) {
  for (const Node* node : graph.nodes()) {
    const std::optional<std::string> name = SharedContainerOf(*node);
    if (!name) continue;
    containers.insert(
        {&resources, name->empty() ? resources.default_container() : *name});
  }
}

Registration::Ends FindEnds(
    const std::vector<protocol::DevicePartition>& partitions) {
  Registration::Ends ends;
  for (const protocol::DevicePartition& partition : partitions) {
    for (const Node* node : partition.graph->nodes()) {
      const bool is_arg = node->type() == "_Arg";
      if (!is_arg && node->type() != "_Retval") continue;
      const auto index = static_cast<size_t>(*node->attr<int64_t>("index"));
      if (is_arg) {
        ends.args.push_back({index, node->output_type(0), node->name()});
      } else {
        ends.num_retvals = std::max(ends.num_retvals, index + 1);
      }
    }
  }
  return ends;
}

absl::StatusOr<Registration::Edges> FindEdges(
    const std::vector<protocol::DevicePartition>& partitions,
    const std::string& task, protocol::WorkerDirectory* directory) {
  Registration::Edges edges;
  auto receivers = std::make_shared<PeerTasks>();
  for (const protocol::DevicePartition& partition : partitions) {
    for (const Node* node : partition.graph->nodes()) {
      const bool sends = node->type() == "_Send";
      if (!sends && node->type() != "_Recv") continue;
      ASSIGN_OR_RETURN(const std::string other,
                       TaskOf(*node, sends ? "recv_device" : "send_device"));
      if (other == task) continue;
      edges.peers.all.insert(other);
      (sends ? *receivers : edges.peers.senders).insert(other);
      edges.peers.edges[EdgeOf(*node)] =
          *node->attr<std::string>("tensor_name");
      if (!sends) continue;
      ASSIGN_OR_RETURN(protocol::Worker * worker,
                       FindTask(directory, other, *node));
      edges.outgoing[EdgeOf(*node)] = worker;
    }
  }
  if (!receivers->empty()) edges.peers.receivers = std::move(receivers);
  return edges;
}

Registration::Registration(std::shared_ptr<void> keep_alive,
                           std::vector<DevicePlan> plans, Ends ends,
                           Edges edges, VariableUses variables,
                           Containers containers, Scheduler* scheduler,
                           FileSystem* file_system,
                           std::shared_ptr<RuntimeMetrics> metrics)
    : keep_alive_(std::move(keep_alive)),
      plans_(std::move(plans)),
      ends_(std::move(ends)),
      edges_(std::move(edges)),
      variables_(std::move(variables)),
      containers_(std::move(containers)),
      scheduler_(scheduler),
      file_system_(file_system),
      metrics_(std::move(metrics)) {}

Registration::~Registration() = default;

absl::Status Registration::Check(const protocol::PartitionStep& step) const {
  if (step.fetches.size() < ends_.num_retvals) {
    return absl::InvalidArgumentError(absl::StrCat(
        "A step requests ", step.fetches.size(),
        " fetches from a partition that returns ", ends_.num_retvals));
  }
  for (const Ends::Arg& arg : ends_.args) {
    const DataType given = arg.index < step.feeds.size()
                               ? step.feeds[arg.index].dtype()
                               : DT_INVALID;
    if (given == arg.type) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "A step feeds ", DataTypeName(given), " to node ", arg.node,
        ", which takes ", DataTypeName(arg.type), " (feed ", arg.index, ")"));
  }
  return absl::OkStatus();
}

bool Registration::DescribeWaits(uint64_t step,
                                 std::vector<std::string>& waits) const {
  bool runs = false;
  for (const DevicePlan& device : plans_) {
    runs |= device.plan->DescribeWaits(step, waits);
  }
  return runs;
}

void Registration::CountWaits(std::map<std::string, int64_t>& waits) const {
  for (const DevicePlan& device : plans_) device.plan->CountWaits(waits);
}

std::unique_ptr<RunningStep> Registration::TakeStep() {
  absl::MutexLock lock(&mutex_);
  if (idle_steps_.empty()) return std::make_unique<RunningStep>();
  std::unique_ptr<RunningStep> step = std::move(idle_steps_.back());
  idle_steps_.pop_back();
  return step;
}

void Registration::GiveBack(std::unique_ptr<RunningStep> step) {
  absl::MutexLock lock(&mutex_);
  idle_steps_.push_back(std::move(step));
}

}  // namespace weft
