#include "libs/runtime/task_runtime.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/rendezvous/rendezvous.h"

namespace weft {

// The compiled partitions of one callable on this task. Immutable but for the
// list of step objects that wait to be used again.
class TaskRuntime::Registration {
 public:
  struct Part {
    std::shared_ptr<const Plan> plan;
    Device* device;
    ResourceManager* resources;
  };

  Registration(std::shared_ptr<Session> session, std::vector<Part> parts,
               Scheduler* scheduler)
      : session_(std::move(session)),
        parts_(std::move(parts)),
        scheduler_(scheduler) {}

  const std::vector<Part>& parts() const { return parts_; }
  Scheduler* scheduler() const { return scheduler_; }

  std::unique_ptr<RunningStep> TakeStep();
  void GiveBack(std::unique_ptr<RunningStep> step);

 private:
  // Keeps own resources and stateful kernels alive while steps run.
  const std::shared_ptr<Session> session_;
  const std::vector<Part> parts_;
  Scheduler* const scheduler_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<RunningStep>> idle_steps_ ABSL_GUARDED_BY(mutex_);
};

// One step on this task, from Run to its end. Used again for later steps of
// the registration, so that a warm step allocates nothing for it.
class TaskRuntime::RunningStep {
 public:
  // Ends by calling `done` and giving itself back to the registration.
  static void Start(std::shared_ptr<Registration> registration,
                    const protocol::PartitionStep& request, Done done);

 private:
  void StartParts(const protocol::PartitionStep& request);
  void AbortRendezvousWhenCancelled();
  void PartDone(const absl::Status& status);
  void Finish();

  std::shared_ptr<Registration> registration_;
  Cancellation* cancellation_ = nullptr;
  Cancellation::Token cancellation_token_ = 0;
  std::unique_ptr<LocalRendezvous> rendezvous_;
  std::unique_ptr<ResourceManager> step_resources_;
  std::atomic<int> parts_left_{0};
  absl::Mutex mutex_;
  absl::Status first_error_ ABSL_GUARDED_BY(mutex_);
  Done done_;
};

std::unique_ptr<TaskRuntime::RunningStep>
TaskRuntime::Registration::TakeStep() {
  absl::MutexLock lock(&mutex_);
  if (idle_steps_.empty()) return std::make_unique<RunningStep>();
  std::unique_ptr<RunningStep> step = std::move(idle_steps_.back());
  idle_steps_.pop_back();
  return step;
}

void TaskRuntime::Registration::GiveBack(std::unique_ptr<RunningStep> step) {
  absl::MutexLock lock(&mutex_);
  idle_steps_.push_back(std::move(step));
}

void TaskRuntime::RunningStep::Start(std::shared_ptr<Registration> registration,
                                     const protocol::PartitionStep& request,
                                     Done done) {
  std::unique_ptr<RunningStep> step = registration->TakeStep();
  step->registration_ = std::move(registration);
  step->done_ = std::move(done);
  step->cancellation_ = request.cancellation;
  step.release()->StartParts(request);  // Finish takes it back
}

void TaskRuntime::RunningStep::StartParts(
    const protocol::PartitionStep& request) {
  const std::vector<Registration::Part>& parts = registration_->parts();
  const int num_parts = static_cast<int>(parts.size());
  if (num_parts > 1) rendezvous_ = std::make_unique<LocalRendezvous>();
  if (!step_resources_) {
    step_resources_ = std::make_unique<ResourceManager>("step");
  }
  // One more than there are parts, so that the step outlives this loop.
  parts_left_.store(num_parts + 1, std::memory_order_relaxed);
  AbortRendezvousWhenCancelled();
  for (int i = 0; i < num_parts; ++i) {
    const bool is_last = i == num_parts - 1;
    StepArgs args;
    args.context = {.step_id = request.step_id,
                    .cancellation = cancellation_,
                    .scheduler = registration_->scheduler(),
                    .device = parts[i].device,
                    .allocator = &parts[i].device->allocator(),
                    .resources = parts[i].resources,
                    .step_resources = step_resources_.get(),
                    .rendezvous = rendezvous_.get()};
    args.args = request.feeds;
    args.retvals = request.fetches;
    // A caller that waits serves the last part; the others run meanwhile.
    const RunWhere where =
        request.caller_waits && is_last ? RunWhere::kCaller : RunWhere::kPool;
    weft::Start(parts[i].plan, args, where,
                [this](const absl::Status& status) { PartDone(status); });
  }
  PartDone(absl::OkStatus());
}

void TaskRuntime::RunningStep::AbortRendezvousWhenCancelled() {
  if (rendezvous_ == nullptr) return;
  cancellation_token_ = cancellation_->Register(
      [this](const absl::Status& cause) { rendezvous_->Abort(cause); });
  if (cancellation_token_ == 0) rendezvous_->Abort(cancellation_->status());
}

void TaskRuntime::RunningStep::PartDone(const absl::Status& status) {
  if (!status.ok()) {
    absl::MutexLock lock(&mutex_);
    // An error that the abort made gives way to the one that caused it.
    if (first_error_.ok() || IsDerived(first_error_)) first_error_ = status;
  }
  if (parts_left_.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish();
}

void TaskRuntime::RunningStep::Finish() {
  if (cancellation_token_ != 0) cancellation_->Deregister(cancellation_token_);
  cancellation_token_ = 0;
  rendezvous_.reset();
  step_resources_->ClearAll();
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    status = std::exchange(first_error_, absl::OkStatus());
  }
  Done done = std::move(done_);
  std::shared_ptr<Registration> registration = std::move(registration_);
  registration->GiveBack(std::unique_ptr<RunningStep>(this));
  done(std::move(status));
}

TaskRuntime::TaskRuntime(std::vector<std::unique_ptr<Device>> devices,
                         const TaskRuntimeOptions& options)
    : devices_(std::move(devices)),
      options_(options),
      shared_resources_(NewResources()) {}

TaskRuntime::~TaskRuntime() {
  // A registration keeps its session alive, so sessions are emptied by hand.
  absl::MutexLock lock(&mutex_);
  for (auto& [id, session] : sessions_) session->registrations.clear();
}

std::vector<std::unique_ptr<ResourceManager>> TaskRuntime::NewResources()
    const {
  std::vector<std::unique_ptr<ResourceManager>> result;
  for (size_t i = 0; i < devices_.size(); ++i) {
    result.push_back(
        std::make_unique<ResourceManager>(options_.default_container));
  }
  return result;
}

std::vector<DeviceAttributes> TaskRuntime::Devices() const {
  std::vector<DeviceAttributes> result;
  for (const auto& device : devices_) result.push_back(device->attributes());
  return result;
}

std::vector<std::string> TaskRuntime::DeviceTypesFor(const Node& node) const {
  return options_.kernels->DeviceTypesFor(node);
}

absl::Status TaskRuntime::CreateSession(uint64_t session, bool isolated) {
  auto created = std::make_shared<Session>();
  if (isolated) created->own_resources = NewResources();
  absl::MutexLock lock(&mutex_);
  if (!sessions_.emplace(session, std::move(created)).second) {
    return absl::AlreadyExistsError(
        absl::StrCat("Session ", session, " exists already on this task."));
  }
  return absl::OkStatus();
}

void TaskRuntime::DeleteSession(uint64_t session) {
  std::shared_ptr<Session> removed;  // destroyed without the lock
  absl::flat_hash_map<uint64_t, std::shared_ptr<Registration>> registrations;
  absl::MutexLock lock(&mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  removed = std::move(it->second);
  registrations = std::move(removed->registrations);
  sessions_.erase(it);
}

std::shared_ptr<TaskRuntime::Session> TaskRuntime::FindSession(
    uint64_t session) const {
  absl::ReaderMutexLock lock(&mutex_);
  auto it = sessions_.find(session);
  return it == sessions_.end() ? nullptr : it->second;
}

absl::Status TaskRuntime::Register(
    const protocol::PartitionRegistration& registration) {
  std::shared_ptr<Session> session = FindSession(registration.session);
  if (session == nullptr) {
    return absl::AbortedError(absl::StrCat("Session ", registration.session,
                                           " is not known on this task. "
                                           "Possibly the task has restarted."));
  }
  ASSIGN_OR_RETURN(auto compiled, Compile(registration, session));
  absl::MutexLock lock(&mutex_);
  session->registrations.emplace(registration.registration,
                                 std::move(compiled));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<TaskRuntime::Registration>> TaskRuntime::Compile(
    const protocol::PartitionRegistration& registration,
    std::shared_ptr<Session> session) const {
  std::vector<Registration::Part> parts;
  for (const protocol::DevicePartition& partition : registration.partitions) {
    size_t i = 0;
    while (i < devices_.size() && devices_[i]->name() != partition.device) ++i;
    if (i == devices_.size()) {
      return absl::InternalError(absl::StrCat(
          "A partition for ", partition.device, " came to another task."));
    }
    ASSIGN_OR_RETURN(
        auto plan,
        Plan::Compile(*partition.graph,
                      {.kernels = options_.kernels,
                       .device = devices_[i].get(),
                       .random = options_.random,
                       .stateful_kernels = &session->stateful_kernels}));
    ResourceManager* resources = session->own_resources.empty()
                                     ? shared_resources_[i].get()
                                     : session->own_resources[i].get();
    parts.push_back({std::move(plan), devices_[i].get(), resources});
  }
  return std::make_shared<Registration>(std::move(session), std::move(parts),
                                        options_.scheduler);
}

void TaskRuntime::Deregister(uint64_t session, uint64_t registration) {
  std::shared_ptr<Registration> removed;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  auto found = it->second->registrations.find(registration);
  if (found == it->second->registrations.end()) return;
  removed = std::move(found->second);
  it->second->registrations.erase(found);
}

absl::StatusOr<std::shared_ptr<TaskRuntime::Registration>>
TaskRuntime::FindRegistration(uint64_t session, uint64_t registration) const {
  absl::ReaderMutexLock lock(&mutex_);
  auto it = sessions_.find(session);
  if (it != sessions_.end()) {
    auto found = it->second->registrations.find(registration);
    if (found != it->second->registrations.end()) return found->second;
  }
  return absl::AbortedError(absl::StrCat(
      "Registration ", registration, " of session ", session,
      " is not known on this task. Possibly the task has restarted."));
}

void TaskRuntime::Run(const protocol::PartitionStep& step, Done done) {
  auto registration = FindRegistration(step.session, step.registration);
  if (!registration.ok()) return done(registration.status());
  RunningStep::Start(*std::move(registration), step, std::move(done));
}

void TaskRuntime::ClearContainers(absl::Span<const std::string> containers) {
  for (const auto& resources : shared_resources_) {
    if (containers.empty()) resources->ClearContainer("");
    for (const std::string& name : containers) resources->ClearContainer(name);
  }
}

}  // namespace weft
