#include "tools/cli/cluster_connection.h"

#include <utility>

#include "libs/base/clock.h"
#include "libs/base/scheduler.h"
#include "libs/base/status.h"
#include "libs/protocol/blocking_master.h"
#include "libs/protocol/master_client.h"

namespace weft::tools {
namespace {

using protocol::ClusterStatus;
using protocol::Coordinator;
using protocol::TaskState;
using protocol::TaskStatus;

// Starts a call and waits for its answer.
template <typename T, typename Start>
absl::StatusOr<T> Wait(Scheduler& scheduler, Start start) {
  const std::unique_ptr<Event> answered = scheduler.NewEvent();
  absl::StatusOr<T> result;
  start([&](absl::StatusOr<T> answer) {
    result = std::move(answer);
    answered->Set();
  });
  answered->Wait();
  return result;
}

bool CanBeMaster(const TaskStatus& task) {
  return task.state == TaskState::kAlive && !task.devices.empty();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClusterConnection>> ClusterConnection::Create(
    Process& process, const std::string& target, absl::Duration timeout) {
  if (target.empty()) {
    return absl::InvalidArgumentError(
        "which cluster? Give --target=zmq://host:port of any of its tasks, or "
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
  return Wait<ClusterStatus>(process_.scheduler(),
                             [this](Coordinator::Answer<ClusterStatus> done) {
                               client_->GetCluster(Deadline(), std::move(done));
                             });
}

absl::StatusOr<protocol::PlacementReply> ClusterConnection::Place(
    const protocol::PlacementRequest& request) {
  return Wait<protocol::PlacementReply>(
      process_.scheduler(),
      [&](Coordinator::Answer<protocol::PlacementReply> done) {
        client_->Place(request, Deadline(), std::move(done));
      });
}

absl::Status ClusterConnection::Shutdown() {
  struct Nothing {};
  return Wait<Nothing>(process_.scheduler(),
                       [this](Coordinator::Answer<Nothing> done) {
                         client_->Shutdown(Deadline(),
                                           [done = std::move(done)](
                                               absl::Status status) mutable {
                                             if (!status.ok())
                                               return done(status);
                                             done(Nothing{});
                                           });
                       })
      .status();
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
      "no task of the cluster that has devices is alive");
}

}  // namespace weft::tools
