#include "libs/coordinator/coordinator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/coordinator/container_filter.h"
#include "libs/coordinator/coordinator_impl.h"

namespace weft {
namespace {

using protocol::ClusterQuery;
using protocol::ClusterStatus;
using protocol::HeartbeatReply;
using protocol::HeartbeatRequest;
using protocol::JoinReply;
using protocol::JoinRequest;
using protocol::PlacementReply;
using protocol::PlacementRequest;

std::string NewUuid(Random& random) {
  return absl::StrCat(absl::Hex(random.Next(), absl::kZeroPad16),
                      absl::Hex(random.Next(), absl::kZeroPad16));
}

}  // namespace

Coordinator::Impl::Impl(const CoordinatorOptions& options)
    : options_(options),
      scheduler_(*options.scheduler),
      cluster_uuid_(NewUuid(*options.random)),
      tasks_(options.cluster, options.task, options.heartbeat_timeout),
      register_(options.heartbeat_interval < absl::InfiniteDuration()) {}

void Coordinator::Impl::Close() {
  {
    DeferredCallbacks callbacks;
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    if (tick_ != 0) scheduler_.CancelTimer(tick_);
    ends_waits_ = true;
    while (!calls_.empty()) Fail(calls_.begin(), Stopping(), callbacks);
  }
  logging_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
}

void Coordinator::Impl::EndWaits() {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  ends_waits_ = true;
  for (const uint64_t id : CallIds()) Advance(id, callbacks);
}

absl::Status Coordinator::Impl::Stopping() const {
  return absl::UnavailableError(
      absl::StrCat("The coordinator at ", options_.task, " is shutting down."));
}

// Lines that were not logged yet are counted, and Close waits for them, because
// the logger may be destroyed after Close has returned.
void Coordinator::Impl::Log(Severity severity, std::string line,
                            DeferredCallbacks& callbacks) {
  if (options_.logger == nullptr || closed_) return;
  logging_.Begin();
  callbacks.AddLine([this, severity, line = std::move(line)] {
    options_.logger->Log(severity, line);
    logging_.End();
  });
}

void Coordinator::Impl::EndSession(uint64_t session) {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  register_.EndSession(session);
  for (const uint64_t id : CallIds()) {
    const auto call = calls_.find(id);
    const auto& request = call->second.request;
    if (request == nullptr || request->session != session) continue;
    Fail(call, absl::AbortedError("The session has ended."), callbacks);
  }
}

absl::Status Coordinator::Impl::ForgetContainers(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters) {
  ASSIGN_OR_RETURN(const ContainerFilter filter,
                   ContainerFilter::Create(containers, device_filters));
  absl::MutexLock lock(&mutex_);
  register_.Forget(filter);
  tasks_.Forget(filter);
  return absl::OkStatus();
}

ClusterStatus Coordinator::Impl::GetCluster(const ClusterQuery& query) {
  absl::MutexLock lock(&mutex_);
  if (query.only_states) return {cluster_uuid_, options_.task, tasks_.States()};
  return Status({});
}

ClusterStatus Coordinator::Impl::Status(
    const SessionsByContainer& sessions_by_container) const {
  ClusterStatus status = {
      cluster_uuid_, options_.task,
      tasks_.Statuses(register_.SessionsOfTasks(), sessions_by_container)};
  for (protocol::TaskStatus& task : status.tasks) {
    for (auto& declared : register_.OnlyDeclaredOn(task.task)) {
      task.resources.push_back(std::move(declared));
    }
  }
  return status;
}

bool Coordinator::Impl::HasLeft(const std::string& task,
                                uint64_t incarnation) const {
  absl::MutexLock lock(&mutex_);
  const auto& members = tasks_.members().members();
  const auto it = members.find(task);
  return it != members.end() && it->second.state == Membership::State::kLeft &&
         it->second.incarnation == incarnation;
}

std::map<protocol::TaskState, int> Coordinator::Impl::CountTasks() const {
  absl::MutexLock lock(&mutex_);
  return tasks_.Counts();
}

void Coordinator::Impl::Shutdown() {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  if (stopping_since_ < absl::InfiniteFuture()) return;
  stopping_since_ = Now();
  Log(Severity::kInfo, "All tasks of the cluster are asked to stop", callbacks);
}

Coordinator::Coordinator(const CoordinatorOptions& options)
    : impl_(std::make_shared<Impl>(options)) {}

Coordinator::~Coordinator() { impl_->Close(); }

void Coordinator::Join(const JoinRequest& request, absl::Time,
                       Answer<JoinReply> done) {
  impl_->Join(request, std::move(done));
}

void Coordinator::Heartbeat(const HeartbeatRequest& request, absl::Time,
                            Answer<HeartbeatReply> done) {
  impl_->Heartbeat(request, std::move(done));
}

void Coordinator::Leave(const protocol::LeaveRequest& request, absl::Time,
                        Done done) {
  impl_->Leave(request);
  done(absl::OkStatus());
}

void Coordinator::Place(const PlacementRequest& request, absl::Time deadline,
                        std::shared_ptr<Cancellation> cancellation,
                        Answer<PlacementReply> done) {
  impl_->Place(request, deadline, std::move(cancellation), std::move(done));
}

void Coordinator::EndSession(uint64_t session, absl::Time, Done done) {
  impl_->EndSession(session);
  done(absl::OkStatus());
}

void Coordinator::ForgetContainers(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters, absl::Time,
    std::shared_ptr<Cancellation>, Done done) {
  done(impl_->ForgetContainers(containers, device_filters));
}

void Coordinator::ListDevices(const std::vector<std::string>& device_filters,
                              absl::Time deadline,
                              std::shared_ptr<Cancellation> cancellation,
                              Answer<std::vector<DeviceAttributes>> done) {
  impl_->ListDevices(device_filters, deadline, std::move(cancellation),
                     std::move(done));
}

void Coordinator::GetCluster(const protocol::ClusterQuery& query,
                             absl::Time deadline, Answer<ClusterStatus> done) {
  if (!query.is_fresh) return done(impl_->GetCluster(query));
  impl_->GetFreshCluster(deadline, std::move(done));
}

void Coordinator::Shutdown(absl::Time, Done done) {
  impl_->Shutdown();
  done(absl::OkStatus());
}

void Coordinator::EndWaits() { impl_->EndWaits(); }

void Coordinator::Close() { impl_->Close(); }

bool Coordinator::HaveAllAcknowledged() const {
  return impl_->HaveAllAcknowledged();
}

bool Coordinator::HasLeft(const std::string& task, uint64_t incarnation) const {
  return impl_->HasLeft(task, incarnation);
}

std::map<protocol::TaskState, int> Coordinator::CountTasks() const {
  return impl_->CountTasks();
}

void Coordinator::OnTaskLost(const std::string& task, uint64_t incarnation,
                             const absl::Status& why) {
  impl_->OnTaskLost(task, incarnation, why);
}

}  // namespace weft
