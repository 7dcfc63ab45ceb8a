#include "libs/train/sync_replicas/sync_replicas_hook.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"

namespace weft::train {
namespace {

// Timeout of the two enqueues that report the end of training, which never
// wait.
constexpr absl::Duration kTellingTimeout = absl::Seconds(10);

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

absl::Status CheckPositive(absl::string_view name, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be positive, but is ", absl::FormatDuration(value)));
}

absl::Status CheckOptions(const SyncReplicasHookOptions& options) {
  RETURN_IF_ERROR(CheckPositive("log_waits_after", options.log_waits_after));
  RETURN_IF_ERROR(CheckPositive("max_wait", options.max_wait));
  RETURN_IF_ERROR(
      CheckPositive("max_wait_for_replicas", options.max_wait_for_replicas));
  RETURN_IF_ERROR(CheckPositive("max_wait_for_ended_replicas",
                                options.max_wait_for_ended_replicas));
  if (options.max_wait_for_chief >= absl::ZeroDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("max_wait_for_chief must not be negative, but is ",
                   absl::FormatDuration(options.max_wait_for_chief)));
}

}  // namespace

// Runs updates one after the other without a waiting thread: the end of one
// step starts the next, until the session ends.
class SyncReplicasHook::Updates {
 public:
  struct Steps {
    std::unique_ptr<Session::Callable> wait, update;
  };
  // All must outlive it, except the coordinator, which may be destroyed after
  // Detach.
  Updates(SyncReplicasWaits& waits, Session& session, Steps steps,
          Coordinator& coordinator)
      : waits_(waits),
        session_(session),
        steps_(std::move(steps)),
        coordinator_(&coordinator),
        ended_(session.scheduler().NewEvent()) {}

  void WaitForGradients() {
    waits_.Advance(/*is_waiting=*/true);
    RunWait();
  }

  // See SessionRunHook::SaveBetweenUpdates.
  absl::Status HoldFor(absl::FunctionRef<absl::Status()> save) {
    absl::Status status = BeginHold();
    if (status.ok()) status = save();
    EndHold();
    return status;
  }

  // After this, errors are not reported to the coordinator.
  void Detach() {
    absl::MutexLock lock(&mutex_);
    coordinator_ = nullptr;
  }

  // REQUIRES: the session is closed. Then a concurrent save does not delay it.
  void WaitForEnd() {
    bool is_held = false;
    {
      absl::MutexLock lock(&mutex_);
      is_over_ = true;
      is_held = is_held_;
    }
    // A held update runs no step, and will run none.
    if (!is_held) ended_->Wait();
    Steps ended;                    // destroys callables, so without the lock
    absl::MutexLock lock(&mutex_);  // End has released the lock
    std::swap(ended, steps_);
  }

 private:
  // One wait may take several steps.
  void RunWait() {
    steps_.wait->RunAsync(
        {}, [this](const absl::StatusOr<std::vector<Tensor>>& run) {
          if (run.ok()) return BeginUpdate();
          // Others are late, and SyncReplicasWaits limits the wait. Nothing was
          // changed.
          if (absl::IsDeadlineExceeded(run.status())) return RunWait();
          End(run.status());
        });
  }

  void BeginUpdate() {
    waits_.Advance(/*is_waiting=*/false);
    {
      absl::MutexLock lock(&mutex_);
      // On a closed session it fails, and WaitForEnd waits for that.
      is_held_ = num_holds_ > 0 && !is_over_;
      if (is_held_) return;
      is_updating_ = true;
    }
    Update();
  }

  void Update() {
    steps_.update->RunAsync(
        {}, [this](const absl::StatusOr<std::vector<Tensor>>& run) {
          EndUpdate(run.status());
          run.ok() ? WaitForGradients() : End(run.status());
        });
  }

  void EndUpdate(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    is_updating_ = false;
    failure_ = status;
    for (Event* waiter : waiters_) waiter->Set();
  }

  // No update begins until EndHold, which must follow in any case.
  absl::Status BeginHold() {
    const std::unique_ptr<Event> update_has_ended =
        session_.scheduler().NewEvent();
    {
      absl::MutexLock lock(&mutex_);
      ++num_holds_;
      if (!is_updating_) update_has_ended->Set();
      waiters_.push_back(update_has_ended.get());
    }
    // The update ends like any step: by itself, or with the session.
    update_has_ended->Wait();
    absl::MutexLock lock(&mutex_);
    std::erase(waiters_, update_has_ended.get());
    if (failure_.ok()) return absl::OkStatus();
    return absl::AbortedError(
        absl::StrCat("Variables may have half an update of "
                     "SyncReplicasOptimizer in them, for it has failed: ",
                     failure_.ToString()));
  }

  void EndHold() {
    {
      absl::MutexLock lock(&mutex_);
      if (--num_holds_ > 0 || !is_held_ || is_over_) return;
      is_held_ = false;
      is_updating_ = true;
    }
    Update();
  }

  // No token will arrive any more. Waiting runs must not wait forever, so the
  // session is closed, on a separate thread, because closing waits for all its
  // steps, which may wait for a hung file system.
  void End(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    if (coordinator_ != nullptr) {
      coordinator_->RequestStop(
          Annotate(status, "SyncReplicasOptimizer update"));
      coordinator_->Start("close after the last update", [&session = session_] {
        session.Close().IgnoreError();
        return absl::OkStatus();
      });
    }
    // After Detach the owner ends training and closes the session.
    ended_->Set();
  }

  SyncReplicasWaits& waits_;
  Session& session_;
  Steps steps_;
  absl::Mutex mutex_;
  Coordinator* coordinator_ ABSL_GUARDED_BY(mutex_);
  bool is_updating_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // error of the last update
  int num_holds_ ABSL_GUARDED_BY(mutex_) = 0;
  // Gradients are available, and the update waits for the end of the holds.
  bool is_held_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  // Holds that wait for the end of an update.
  std::vector<Event*> waiters_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<Event> ended_;
};

SyncReplicasHook::SyncReplicasHook(
    std::shared_ptr<const SyncReplicasNodes> nodes, bool is_chief,
    SyncReplicasHookOptions options)
    : nodes_(std::move(nodes)),
      is_chief_(is_chief),
      options_(options),
      logger_(options.logger),
      waits_(*nodes_, is_chief,
             {options.log_waits_after, options.max_wait_for_chief,
              options.max_wait, options.max_wait_for_replicas,
              options.max_wait_for_ended_replicas, options.random},
             *logger_) {}

SyncReplicasHook::~SyncReplicasHook() = default;

absl::Status SyncReplicasHook::Begin(const Scope& scope) {
  if (!nodes_->is_complete()) {
    return absl::FailedPreconditionError(
        "SyncReplicasOptimizer.ApplyGradients should be called before using "
        "the hook.");
  }
  RETURN_IF_ERROR(CheckOptions(options_));
  local_init_op_ =
      is_chief_ ? nodes_->chief_init_op : nodes_->local_step_init_op;
  const SyncReplicasNodes::Ends ends = nodes_->MakeEnds(scope);
  if (is_chief_) RETURN_IF_ERROR(AddNodesOfChief(scope, ends));
  RETURN_IF_ERROR(scope.status());
  return waits_.AddNodes(scope, ends);
}

absl::Status SyncReplicasHook::AddNodesOfChief(
    const Scope& scope, const SyncReplicasNodes::Ends& ends) {
  const int num_tokens = options_.num_tokens == -1 ? nodes_->tokens_of_update()
                                                   : options_.num_tokens;
  const Operation tokens = nodes_->EnqueueInitTokens(scope, num_tokens);
  const Scope there = nodes_->BesideGlobalStep(scope);
  const std::vector<Output> cleared =
      ends.last.DequeueMany(there, ends.last.Size(there));
  const Tensor one = Tensor::Scalar(int64_t{1});
  const Operation last = ends.last.Enqueue(there, {one});
  if (!last) return scope.status();
  end_ops_ = {ends.all.Enqueue(there.WithControlDependencies({last}), {one})};
  gradients_are_there_ =
      nodes_->WaitForGradients(scope.SubScope("sync_replicas_waits"));
  RETURN_IF_ERROR(scope.status());
  begin_ops_ = {tokens, Operation(cleared[0])};
  return absl::OkStatus();
}

absl::Status SyncReplicasHook::AfterCreateSession(Session& session,
                                                  Coordinator& coordinator) {
  RETURN_IF_ERROR(CheckReady(local_init_op_.name(),
                             session.Run(nodes_->ready_for_local_init_op)));
  RETURN_IF_ERROR(session.Run(local_init_op_));
  RETURN_IF_ERROR(
      waits_.BeginSession(session, coordinator.is_exit_requested()));
  std::shared_ptr<Updates> updates;
  if (is_chief_) {
    ASSIGN_OR_RETURN(updates, StartUpdates(session, coordinator));
  }
  coordinator.Start("SyncReplicasOptimizer waits",
                    [this, updates, &session, &coordinator] {
                      waits_.Watch(session, coordinator);
                      if (updates != nullptr) updates->Detach();
                      return absl::OkStatus();
                    });
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<SyncReplicasHook::Updates>>
SyncReplicasHook::StartUpdates(Session& session, Coordinator& coordinator) {
  RETURN_IF_ERROR(session.Run({}, std::vector<Output>(), begin_ops_).status());
  Updates::Steps steps;
  ASSIGN_OR_RETURN(steps.wait,
                   session.MakeCallable({}, {}, gradients_are_there_));
  ASSIGN_OR_RETURN(steps.update,
                   session.MakeCallable({}, {}, {nodes_->sync_op}));
  auto updates =
      std::make_shared<Updates>(waits_, session, std::move(steps), coordinator);
  {
    absl::MutexLock lock(&mutex_);
    updates_ = updates;
  }
  updates->WaitForGradients();
  return updates;
}

absl::StatusOr<SessionRunArgs> SyncReplicasHook::BeforeRun(SessionRunContext&) {
  waits_.BeginRun();
  if (!is_chief_) waits_.Advance(/*is_waiting=*/true);
  return SessionRunArgs();
}

absl::Status SyncReplicasHook::AfterRun(SessionRunContext& context,
                                        const SessionRunValues&) {
  waits_.EndRun();
  if (!is_chief_) waits_.Advance(/*is_waiting=*/false);
  if (waits_.has_ended()) context.RequestStop();
  return absl::OkStatus();
}

absl::StatusOr<SessionRunHook::Others> SyncReplicasHook::PollOtherPrograms(
    Session& session) {
  if (!is_chief_) return Others::kUnknown;
  return waits_.CheckWithoutOwnRuns(session);
}

absl::Status SyncReplicasHook::End(Session& session) {
  waits_.ReportLeaving(session);
  return absl::OkStatus();
}

absl::Status SyncReplicasHook::TrainingHasEnded(Session& session) {
  const absl::Status said = waits_.ReportHasEnded(session);
  if (!is_chief_) return said;
  // Replicas read these, not the chief's entry.
  return session
      .Run({}, std::vector<Output>(), end_ops_, {.timeout = kTellingTimeout})
      .status();
}

void SyncReplicasHook::BeforeSessionDestroyed() {
  waits_.EndSession();
  std::shared_ptr<Updates> updates;
  {
    absl::MutexLock lock(&mutex_);
    updates = std::exchange(updates_, nullptr);
  }
  if (updates != nullptr) updates->WaitForEnd();
}

absl::Status SyncReplicasHook::SaveBetweenUpdates(
    absl::FunctionRef<absl::Status()> save) {
  std::shared_ptr<Updates> updates;
  {
    absl::MutexLock lock(&mutex_);
    updates = updates_;
  }
  return updates == nullptr ? save() : updates->HoldFor(save);
}

}  // namespace weft::train
