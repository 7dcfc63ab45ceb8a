#include "libs/server/coordinator_route.h"

#include <algorithm>
#include <utility>

#include "libs/base/clock.h"

namespace weft {

std::string CoordinatorTask(const ClusterSpec& cluster) {
  auto lowest = [](const auto& job) {
    return TaskName(job.first, job.second.begin()->first);
  };
  auto own_job = cluster.jobs().find("coordinator");
  if (own_job != cluster.jobs().end()) return lowest(*own_job);
  for (const auto& job : cluster.jobs()) {
    if (HasDevices(job.first)) return lowest(job);
  }
  return "";
}

CoordinatorRoute::CoordinatorRoute(const CoordinatorRouteOptions& options)
    : options_(options), cluster_(options.cluster.ToString()) {}

void CoordinatorRoute::Close() {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  // The client must not end on a thread that one of its answers came on.
  in_flight_.WaitUntilNone(options_.process->scheduler(),
                           absl::InfiniteFuture());
  // Ends what is pending, without the lock.
  std::shared_ptr<protocol::CoordinatorClient> client;
  absl::MutexLock lock(&mutex_);
  client = std::move(client_);
}

bool CoordinatorRoute::IsClosed() {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

std::shared_ptr<protocol::Coordinator> CoordinatorRoute::Remote() {
  if (options_.address.port == 0) return nullptr;
  absl::MutexLock lock(&mutex_);
  if (closed_) return nullptr;
  if (client_ == nullptr) {
    client_ = std::make_shared<protocol::CoordinatorClient>(
        options_.process->transport(),
        protocol::CoordinatorClientOptions{
            .address = options_.address,
            .self = options_.self,
            .task = options_.task,
            .scheduler = &options_.process->scheduler(),
            .events = this});
  }
  return client_;
}

std::shared_ptr<protocol::Coordinator> CoordinatorRoute::Choose() {
  if (IsClosed()) return nullptr;
  if (hosted_ != nullptr) return hosted_;
  if (auto local = options_.process->local_tasks().FindCoordinator(cluster_)) {
    return local;
  }
  return Remote();
}

absl::Status CoordinatorRoute::NotHere() {
  if (IsClosed()) {
    return absl::CancelledError(
        absl::StrCat("The server of ", options_.self.task, " has stopped."));
  }
  return absl::UnavailableError(absl::StrCat(
      "The coordinator, played by ", options_.task,
      ", has not been started in this process, and its port 0 can't be reached "
      "from another."));
}

template <typename DoneType, typename Call>
void CoordinatorRoute::Forward(absl::Time deadline, DoneType done, Call call) {
  in_flight_.Begin();
  auto coordinator = Choose();
  if (coordinator == nullptr) {
    in_flight_.End();
    return LookAgain(deadline, std::move(done), std::move(call));
  }
  call(*coordinator, std::move(done));
  coordinator.reset();
  in_flight_.End();
}

template <typename DoneType, typename Call>
void CoordinatorRoute::LookAgain(absl::Time deadline, DoneType done,
                                 Call call) {
  Scheduler& scheduler = options_.process->scheduler();
  const absl::Time now = scheduler.clock().Now();
  if (now >= deadline || IsClosed()) return done(NotHere());
  scheduler.ScheduleAt(
      std::min(deadline, now + LocalTasks::kLookAgain),
      [self = shared_from_this(), deadline, done = std::move(done),
       call = std::move(call)]() mutable {
        self->Forward(deadline, std::move(done), std::move(call));
      });
}

void CoordinatorRoute::Join(const protocol::JoinRequest& request,
                            absl::Time deadline,
                            Answer<protocol::JoinReply> done) {
  Forward(deadline, std::move(done),
          [request, deadline](protocol::Coordinator& coordinator,
                              Answer<protocol::JoinReply> answer) {
            coordinator.Join(request, deadline, std::move(answer));
          });
}

void CoordinatorRoute::Heartbeat(const protocol::HeartbeatRequest& request,
                                 absl::Time deadline,
                                 Answer<protocol::HeartbeatReply> done) {
  Forward(deadline, std::move(done),
          [request, deadline](protocol::Coordinator& coordinator,
                              Answer<protocol::HeartbeatReply> answer) {
            coordinator.Heartbeat(request, deadline, std::move(answer));
          });
}

void CoordinatorRoute::Leave(const std::string& task, uint64_t incarnation,
                             absl::Time deadline, Done done) {
  // Where there is none in this process, nobody need be told.
  Forward(absl::InfinitePast(), std::move(done),
          [task, incarnation, deadline](protocol::Coordinator& coordinator,
                                        Done answer) {
            coordinator.Leave(task, incarnation, deadline, std::move(answer));
          });
}

void CoordinatorRoute::Place(const protocol::PlacementRequest& request,
                             absl::Time deadline,
                             Answer<protocol::PlacementReply> done) {
  Forward(deadline, std::move(done),
          [request, deadline](protocol::Coordinator& coordinator,
                              Answer<protocol::PlacementReply> answer) {
            coordinator.Place(request, deadline, std::move(answer));
          });
}

void CoordinatorRoute::EndSession(uint64_t session, absl::Time deadline,
                                  Done done) {
  Forward(deadline, std::move(done),
          [session, deadline](protocol::Coordinator& coordinator, Done answer) {
            coordinator.EndSession(session, deadline, std::move(answer));
          });
}

void CoordinatorRoute::ForgetContainers(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters, absl::Time deadline,
    Done done) {
  Forward(deadline, std::move(done),
          [containers, device_filters, deadline](
              protocol::Coordinator& coordinator, Done answer) {
            coordinator.ForgetContainers(containers, device_filters, deadline,
                                         std::move(answer));
          });
}

void CoordinatorRoute::ListDevices(
    const std::vector<std::string>& device_filters, absl::Time deadline,
    Answer<std::vector<DeviceAttributes>> done) {
  Forward(
      deadline, std::move(done),
      [device_filters, deadline](protocol::Coordinator& coordinator,
                                 Answer<std::vector<DeviceAttributes>> answer) {
        coordinator.ListDevices(device_filters, deadline, std::move(answer));
      });
}

void CoordinatorRoute::GetCluster(absl::Time deadline,
                                  Answer<protocol::ClusterStatus> done) {
  Forward(deadline, std::move(done),
          [deadline](protocol::Coordinator& coordinator,
                     Answer<protocol::ClusterStatus> answer) {
            coordinator.GetCluster(deadline, std::move(answer));
          });
}

void CoordinatorRoute::Shutdown(absl::Time deadline, Done done) {
  Forward(deadline, std::move(done),
          [deadline](protocol::Coordinator& coordinator, Done answer) {
            coordinator.Shutdown(deadline, std::move(answer));
          });
}

}  // namespace weft
