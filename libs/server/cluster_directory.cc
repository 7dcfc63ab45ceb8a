#include "libs/server/cluster_directory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/bus/address.h"

namespace weft {

// The route to one other task. It is chosen anew at each call, since a task of
// this process may start and stop at any time. Each method of the role whose
// `done` can report that the task was not there is one call of Forward here.
class ClusterDirectory::Route : public protocol::Worker,
                                public std::enable_shared_from_this<Route> {
 public:
  Route(std::shared_ptr<const ClusterDirectoryOptions> options,
        std::string task, bus::Address address)
      : shared_options_(std::move(options)),
        options_(*shared_options_),
        cluster_(options_.cluster.ToString()),
        task_(std::move(task)),
        address_(std::move(address)),
        unused_(options_.process->scheduler().NewEvent()) {}

  // Closes the connection. Blocks while a call is being sent.
  void Close() {
    std::unique_ptr<protocol::WorkerClient> client;
    {
      absl::MutexLock lock(&mutex_);
      closed_ = true;
      client = std::move(client_);
      in_use_.reset();
    }
    // The destructor of the client fails pending calls. So it must run on this
    // thread, without a lock held, and not on the thread of the last call,
    // which may be a reading thread.
    if (client != nullptr) unused_->Wait();
  }

  void GetStatusWhenConnected(absl::Time deadline, DevicesDone done) override {
    auto worker = Choose();
    if (worker != nullptr)
      return worker->GetStatusWhenConnected(deadline, std::move(done));
    Scheduler& scheduler = options_.process->scheduler();
    const absl::Time now = scheduler.clock().Now();
    if (now >= deadline || IsClosed()) return done(NotHere());
    scheduler.ScheduleAt(
        Pool::kControl, std::min(deadline, now + LocalTasks::kLookAgain),
        [self = shared_from_this(), deadline,
         done = std::move(done)]() mutable {
          self->GetStatusWhenConnected(deadline, std::move(done));
        });
  }
  void CreateWorkerSession(const protocol::WorkerSession& session,
                           const protocol::WorkerSessionOptions& options,
                           absl::Time deadline, Done done) override {
    Forward(&Worker::CreateWorkerSession, std::move(done), session, options,
            deadline);
  }
  void DeleteWorkerSession(const protocol::WorkerSession& session,
                           absl::Time deadline, Done done) override {
    Forward(&Worker::DeleteWorkerSession, std::move(done), session, deadline);
  }
  void Register(const protocol::PartitionRegistration& registration,
                absl::Time deadline, RegisterDone done) override {
    Forward(&Worker::Register, std::move(done), registration, deadline);
  }
  void Deregister(const protocol::WorkerSession& session,
                  uint64_t registration) override {
    auto worker = Choose();
    if (worker != nullptr) worker->Deregister(session, registration);
  }
  void Run(const protocol::PartitionStep& step, Done done) override {
    Forward(&Worker::Run, std::move(done), step);
  }
  void Deliver(std::vector<protocol::Push> pushes) override {
    if (auto local = FindLocal()) {
      // The delivery is scheduled, not called directly, because the other
      // task's kernels must not run on this task's threads.
      return options_.process->scheduler().Schedule(
          Pool::kCompute, [local, pushes = std::move(pushes)]() mutable {
            local->Deliver(std::move(pushes));
          });
    }
    auto worker = Remote();
    if (worker != nullptr) return worker->Deliver(std::move(pushes));
    for (const protocol::Push& push : pushes) {
      options_.events->OnPushFailed(push, NotHere());
    }
  }
  void Abort(const protocol::StepId& step, uint64_t steps_finished_below,
             const absl::Status& cause, Done done) override {
    Forward(&Worker::Abort, std::move(done), step, steps_finished_below, cause);
  }
  // Drops unsent pushes of the step. No push is in flight to a task of this
  // process, or without a connection.
  void AbandonPushes(const protocol::StepId& step) override {
    std::shared_ptr<protocol::Worker> client;
    {
      absl::MutexLock lock(&mutex_);
      client = in_use_;
    }
    if (client != nullptr) client->AbandonPushes(step);
  }
  void DescribeWaits(const protocol::StepId& step, absl::Time deadline,
                     WaitsDone done) override {
    Forward(&Worker::DescribeWaits, std::move(done), step, deadline);
  }
  void HoldSteps(const protocol::StepHold& hold, absl::Time deadline,
                 HoldDone done) override {
    Forward(&Worker::HoldSteps, std::move(done), hold, deadline);
  }
  void ClearContainers(const std::vector<std::string>& containers,
                       absl::Time deadline,
                       const std::shared_ptr<Cancellation>& client,
                       Done done) override {
    Forward(&Worker::ClearContainers, std::move(done), containers, deadline,
            client);
  }

 private:
  // Calls `method` with `args` and `done`; calls `done` with NotHere if there
  // is no task to call.
  template <typename Method, typename DoneType, typename... Args>
  void Forward(Method method, DoneType done, const Args&... args) {
    auto worker = Choose();
    if (worker == nullptr) return done(NotHere());
    (worker.get()->*method)(args..., std::move(done));
  }

  std::shared_ptr<protocol::Worker> FindLocal() {
    return options_.process->local_tasks().FindWorker(cluster_, task_);
  }

  // Returns the connection to the task, or null if the task cannot be reached
  // from here. Close waits until no caller holds the connection.
  std::shared_ptr<protocol::Worker> Remote() {
    if (address_.port == 0) return nullptr;
    absl::MutexLock lock(&mutex_);
    if (closed_) return nullptr;
    if (client_ == nullptr) {
      client_ = std::make_unique<protocol::WorkerClient>(
          options_.process->transport(),
          protocol::WorkerClientOptions{
              .address = address_,
              .self = options_.self,
              .task = task_,
              .allocator = &options_.process->buffers(),
              .events = options_.events,
              .clock = &options_.process->clock()});
      // The calls that are being sent share this pointer, which does not own
      // the client.
      in_use_ = std::shared_ptr<protocol::Worker>(
          client_.get(),
          [unused = unused_](protocol::Worker*) { unused->Set(); });
    }
    return in_use_;
  }

  std::shared_ptr<protocol::Worker> Choose() {
    if (auto local = FindLocal()) return local;
    return Remote();
  }

  bool IsClosed() {
    absl::MutexLock lock(&mutex_);
    return closed_;
  }

  absl::Status NotHere() {
    if (IsClosed()) {
      return absl::UnavailableError(
          absl::StrCat("The server of ", options_.self.task, " has stopped."));
    }
    return absl::UnavailableError(
        absl::StrCat("The task ", task_,
                     " has not been started in this "
                     "process, and its port 0 can't be reached from another."));
  }

  const std::shared_ptr<const ClusterDirectoryOptions> shared_options_;
  const ClusterDirectoryOptions& options_;
  const std::string cluster_;
  const std::string task_;
  const bus::Address address_;
  const std::shared_ptr<Event> unused_;  // set once no caller holds `in_use_`
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<protocol::WorkerClient> client_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<protocol::Worker> in_use_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<ClusterDirectory>> ClusterDirectory::Create(
    const ClusterDirectoryOptions& options) {
  std::unique_ptr<ClusterDirectory> directory(new ClusterDirectory(options));
  for (const auto& [job, tasks] : options.cluster.jobs()) {
    if (!HasDevices(job)) continue;
    for (const auto& [index, text] : tasks) {
      const std::string task = TaskName(job, index);
      absl::StatusOr<bus::Address> address = bus::Address::Parse(text);
      if (!address.ok()) return Annotate(address.status(), task);
      directory->routes_[task] = std::make_shared<Route>(
          directory->options_, task, *std::move(address));
    }
  }
  return directory;
}

ClusterDirectory::ClusterDirectory(const ClusterDirectoryOptions& options)
    : options_(std::make_shared<const ClusterDirectoryOptions>(options)) {}

ClusterDirectory::~ClusterDirectory() { Close(); }

protocol::Worker* ClusterDirectory::Find(const std::string& task) {
  if (task == options_->self.task) return own_;
  auto it = routes_.find(task);
  return it == routes_.end() ? nullptr : it->second.get();
}

std::vector<std::string> ClusterDirectory::Tasks() const {
  std::vector<std::string> tasks;
  for (const auto& [task, route] : routes_) tasks.push_back(task);
  return tasks;
}

void ClusterDirectory::Close() {
  for (auto& [task, route] : routes_) route->Close();
}

}  // namespace weft
