#include "libs/protocol/coordinator/coordinator_service.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/coordinator/coordinator_messages.h"
#include "libs/protocol/coordinator/placement_messages.h"
#include "libs/protocol/method.h"
#include "libs/protocol/peer_checks.h"

namespace weft::protocol {
namespace {

// The call's own, so that the wait of a disconnected caller ends.
std::shared_ptr<Cancellation> CancellationOf(
    const std::shared_ptr<bus::IncomingCall>& call) {
  return {call, &call->cancellation()};
}

// Fails if the caller has given up: a report that comes so late may be older
// than the coordinator assumes.
absl::Status CheckIsAwaited(bus::IncomingCall& call,
                            const Scheduler& scheduler) {
  if (call.cancellation().IsCancelled()) return call.cancellation().status();
  if (scheduler.clock().Now() < call.deadline()) return absl::OkStatus();
  return absl::DeadlineExceededError("The report came after its deadline.");
}

// The caller has cancelled none of its waits: this task stops.
template <typename T>
Coordinator::Answer<T> UnavailableIfCancelled(Coordinator::Answer<T> done) {
  return [done = std::move(done)](absl::StatusOr<T> result) mutable {
    if (absl::IsCancelled(result.status())) {
      result = absl::UnavailableError(result.status().message());
    }
    done(std::move(result));
  };
}

}  // namespace

CoordinatorService::CoordinatorService(const CoordinatorServiceOptions& options)
    : options_(options) {}

CoordinatorService::~CoordinatorService() {
  replies_.WaitUntilNone(*options_.scheduler);
}

const MethodRow<CoordinatorService>* CoordinatorService::FindMethod(
    uint8_t method) {
  // Joining and placing would begin new work.
  static constexpr MethodRow<CoordinatorService> kRows[] = {
      {.method = Method::kJoinCluster,
       .on_request = &CoordinatorService::Join,
       .is_control = true,
       .begins_work = true},
      {.method = Method::kTaskHeartbeat,
       .on_request = &CoordinatorService::Heartbeat,
       .is_control = true,
       .is_served_while_draining = true},
      {.method = Method::kLeaveCluster,
       .on_request = &CoordinatorService::Leave,
       .is_control = true,
       .is_served_while_draining = true},
      {.method = Method::kPlace, .on_request = &CoordinatorService::Place},
      {.method = Method::kEndSession,
       .on_request = &CoordinatorService::EndSession,
       .is_control = true,
       .is_served_while_draining = true},
      {.method = Method::kForgetContainers,
       .on_request = &CoordinatorService::ForgetContainers,
       .is_served_while_draining = true},
      {.method = Method::kListClusterDevices,
       .on_request = &CoordinatorService::ListDevices,
       .is_served_while_draining = true},
      {.method = Method::kGetCluster,
       .on_request = &CoordinatorService::GetCluster,
       .is_served_while_draining = true},
      {.method = Method::kShutdownCluster,
       .on_request = &CoordinatorService::Shutdown,
       .is_served_while_draining = true},
  };
  static constexpr MethodTable kTable(kRows);
  return kTable.Find(method);
}

void CoordinatorService::OnConnect(const bus::Peer& peer) {
  absl::MutexLock lock(&mutex_);
  connections_.insert(peer.id);
}

void CoordinatorService::OnDisconnect(const bus::Peer& peer,
                                      const absl::Status& why) {
  std::vector<TaskKey> lost;
  {
    absl::MutexLock lock(&mutex_);
    connections_.erase(peer.id);
    for (auto it = joined_.begin(); it != joined_.end();) {
      it->second.erase(peer.id);
      if (!it->second.empty()) {
        ++it;
        continue;
      }
      lost.push_back(it->first);
      it = joined_.erase(it);
    }
  }
  if (options_.on_task_lost == nullptr) return;
  for (const auto& [task, incarnation] : lost) {
    options_.on_task_lost(task, incarnation, why);
  }
}

// A connection may be lost while its task still joins.
void CoordinatorService::Joined(const bus::Peer& peer, const TaskKey& task) {
  {
    absl::MutexLock lock(&mutex_);
    if (connections_.contains(peer.id)) {
      joined_[task].insert(peer.id);
      return;
    }
    if (joined_.contains(task)) return;  // over another connection
  }
  if (options_.on_task_lost == nullptr) return;
  options_.on_task_lost(task.first, task.second,
                        absl::UnavailableError("The connection was lost"));
}

void CoordinatorService::Left(const TaskKey& task) {
  absl::MutexLock lock(&mutex_);
  joined_.erase(task);
}

void CoordinatorService::Join(Call call, bus::Message request) {
  const auto join = ReadJoin(std::move(request));
  if (!join.ok()) return call->Fail(join.status());
  const absl::Status is_itself =
      CheckIsProcess(call->peer(), join->task, join->incarnation);
  if (!is_itself.ok()) return call->Fail(is_itself);
  const absl::Time deadline = call->deadline();
  options_.coordinator->Join(
      *join, deadline,
      replies_.With<JoinReply>(call,
                               [this, peer = call->peer(),
                                task = TaskKey(join->task, join->incarnation)](
                                   const JoinReply& reply) {
                                 Joined(peer, task);
                                 return WriteJoinReply(reply);
                               }));
}

void CoordinatorService::Heartbeat(Call call, bus::Message request) {
  const auto heartbeat = ReadHeartbeat(std::move(request));
  if (!heartbeat.ok()) return call->Fail(heartbeat.status());
  const absl::Status is_itself =
      CheckIsProcess(call->peer(), heartbeat->task, heartbeat->incarnation);
  if (!is_itself.ok()) return call->Fail(is_itself);
  if (heartbeat->has_report) {
    const absl::Status awaited = CheckIsAwaited(*call, *options_.scheduler);
    if (!awaited.ok()) return call->Fail(awaited);
  }
  const absl::Time deadline = call->deadline();
  options_.coordinator->Heartbeat(
      *heartbeat, deadline,
      replies_.With<HeartbeatReply>(std::move(call), WriteHeartbeatReply));
}

void CoordinatorService::Leave(Call call, bus::Message request) {
  const auto leave = ReadLeave(std::move(request));
  if (!leave.ok()) return call->Fail(leave.status());
  const absl::Status is_itself =
      CheckIsProcess(call->peer(), leave->task, leave->incarnation);
  if (!is_itself.ok()) return call->Fail(is_itself);
  // First, since the connection may be gone before the answer.
  Left({leave->task, leave->incarnation});
  const absl::Time deadline = call->deadline();
  options_.coordinator->Leave(*leave, deadline, replies_.Done(std::move(call)));
}

void CoordinatorService::Place(Call call, bus::Message request) {
  const auto place = ReadPlace(std::move(request));
  if (!place.ok()) return call->Fail(place.status());
  // Any peer may request an explanation: it registers nothing.
  const absl::Status allowed =
      place->request.explain
          ? absl::OkStatus()
          : CheckIsMaster(call->peer(), place->request.incarnation);
  if (!allowed.ok()) return call->Fail(allowed);
  const absl::Time deadline = call->deadline() - place->answer_time;
  auto cancellation = CancellationOf(call);
  options_.coordinator->Place(
      place->request, deadline, std::move(cancellation),
      UnavailableIfCancelled<PlacementReply>(
          replies_.With<PlacementReply>(std::move(call), WritePlaceReply)));
}

void CoordinatorService::EndSession(Call call, bus::Message request) {
  const auto session = ReadEndSession(std::move(request));
  if (!session.ok()) return call->Fail(session.status());
  const absl::Time deadline = call->deadline();
  options_.coordinator->EndSession(*session, deadline,
                                   replies_.Done(std::move(call)));
}

void CoordinatorService::ForgetContainers(Call call, bus::Message request) {
  const auto forget = ReadForgetContainers(std::move(request));
  if (!forget.ok()) return call->Fail(forget.status());
  const absl::Time deadline = call->deadline();
  options_.coordinator->ForgetContainers(
      forget->containers, forget->device_filters, deadline,
      /*cancellation=*/nullptr, replies_.Done(std::move(call)));
}

void CoordinatorService::ListDevices(Call call, bus::Message request) {
  const auto list = ReadListClusterDevices(std::move(request));
  if (!list.ok()) return call->Fail(list.status());
  using Devices = std::vector<DeviceAttributes>;
  const absl::Time deadline = call->deadline() - list->answer_time;
  auto cancellation = CancellationOf(call);
  options_.coordinator->ListDevices(
      list->device_filters, deadline, std::move(cancellation),
      UnavailableIfCancelled<Devices>(replies_.With<Devices>(
          std::move(call),
          [](const Devices& devices) { return WriteDevices(devices); })));
}

void CoordinatorService::GetCluster(Call call, bus::Message request) {
  const absl::StatusOr<ClusterQuery> query = ReadGetCluster(std::move(request));
  if (!query.ok()) return call->Fail(query.status());
  const absl::Time deadline = call->deadline();
  options_.coordinator->GetCluster(
      *query, deadline,
      replies_.With<ClusterStatus>(std::move(call), WriteClusterStatus));
}

void CoordinatorService::Shutdown(Call call, bus::Message request) {
  const absl::Status read = ReadShutdown(std::move(request));
  if (!read.ok()) return call->Fail(read);
  const absl::Time deadline = call->deadline();
  options_.coordinator->Shutdown(deadline, replies_.Done(std::move(call)));
}

}  // namespace weft::protocol
