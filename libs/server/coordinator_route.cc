#include "libs/server/coordinator_route.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/cancellation_link.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/clock.h"
#include "libs/protocol/coordinator/coordinator_client.h"

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

// Chooses the route at each call. Each method of the role is one call of
// Forward here.
class ForwardingRoute final
    : public CoordinatorRoute,
      public std::enable_shared_from_this<ForwardingRoute>,
      private protocol::CoordinatorEvents {
 public:
  using Role = protocol::Coordinator;

  explicit ForwardingRoute(const CoordinatorRouteOptions& options)
      : options_(options), cluster_(options.cluster.ToString()) {}

  void EndWaits() override;
  void Close() override;

  void Join(const protocol::JoinRequest& request, absl::Time deadline,
            Answer<protocol::JoinReply> done) override {
    Forward(&Role::Join, deadline, std::move(done), request);
  }
  void Heartbeat(const protocol::HeartbeatRequest& request, absl::Time deadline,
                 Answer<protocol::HeartbeatReply> done) override {
    Forward(&Role::Heartbeat, deadline, std::move(done), request);
  }
  void Leave(const protocol::LeaveRequest& request, absl::Time deadline,
             Done done) override {
    // If there is no coordinator in this process, no coordinator needs to be
    // notified.
    Look(absl::InfinitePast(), std::move(done),
         [request, deadline](Role& coordinator, Done answer) {
           coordinator.Leave(request, deadline, std::move(answer));
         });
  }
  void Place(const protocol::PlacementRequest& request, absl::Time deadline,
             std::shared_ptr<Cancellation> cancellation,
             Answer<protocol::PlacementReply> done) override {
    const Waits waits = CurrentWaits();
    if (waits.are_ending) return done(ShuttingDown());
    ForwardWait(waits, &Role::Place, deadline, std::move(cancellation),
                std::move(done), request);
  }
  void EndSession(uint64_t session, absl::Time deadline, Done done) override {
    Forward(&Role::EndSession, deadline, std::move(done), session);
  }
  void ForgetContainers(const std::vector<std::string>& containers,
                        const std::vector<std::string>& device_filters,
                        absl::Time deadline,
                        std::shared_ptr<Cancellation> cancellation,
                        Done done) override {
    ForwardWait(CurrentWaits(), &Role::ForgetContainers, deadline,
                std::move(cancellation), std::move(done), containers,
                device_filters);
  }
  void ListDevices(const std::vector<std::string>& device_filters,
                   absl::Time deadline,
                   std::shared_ptr<Cancellation> cancellation,
                   Answer<std::vector<DeviceAttributes>> done) override {
    ForwardWait(CurrentWaits(), &Role::ListDevices, deadline,
                std::move(cancellation), std::move(done), device_filters);
  }
  void GetCluster(const protocol::ClusterQuery& query, absl::Time deadline,
                  Answer<protocol::ClusterStatus> done) override {
    Forward(&Role::GetCluster, deadline, std::move(done), query);
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

  // Calls `method` with `args`, `deadline` and `done`, as Look defines. The
  // call owns its arguments, since it may have to wait.
  template <typename Method, typename DoneType, typename... Args>
  void Forward(Method method, absl::Time deadline, DoneType done,
               const Args&... args) {
    Look(deadline, std::move(done),
         [method, deadline, args...](Role& coordinator, DoneType answer) {
           (coordinator.*method)(args..., deadline, std::move(answer));
         });
  }

  // The state with which a call that waits for tasks begins.
  struct Waits {
    bool are_ending = false;  // EndWaits was called
    // The cancellation by the next EndWaits or Close.
    std::shared_ptr<Cancellation> end;
  };
  // A call that waits for tasks, until it is answered. Its caller or `end`
  // cancels it.
  class Wait {
   public:
    Wait(std::shared_ptr<ForwardingRoute> route,
         std::shared_ptr<Cancellation> caller,
         std::shared_ptr<Cancellation> end);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    const std::shared_ptr<Cancellation>& cancellation() const {
      return cancellation_;
    }

   private:
    const std::shared_ptr<ForwardingRoute> route_;
    const std::shared_ptr<Cancellation> caller_;  // may be null
    const std::shared_ptr<Cancellation> end_of_waits_;
    const std::shared_ptr<Cancellation> cancellation_ =
        std::make_shared<Cancellation>();
    CancellationLink by_caller_;
    CancellationLink by_route_;
  };
  // Forwards a call that waits for tasks. `caller` may be null.
  template <typename Method, typename DoneType, typename... Args>
  void ForwardWait(const Waits& waits, Method method, absl::Time deadline,
                   std::shared_ptr<Cancellation> caller, DoneType done,
                   const Args&... args);

  // Calls `call` with the coordinator and `done`, as soon as there is one in
  // this process or it can be dialed. Calls `done` with UNAVAILABLE if there is
  // none by `deadline`, or with the cause of `cancellation`, which may be null.
  template <typename DoneType, typename CallType>
  void Look(absl::Time deadline, DoneType done, CallType call,
            std::shared_ptr<Cancellation> cancellation = nullptr);
  // Looks again after a short time, or fails with NotHere once the deadline has
  // passed.
  template <typename DoneType, typename CallType>
  void LookAgain(absl::Time deadline, DoneType done, CallType call,
                 std::shared_ptr<Cancellation> cancellation);

  std::shared_ptr<Role> Choose();
  std::shared_ptr<Role> Remote();
  absl::Status NotHere();
  absl::Status ShuttingDown() const;
  bool IsClosed();
  // Returns both members under one lock, because a call that begins after
  // EndWaits must not miss it.
  Waits CurrentWaits();

  const CoordinatorRouteOptions options_;
  const std::string cluster_;
  InFlight in_flight_;  // calls being sent
  InFlight waits_;      // calls that wait for tasks
  absl::Mutex mutex_;
  bool ends_waits_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Cancels the calls that wait for tasks; replaced for those after EndWaits.
  std::shared_ptr<Cancellation> end_of_waits_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<Cancellation>();
  std::shared_ptr<protocol::CoordinatorClient> client_ ABSL_GUARDED_BY(mutex_);
};

ForwardingRoute::Wait::Wait(std::shared_ptr<ForwardingRoute> route,
                            std::shared_ptr<Cancellation> caller,
                            std::shared_ptr<Cancellation> end)
    : route_(std::move(route)),
      caller_(std::move(caller)),
      end_of_waits_(std::move(end)) {
  route_->waits_.Begin();
  by_caller_.Begin(caller_.get(), cancellation_);
  by_route_.Begin(end_of_waits_.get(), cancellation_);
}

ForwardingRoute::Wait::~Wait() {
  by_caller_.End();
  by_route_.End();
  route_->waits_.End();
}

void ForwardingRoute::EndWaits() {
  auto end = std::make_shared<Cancellation>();
  {
    absl::MutexLock lock(&mutex_);
    ends_waits_ = true;
    end_of_waits_.swap(end);
  }
  end->Cancel(ShuttingDown());
}

void ForwardingRoute::Close() {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  EndWaits();
  Scheduler& scheduler = options_.process->scheduler();
  // The client must not be destroyed on a thread that delivered one of its
  // answers, nor while a call is being cancelled there.
  in_flight_.WaitUntilNone(scheduler, absl::InfiniteFuture());
  waits_.WaitUntilNone(scheduler, absl::InfiniteFuture());
  // The destructor of the client fails pending calls, so it runs without the
  // lock.
  std::shared_ptr<protocol::CoordinatorClient> client;
  absl::MutexLock lock(&mutex_);
  client = std::move(client_);
}

bool ForwardingRoute::IsClosed() {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

ForwardingRoute::Waits ForwardingRoute::CurrentWaits() {
  absl::MutexLock lock(&mutex_);
  return {ends_waits_, end_of_waits_};
}

absl::Status ForwardingRoute::ShuttingDown() const {
  return absl::CancelledError(
      absl::StrCat("The server of ", options_.self.task, " is shutting down."));
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
      "The coordinator, hosted by ", options_.task,
      ", has not been started in this process, and its port 0 can't be reached "
      "from another."));
}

template <typename Method, typename DoneType, typename... Args>
void ForwardingRoute::ForwardWait(const Waits& waits, Method method,
                                  absl::Time deadline,
                                  std::shared_ptr<Cancellation> caller,
                                  DoneType done, const Args&... args) {
  auto wait =
      std::make_shared<Wait>(shared_from_this(), std::move(caller), waits.end);
  auto cancellation = wait->cancellation();
  DoneType end_wait = [wait = std::move(wait), done = std::move(done)](
                          auto answer) mutable { done(std::move(answer)); };
  Look(
      deadline, std::move(end_wait),
      [method, deadline, args..., cancellation](Role& coordinator,
                                                DoneType answer) {
        (coordinator.*method)(args..., deadline, cancellation,
                              std::move(answer));
      },
      cancellation);
}

template <typename DoneType, typename CallType>
void ForwardingRoute::Look(absl::Time deadline, DoneType done, CallType call,
                           std::shared_ptr<Cancellation> cancellation) {
  in_flight_.Begin();
  auto coordinator = Choose();
  if (coordinator == nullptr) {
    in_flight_.End();
    return LookAgain(deadline, std::move(done), std::move(call),
                     std::move(cancellation));
  }
  call(*coordinator, std::move(done));
  coordinator.reset();
  in_flight_.End();
}

template <typename DoneType, typename CallType>
void ForwardingRoute::LookAgain(absl::Time deadline, DoneType done,
                                CallType call,
                                std::shared_ptr<Cancellation> cancellation) {
  Scheduler& scheduler = options_.process->scheduler();
  const absl::Time now = scheduler.clock().Now();
  if (now >= deadline || IsClosed()) return done(NotHere());
  if (cancellation != nullptr && cancellation->IsCancelled()) {
    return done(cancellation->status());
  }
  scheduler.ScheduleAt(Pool::kControl,
                       std::min(deadline, now + LocalTasks::kLookAgain),
                       [self = shared_from_this(), deadline,
                        done = std::move(done), call = std::move(call),
                        cancellation = std::move(cancellation)]() mutable {
                         self->Look(deadline, std::move(done), std::move(call),
                                    std::move(cancellation));
                       });
}

}  // namespace

std::shared_ptr<CoordinatorRoute> CoordinatorRoute::Create(
    const CoordinatorRouteOptions& options) {
  return std::make_shared<ForwardingRoute>(options);
}

}  // namespace weft
