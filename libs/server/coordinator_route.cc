#include "libs/server/coordinator_route.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/in_flight.h"
#include "libs/protocol/coordinator_client.h"

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

namespace {

// Chosen anew at each call. A method of the role is one call of Forward here.
class ForwardingRoute final
    : public CoordinatorRoute,
      public std::enable_shared_from_this<ForwardingRoute>,
      private protocol::CoordinatorEvents {
 public:
  using Role = protocol::Coordinator;

  explicit ForwardingRoute(const CoordinatorRouteOptions& options)
      : options_(options), cluster_(options.cluster.ToString()) {}

  void Close() override;

  void Join(const protocol::JoinRequest& request, absl::Time deadline,
            Answer<protocol::JoinReply> done) override {
    Forward(&Role::Join, deadline, std::move(done), request);
  }
  void Heartbeat(const protocol::HeartbeatRequest& request, absl::Time deadline,
                 Answer<protocol::HeartbeatReply> done) override {
    Forward(&Role::Heartbeat, deadline, std::move(done), request);
  }
  void Leave(const std::string& task, uint64_t incarnation, absl::Time deadline,
             Done done) override {
    // Where there is none in this process, nobody need be told.
    Look(absl::InfinitePast(), std::move(done),
         [task, incarnation, deadline](Role& coordinator, Done answer) {
           coordinator.Leave(task, incarnation, deadline, std::move(answer));
         });
  }
  void Place(const protocol::PlacementRequest& request, absl::Time deadline,
             Answer<protocol::PlacementReply> done) override {
    Forward(&Role::Place, deadline, std::move(done), request);
  }
  void EndSession(uint64_t session, absl::Time deadline, Done done) override {
    Forward(&Role::EndSession, deadline, std::move(done), session);
  }
  void ForgetContainers(const std::vector<std::string>& containers,
                        const std::vector<std::string>& device_filters,
                        absl::Time deadline, Done done) override {
    Forward(&Role::ForgetContainers, deadline, std::move(done), containers,
            device_filters);
  }
  void ListDevices(const std::vector<std::string>& device_filters,
                   absl::Time deadline,
                   Answer<std::vector<DeviceAttributes>> done) override {
    Forward(&Role::ListDevices, deadline, std::move(done), device_filters);
  }
  void GetCluster(absl::Time deadline,
                  Answer<protocol::ClusterStatus> done) override {
    Forward(&Role::GetCluster, deadline, std::move(done));
  }
  void Shutdown(absl::Time deadline, Done done) override {
    Forward(&Role::Shutdown, deadline, std::move(done));
  }

 private:
  void OnCoordinatorConnected(const bus::Identity&) override {
    if (options_.on_connected) options_.on_connected();
  }
  void OnCoordinatorLost(const absl::Status&) override {
    if (options_.on_lost) options_.on_lost();
  }

  // Calls `method` with `args`, `deadline` and `done`, as Look says. The call
  // owns its arguments, since it may have to wait.
  template <typename Method, typename DoneType, typename... Args>
  void Forward(Method method, absl::Time deadline, DoneType done,
               const Args&... args) {
    Look(deadline, std::move(done),
         [method, deadline, args...](Role& coordinator, DoneType answer) {
           (coordinator.*method)(args..., deadline, std::move(answer));
         });
  }

  // Has `call` called with the coordinator and `done`, as soon as there is one
  // in this process or it can be dialed; `done` with UNAVAILABLE when there is
  // none by `deadline`.
  template <typename DoneType, typename CallType>
  void Look(absl::Time deadline, DoneType done, CallType call);
  // Look again in a moment, or NotHere where the deadline has come.
  template <typename DoneType, typename CallType>
  void LookAgain(absl::Time deadline, DoneType done, CallType call);

  std::shared_ptr<Role> Choose();
  std::shared_ptr<Role> Remote();
  absl::Status NotHere();
  bool IsClosed();

  const CoordinatorRouteOptions options_;
  const std::string cluster_;
  InFlight in_flight_;  // calls on their way out
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<protocol::CoordinatorClient> client_ ABSL_GUARDED_BY(mutex_);
};

void ForwardingRoute::Close() {
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

bool ForwardingRoute::IsClosed() {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

std::shared_ptr<protocol::Coordinator> ForwardingRoute::Remote() {
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

std::shared_ptr<protocol::Coordinator> ForwardingRoute::Choose() {
  if (IsClosed()) return nullptr;
  if (options_.hosted != nullptr) return options_.hosted;
  if (auto local = options_.process->local_tasks().FindCoordinator(cluster_)) {
    return local;
  }
  return Remote();
}

absl::Status ForwardingRoute::NotHere() {
  if (IsClosed()) {
    return absl::CancelledError(
        absl::StrCat("The server of ", options_.self.task, " has stopped."));
  }
  return absl::UnavailableError(absl::StrCat(
      "The coordinator, played by ", options_.task,
      ", has not been started in this process, and its port 0 can't be reached "
      "from another."));
}

template <typename DoneType, typename CallType>
void ForwardingRoute::Look(absl::Time deadline, DoneType done, CallType call) {
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

template <typename DoneType, typename CallType>
void ForwardingRoute::LookAgain(absl::Time deadline, DoneType done,
                                CallType call) {
  Scheduler& scheduler = options_.process->scheduler();
  const absl::Time now = scheduler.clock().Now();
  if (now >= deadline || IsClosed()) return done(NotHere());
  scheduler.ScheduleAt(
      Pool::kControl, std::min(deadline, now + LocalTasks::kLookAgain),
      [self = shared_from_this(), deadline, done = std::move(done),
       call = std::move(call)]() mutable {
        self->Look(deadline, std::move(done), std::move(call));
      });
}

}  // namespace

std::shared_ptr<CoordinatorRoute> CoordinatorRoute::Create(
    const CoordinatorRouteOptions& options) {
  return std::make_shared<ForwardingRoute>(options);
}

}  // namespace weft
