#include "libs/train/sessions/session_creator.h"

#include <functional>
#include <utility>

#include "libs/base/status.h"
#include "libs/ops/state/variable.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/sessions/report_uninitialized.h"

namespace weft::train {
namespace {

// Marks sessions as monitored: tasks that shut down continue to run the steps
// of monitored sessions until the user closes these.
SessionCreatorOptions Monitored(SessionCreatorOptions options) {
  options.config.is_monitored = true;
  return options;
}

std::shared_ptr<Scaffold> GivenOrNew(const SessionCreatorOptions& options) {
  return options.scaffold != nullptr ? options.scaffold
                                     : std::make_shared<Scaffold>();
}

// Returns the options of the session manager. Waits end when the user of the
// creator, or the user of its sessions, requests a stop.
SessionManagerOptions ManagerOptions(const SessionCreatorOptions& options,
                                     const Scaffold& scaffold,
                                     std::function<bool()> stop_requested) {
  SessionManagerOptions manager;
  manager.local_init_op = scaffold.local_init_op();
  manager.ready_op = scaffold.ready_op();
  manager.ready_for_local_init_op = scaffold.ready_for_local_init_op();
  manager.session_factory = options.session_factory;
  manager.log_interval = options.log_interval;
  manager.stop_requested = [given = options.stop_requested,
                            used = std::move(stop_requested)] {
    return used() || (given && given());
  };
  manager.scheduler = options.scheduler;
  manager.logger = options.logger;
  return manager;
}

}  // namespace

ChiefSessionCreator::ChiefSessionCreator(SessionCreatorOptions options)
    : options_(Monitored(std::move(options))),
      scaffold_(GivenOrNew(options_)) {}

absl::Status ChiefSessionCreator::FinalizeGraph(const Scope& scope) {
  RETURN_IF_ERROR(scaffold_->Finalize(scope));
  manager_.emplace(scope, ManagerOptions(options_, *scaffold_,
                                         [this] { return IsStopRequested(); }));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Session>> ChiefSessionCreator::CreateSession() {
  return manager_->PrepareSession(
      options_.master, options_.config,
      {.saver = scaffold_->saver().get(),
       .directory = options_.checkpoint_dir,
       .filename_with_path = options_.checkpoint_filename_with_path},
      {.init_op = scaffold_->init_op(),
       .init_feeds = scaffold_->init_feeds(),
       .init_fn = scaffold_->init_fn()});
}

absl::StatusOr<std::unique_ptr<Session>> ChiefSessionCreator::Reconnect() {
  ASSIGN_OR_RETURN(auto session,
                   manager_->ConnectIfReady(options_.master, options_.config));
  if (session != nullptr) return session;
  return CreateSession();
}

WorkerSessionCreator::WorkerSessionCreator(SessionCreatorOptions options)
    : options_(Monitored(std::move(options))),
      scaffold_(GivenOrNew(options_)) {}

// The op that waits exists only in Weft, so it must not be in a graph that a
// chief exports.
absl::Status WorkerSessionCreator::FinalizeGraph(const Scope& scope) {
  RETURN_IF_ERROR(scaffold_->Finalize(scope));
  SessionManagerOptions manager = ManagerOptions(
      options_, *scaffold_, [this] { return IsStopRequested(); });
  if (scaffold_->waits_for_variables()) {
    manager.global_step = GetGlobalStep(scope);
    manager.wait_op =
        WaitForVariables(scope.ReenterScope(""), ops::GlobalVariables(scope));
    RETURN_IF_ERROR(scope.status());
  }
  manager_.emplace(scope, std::move(manager));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Session>> WorkerSessionCreator::CreateSession() {
  return manager_->WaitForSession(options_.master, options_.config,
                                  options_.max_wait);
}

}  // namespace weft::train
