#include "tools/cli/cluster_connection.h"

#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/master/master_client.h"

namespace weft::tools {
namespace {

using protocol::ClusterStatus;
using protocol::TaskState;
using protocol::TaskStatus;

bool CanBeMaster(const TaskStatus& task) {
  return task.state == TaskState::kAlive && !task.devices.empty();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClusterConnection>> ClusterConnection::Create(
    Process& process, const std::string& target, absl::Duration timeout) {
  if (target.empty()) {
    return absl::InvalidArgumentError(
        "no cluster is given; use --target=zmq://host:port of any task, or "
        "set WEFT_TARGET");
  }
  const auto address = bus::Address::Parse(target);
  if (!address.ok()) return Annotate(address.status(), "--target");
  return std::unique_ptr<ClusterConnection>(
      new ClusterConnection(process, *address, timeout));
}

ClusterConnection::ClusterConnection(Process& process,
                                     const bus::Address& address,
                                     absl::Duration timeout)
    : process_(process), timeout_(timeout) {
  client_ = std::make_unique<protocol::CoordinatorClient>(
      process.transport(),
      protocol::CoordinatorClientOptions{
          .address = address,
          .self = {.incarnation = process.random().NextId()},
          .scheduler = &process.scheduler(),
          .events = static_cast<protocol::CoordinatorEvents*>(this)});
}

ClusterConnection::~ClusterConnection() = default;

absl::Time ClusterConnection::Deadline() const {
  return process_.clock().Now() + timeout_;
}

void ClusterConnection::OnCoordinatorConnected(const bus::Identity& peer) {
  absl::MutexLock lock(&mutex_);
  reached_ = peer.task;
}

absl::StatusOr<ClusterStatus> ClusterConnection::GetCluster() {
  SyncCall<absl::StatusOr<ClusterStatus>> call(process_.scheduler());
  client_->GetCluster({.is_fresh = true}, Deadline(), call.Done());
  return call.Wait();
}

absl::StatusOr<protocol::PlacementReply> ClusterConnection::Place(
    const protocol::PlacementRequest& request) {
  SyncCall<absl::StatusOr<protocol::PlacementReply>> call(process_.scheduler());
  client_->Place(request, Deadline(), nullptr, call.Done());
  return call.Wait();
}

absl::Status ClusterConnection::Shutdown() {
  SyncCall<> call(process_.scheduler());
  client_->Shutdown(Deadline(), call.Done());
  return call.Wait();
}

absl::Status ClusterConnection::Reset(
    const std::string& target, const std::vector<std::string>& containers) {
  ASSIGN_OR_RETURN(const bus::Address address, bus::Address::Parse(target));
  protocol::MasterClient master(
      process_.transport(),
      protocol::MasterClientOptions{
          .address = address,
          .self = {.incarnation = process_.random().NextId()},
          .scheduler = &process_.scheduler(),
          .allocator = &process_.buffers(),
          .connect_timeout = timeout_,
          .operation_timeout = timeout_});
  return protocol::BlockingMaster(master, process_.scheduler())
      .Reset(containers, {});
}

absl::StatusOr<TaskStatus> ClusterConnection::MasterOf(
    const ClusterStatus& cluster) {
  std::string reached;
  {
    absl::MutexLock lock(&mutex_);
    reached = reached_;
  }
  const TaskStatus* first = nullptr;
  for (const TaskStatus& task : cluster.tasks) {
    if (!CanBeMaster(task)) continue;
    if (task.task == reached) return task;
    if (first == nullptr) first = &task;
  }
  if (first != nullptr) return *first;
  return absl::FailedPreconditionError(
      "the cluster has no live task with devices");
}

}  // namespace weft::tools
