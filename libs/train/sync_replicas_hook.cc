#include "libs/train/sync_replicas_hook.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"

namespace weft::train {
namespace {

absl::Status CheckReady(const std::string& init_op,
                        const absl::StatusOr<Tensor>& missing) {
  RETURN_IF_ERROR(missing.status());
  if (missing->num_elements() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "Init operations did not make model ready for SyncReplicasOptimizer "
      "local_init. Init op: ",
      init_op,
      ", error: Model is not ready for SyncReplicasOptimizer local "
      "init. Variables not initialized: ",
      absl::StrJoin(missing->flat<std::string>(), ", ")));
}

}  // namespace

// Updates run one after the other without a thread that waits for them: the end
// of one starts the next, until the session ends.
class SyncReplicasHook::Updates {
 public:
  // All outlive it, but for the coordinator, which may go after Detach.
  Updates(SyncReplicasWaits& waits, Session& session,
          std::unique_ptr<Session::Callable> update, Coordinator& coordinator)
      : waits_(waits),
        session_(session),
        update_(std::move(update)),
        coordinator_(&coordinator),
        ended_(session.scheduler().NewEvent()) {}

  void RunNext() {
    waits_.Advance(/*is_waiting=*/true);
    update_->RunAsync({},
                      [this](const absl::StatusOr<std::vector<Tensor>>& run) {
                        run.ok() ? RunNext() : End(run.status());
                      });
  }

  // The coordinator hears of no error any more.
  void Detach() {
    absl::MutexLock lock(&mutex_);
    coordinator_ = nullptr;
  }

  // REQUIRES: the session is closed.
  void WaitForEnd() {
    ended_->Wait();
    // End has let go of it.
    absl::MutexLock lock(&mutex_);
  }

 private:
  void End(const absl::Status& status) {
    {
      absl::MutexLock lock(&mutex_);
      if (coordinator_ != nullptr) {
        coordinator_->RequestStop(
            Annotate(status, "SyncReplicasOptimizer update"));
      }
    }
    // No token will come any more: what waits for one is not to wait for ever.
    session_.Close().IgnoreError();
    absl::MutexLock lock(&mutex_);
    ended_->Set();
  }

  SyncReplicasWaits& waits_;
  Session& session_;
  const std::unique_ptr<Session::Callable> update_;
  absl::Mutex mutex_;
  Coordinator* coordinator_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<Event> ended_;
};

SyncReplicasHook::SyncReplicasHook(
    std::shared_ptr<const SyncReplicasNodes> nodes, bool is_chief,
    SyncReplicasHookOptions options)
    : nodes_(std::move(nodes)),
      is_chief_(is_chief),
      options_(options),
      logger_(options.logger),
      waits_(*nodes_, is_chief, options.log_waits_after, *logger_) {}

SyncReplicasHook::~SyncReplicasHook() = default;

absl::Status SyncReplicasHook::Begin(const Scope& scope) {
  if (!nodes_->is_complete()) {
    return absl::FailedPreconditionError(
        "SyncReplicasOptimizer.ApplyGradients should be called before using "
        "the hook.");
  }
  if (options_.log_waits_after <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("log_waits_after must be positive, but is ",
                     absl::FormatDuration(options_.log_waits_after)));
  }
  local_init_op_ =
      is_chief_ ? nodes_->chief_init_op : nodes_->local_step_init_op;
  if (is_chief_) {
    init_tokens_op_ = nodes_->EnqueueInitTokens(scope, options_.num_tokens);
  }
  RETURN_IF_ERROR(scope.status());
  return waits_.AddNodes(scope);
}

absl::Status SyncReplicasHook::AfterCreateSession(Session& session,
                                                  Coordinator& coordinator) {
  RETURN_IF_ERROR(CheckReady(local_init_op_.name(),
                             session.Run(nodes_->ready_for_local_init_op)));
  RETURN_IF_ERROR(session.Run(local_init_op_));
  if (is_chief_) RETURN_IF_ERROR(StartUpdates(session, coordinator));
  coordinator.Start("SyncReplicasOptimizer waits",
                    [this, updates = updates_, &session, &coordinator] {
                      waits_.Watch(session, coordinator);
                      if (updates != nullptr) updates->Detach();
                      return absl::OkStatus();
                    });
  return absl::OkStatus();
}

absl::Status SyncReplicasHook::StartUpdates(Session& session,
                                            Coordinator& coordinator) {
  RETURN_IF_ERROR(session.Run(init_tokens_op_));
  ASSIGN_OR_RETURN(auto update,
                   session.MakeCallable({}, {}, {nodes_->sync_op}));
  updates_ = std::make_shared<Updates>(waits_, session, std::move(update),
                                       coordinator);
  updates_->RunNext();
  return absl::OkStatus();
}

absl::StatusOr<SessionRunArgs> SyncReplicasHook::BeforeRun(SessionRunContext&) {
  if (!is_chief_) waits_.Advance(/*is_waiting=*/true);
  return SessionRunArgs();
}

absl::Status SyncReplicasHook::AfterRun(SessionRunContext&,
                                        const SessionRunValues&) {
  if (!is_chief_) waits_.Advance(/*is_waiting=*/false);
  return absl::OkStatus();
}

void SyncReplicasHook::BeforeSessionGoes() {
  if (updates_ != nullptr) updates_->WaitForEnd();
  updates_ = nullptr;
}

}  // namespace weft::train
