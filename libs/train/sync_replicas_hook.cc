#include "libs/train/sync_replicas_hook.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/resource/accumulator_ops.h"

namespace weft::train {
namespace {

// The value after the control dependencies of `scope`. Of a reference that is
// what the variable's own Identity gives, as in TensorFlow (see
// libs/executor/late_reads.h).
Output ReadNow(const Scope& scope, const ops::Variable& variable) {
  return variable.is_resource() ? variable.Read(scope) : variable.value();
}

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

Scope SyncReplicasNodes::BesideGlobalStep(const Scope& scope) const {
  const Scope root = scope.ReenterScope("");
  const std::string& device = global_step.handle().node()->requested_device();
  return device.empty() ? root : root.WithDevice(device);
}

Operation SyncReplicasNodes::EnqueueTokens(const Scope& scope,
                                           int num_tokens) const {
  return tokens.EnqueueMany(
      scope, {ops::Fill(scope, {num_tokens}, ReadNow(scope, global_step))});
}

Operation SyncReplicasNodes::EnqueueInitTokens(const Scope& scope,
                                               int num_tokens) const {
  const int needed = std::max(replicas_to_aggregate - total_num_replicas, 0);
  if (num_tokens == -1) {
    num_tokens = replicas_to_aggregate;
  } else if (num_tokens < needed) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("Too few tokens to finish the first step: ", num_tokens,
                     " (given) vs ", needed, " (needed)")));
    return Operation();
  }
  const Scope there = BesideGlobalStep(scope);
  return num_tokens == 0 ? ops::NoOp(there.WithName("no_init_tokens"))
                         : EnqueueTokens(there, num_tokens);
}

// Updates run one after the other without a thread that waits for them: the end
// of one starts the next.
class SyncReplicasHook::Updates {
 public:
  // All outlive it, but for the coordinator, whose thread it is told by.
  Updates(const SyncReplicasHook& hook, Session& session,
          std::unique_ptr<Session::Callable> update, Coordinator& coordinator)
      : hook_(hook),
        session_(session),
        update_(std::move(update)),
        coordinator_(coordinator),
        ended_(session.scheduler().NewEvent()) {}

  void Start() {
    coordinator_.Start("SyncReplicasOptimizer updates", [this] {
      Watch();
      return absl::OkStatus();
    });
    RunNext();
  }

  // REQUIRES: the session is closed, and the coordinator's threads have ended.
  void WaitForEnd() {
    ended_->Wait();
    // End has let go of it.
    absl::MutexLock lock(&mutex_);
  }

 private:
  void RunNext() {
    update_->RunAsync({},
                      [this](const absl::StatusOr<std::vector<Tensor>>& run) {
                        if (!ShouldGoOn(run.status())) return End();
                        RunNext();
                      });
  }

  bool ShouldGoOn(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    if (is_stopping_) return false;
    if (status.ok()) {
      ++count_;
      return true;
    }
    // The coordinator is there: its thread ends after it was told to stop.
    has_failed_ = true;
    coordinator_.RequestStop(Annotate(status, "SyncReplicasOptimizer update"));
    return false;
  }

  void End() {
    absl::MutexLock lock(&mutex_);
    ended_->Set();
  }

  // Says what an update waits for that takes long, until the coordinator stops.
  void Watch() {
    absl::Duration wait = hook_.options_.log_waits_after;
    int64_t seen = -1;
    while (!coordinator_.WaitForStop(wait)) {
      const int64_t count = Count();
      if (count == seen) LogMissing();
      wait = count == seen ? wait * 2 : hook_.options_.log_waits_after;
      seen = count;
    }
    bool has_failed;
    {
      absl::MutexLock lock(&mutex_);
      is_stopping_ = true;
      has_failed = has_failed_;
    }
    // No token will come any more: what waits for one is not to wait for ever.
    if (has_failed) session_.Close().IgnoreError();
  }

  int64_t Count() {
    absl::MutexLock lock(&mutex_);
    return count_;
  }

  void LogMissing() {
    const int required = hook_.nodes_->replicas_to_aggregate;
    const auto counts = session_.Run({}, hook_.num_accumulated_, {},
                                     {.timeout = absl::Seconds(5)});
    if (!counts.ok()) return;  // the update will say why
    std::vector<std::string> missing;
    for (size_t i = 0; i < counts->size(); ++i) {
      const int32_t count = (*counts)[i].scalar<int32_t>();
      if (count >= required) continue;
      missing.push_back(absl::StrCat(
          hook_.nodes_->accumulators[i].variable.name(), " (", count, ")"));
    }
    if (missing.empty()) return;
    constexpr size_t kMost = 5;
    const size_t num_missing = missing.size();
    missing.resize(std::min(num_missing, kMost));
    hook_.logger_->Warning(absl::StrCat(
        "SyncReplicasOptimizer waits for gradients of replicas: ", required,
        " are needed of each variable, and have not come of ",
        absl::StrJoin(missing, ", "),
        num_missing > kMost
            ? absl::StrCat(" and ", num_missing - kMost, " more")
            : "",
        ". Are all replicas running?"));
  }

  const SyncReplicasHook& hook_;
  Session& session_;
  const std::unique_ptr<Session::Callable> update_;
  Coordinator& coordinator_;
  const std::unique_ptr<Event> ended_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_failed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

SyncReplicasHook::SyncReplicasHook(
    std::shared_ptr<const SyncReplicasNodes> nodes, bool is_chief,
    SyncReplicasHookOptions options)
    : nodes_(std::move(nodes)),
      is_chief_(is_chief),
      options_(options),
      logger_(options.logger) {}

SyncReplicasHook::~SyncReplicasHook() = default;

absl::Status SyncReplicasHook::Begin(const Scope& scope) {
  if (!nodes_->is_complete()) {
    return absl::FailedPreconditionError(
        "SyncReplicasOptimizer.ApplyGradients should be called before using "
        "the hook.");
  }
  local_init_op_ =
      is_chief_ ? nodes_->chief_init_op : nodes_->local_step_init_op;
  if (!is_chief_) return absl::OkStatus();
  init_tokens_op_ = nodes_->EnqueueInitTokens(scope, options_.num_tokens);
  const Scope counts = scope.SubScope("sync_replicas_num_accumulated");
  for (const SyncReplicasNodes::Accumulator& accumulator :
       nodes_->accumulators) {
    const Scope beside = counts.ColocateWith(accumulator.variable.handle());
    num_accumulated_.push_back(
        accumulator.is_sparse
            ? ops::AccumulatorNumAccumulated(beside, accumulator.handle)
            : ops::ResourceAccumulatorNumAccumulated(beside,
                                                     accumulator.handle));
  }
  return scope.status();
}

absl::Status SyncReplicasHook::AfterCreateSession(Session& session,
                                                  Coordinator& coordinator) {
  RETURN_IF_ERROR(CheckReady(local_init_op_.name(),
                             session.Run(nodes_->ready_for_local_init_op)));
  RETURN_IF_ERROR(session.Run(local_init_op_));
  if (!is_chief_) return absl::OkStatus();
  RETURN_IF_ERROR(session.Run(init_tokens_op_));
  ASSIGN_OR_RETURN(auto update,
                   session.MakeCallable({}, {}, {nodes_->sync_op}));
  updates_ =
      std::make_unique<Updates>(*this, session, std::move(update), coordinator);
  updates_->Start();
  return absl::OkStatus();
}

void SyncReplicasHook::BeforeSessionGoes() {
  if (updates_ != nullptr) updates_->WaitForEnd();
  updates_ = nullptr;
}

}  // namespace weft::train
