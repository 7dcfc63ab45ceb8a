#include "libs/master/master.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cluster/device_filters.h"
#include "libs/cluster/device_name.h"
#include "libs/master/call_group.h"
#include "libs/master/coordinator_call.h"
#include "libs/master/master_session.h"
#include "libs/master/when_connected.h"

namespace weft {
namespace {

// Tasks of which the filters let at least one device pass; the master's own
// passes every filter.
absl::StatusOr<std::vector<std::string>> FilterTasks(
    const MasterOptions& options, const std::vector<std::string>& filters) {
  ASSIGN_OR_RETURN(const DeviceFilters parsed, DeviceFilters::Parse(filters));
  std::vector<std::string> result;
  for (const std::string& task : options.directory->Tasks()) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
    if (task == options.task || parsed.Passes(name)) result.push_back(task);
  }
  return result;
}

absl::Status ClosedByClient() {
  return absl::CancelledError(
      "Step was cancelled by an explicit call to `Session::Close()`.");
}

}  // namespace

Master::Master(MasterOptions options)
    : options_(std::move(options)),
      watch_(std::make_shared<StepWatch>(StepWatchOptions{
          .scheduler = options_.scheduler,
          .logger = options_.logger,
          .steps = &steps_,
          .interval = options_.log_waits_after,
          .find = [this](uint64_t number) { return FindSlow(number); }})) {}

Master::~Master() {
  watch_->Stop();
  CloseAll(ClosedByClient());
}

std::vector<SlowStep> Master::FindSlow(uint64_t number) const {
  std::vector<std::shared_ptr<MasterSession>> sessions;
  {
    absl::ReaderMutexLock lock(&mutex_);
    for (const auto& [id, session] : sessions_) sessions.push_back(session);
  }
  std::vector<SlowStep> result;
  for (const auto& session : sessions) {
    auto slow = session->FindSlow(number);
    if (slow) result.push_back(*std::move(slow));
  }
  return result;
}

void Master::CloseAll(const absl::Status& cause) {
  absl::flat_hash_map<uint64_t, std::shared_ptr<MasterSession>> sessions;
  {
    absl::MutexLock lock(&mutex_);
    sessions.swap(sessions_);
  }
  // In order, so that a simulation repeats.
  const std::map<uint64_t, std::shared_ptr<MasterSession>> sorted(
      sessions.begin(), sessions.end());
  for (const auto& [id, session] : sorted) session->Close(cause);
}

void Master::Drain(absl::Time deadline) {
  draining_.store(true, std::memory_order_release);
  steps_.WaitUntilNone(*options_.scheduler, deadline);
  CloseAll(ShuttingDown());
}

absl::Status Master::CheckNotDraining() const {
  if (!draining_.load(std::memory_order_acquire)) return absl::OkStatus();
  return ShuttingDown();
}

absl::Status Master::ShuttingDown() const {
  return absl::UnavailableError(
      absl::StrCat("The server of ", options_.task, " is shutting down."));
}

absl::StatusOr<std::shared_ptr<MasterSession>> Master::Find(
    uint64_t session) const {
  absl::ReaderMutexLock lock(&mutex_);
  auto it = sessions_.find(session);
  if (it != sessions_.end()) return it->second;
  return absl::AbortedError(
      absl::StrCat("Session ", session,
                   " is not found. Possibly, this master has restarted."));
}

absl::StatusOr<uint64_t> Master::CreateSession(
    const protocol::SessionConfig& config) {
  const uint64_t id = options_.random->NextId();
  RETURN_IF_ERROR(CheckNotDraining());
  RETURN_IF_ERROR(DeviceFilters::Parse(config.device_filters));
  auto session =
      std::make_shared<MasterSession>(id, config, options_, steps_, *watch_);
  absl::MutexLock lock(&mutex_);
  sessions_[id] = std::move(session);
  return id;
}

absl::StatusOr<protocol::ExtensionResult> Master::ExtendSession(
    uint64_t session, const protocol::GraphExtension& extension) {
  ASSIGN_OR_RETURN(auto found, Find(session));
  return found->Extend(extension);
}

absl::StatusOr<uint64_t> Master::MakeCallable(
    uint64_t session, const protocol::CallableSpec& spec) {
  ASSIGN_OR_RETURN(auto found, Find(session));
  return found->MakeCallable(spec);
}

void Master::RunCallable(uint64_t session, uint64_t callable,
                         const protocol::CallableRun& run, Done done) {
  auto found = Find(session);
  if (!found.ok()) return done(found.status());
  if (absl::Status status = CheckNotDraining(); !status.ok()) {
    return done(std::move(status));
  }
  (*found)->RunCallable(callable, run, std::move(done));
}

std::shared_ptr<const protocol::CallableSpec> Master::FindSpec(
    uint64_t session, uint64_t callable) {
  auto found = Find(session);
  return found.ok() ? (*found)->FindSpec(callable) : nullptr;
}

int Master::num_sessions() const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int>(sessions_.size());
}

absl::Status Master::ReleaseCallable(uint64_t session, uint64_t callable) {
  ASSIGN_OR_RETURN(auto found, Find(session));
  found->ReleaseCallable(callable);
  return absl::OkStatus();
}

absl::Status Master::CloseSession(uint64_t session) {
  ASSIGN_OR_RETURN(auto found, Find(session));
  {
    absl::MutexLock lock(&mutex_);
    sessions_.erase(session);
  }
  found->Close(ClosedByClient());
  return absl::OkStatus();
}

absl::Status Master::Reset(const std::vector<std::string>& containers,
                           const std::vector<std::string>& device_filters) {
  RETURN_IF_ERROR(CheckNotDraining());
  ASSIGN_OR_RETURN(const std::vector<std::string> tasks,
                   FilterTasks(options_, device_filters));
  CloseAll(ClosedByClient());
  CallGroup group(*options_.scheduler);
  const absl::Time deadline =
      options_.scheduler->clock().Now() + options_.patience;
  for (const std::string& task : tasks) {
    protocol::Worker& worker = *options_.directory->Find(task);
    WhenConnected(
        worker, deadline, group.Add(task),
        [&worker, &containers, deadline](protocol::Worker::Done done) {
          worker.ClearContainers(containers, deadline, std::move(done));
        });
  }
  RETURN_IF_ERROR(group.Wait("clear containers", options_.log_waits_after,
                             options_.logger));
  return AskCoordinator(options_, deadline, [&](absl::Time until, auto done) {
    options_.coordinator->ForgetContainers(containers, device_filters, until,
                                           std::move(done));
  });
}

absl::StatusOr<std::vector<DeviceAttributes>> Master::ListDevices() {
  RETURN_IF_ERROR(CheckNotDraining());
  return AskCoordinatorFor<std::vector<DeviceAttributes>>(
      options_, options_.scheduler->clock().Now() + options_.patience,
      [&](absl::Time until, auto done) {
        options_.coordinator->ListDevices({}, until, std::move(done));
      });
}

std::vector<protocol::DeclaredResources> Master::Declared() const {
  std::vector<protocol::DeclaredResources> result;
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [id, session] : sessions_) {
    result.push_back({id, session->declared()});
  }
  return result;
}

}  // namespace weft
