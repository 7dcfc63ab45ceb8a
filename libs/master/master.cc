#include "libs/master/master.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/master/master_session.h"

namespace weft {

Master::Master(MasterOptions options) : options_(std::move(options)) {}

Master::~Master() {
  absl::flat_hash_map<uint64_t, std::shared_ptr<MasterSession>> sessions;
  {
    absl::MutexLock lock(&mutex_);
    sessions = std::move(sessions_);
  }
  for (auto& [id, session] : sessions) session->Close();
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
  ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session,
                   MasterSession::Create(id, config, options_));
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
  (*found)->RunCallable(callable, run, std::move(done));
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
  found->Close();
  return absl::OkStatus();
}

absl::Status Master::Reset(absl::Span<const std::string> containers) {
  absl::flat_hash_map<uint64_t, std::shared_ptr<MasterSession>> sessions;
  {
    absl::MutexLock lock(&mutex_);
    sessions.swap(sessions_);
  }
  for (auto& [id, session] : sessions) session->Close();
  for (protocol::Worker* worker : options_.workers) {
    worker->ClearContainers(containers);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeviceAttributes>> Master::ListDevices() {
  std::vector<DeviceAttributes> result;
  for (const protocol::Worker* worker : options_.workers) {
    for (DeviceAttributes& device : worker->Devices()) {
      result.push_back(std::move(device));
    }
  }
  return result;
}

}  // namespace weft
