#include "libs/estimator/continuous_evaluation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/estimator/task_server.h"
#include "libs/tensor/buffer.h"

namespace weft::estimator {
namespace {

// Intervals of polling for new checkpoints, and of logging that there is no new
// checkpoint.
constexpr absl::Duration kLookInterval = absl::Seconds(1);
constexpr absl::Duration kLogInterval = absl::Minutes(10);
// Maximum wait between two attempts to evaluate the same checkpoint. Each
// attempt may read a large model, and an outage may last all night.
constexpr absl::Duration kLongestWait = absl::Minutes(5);
// A full disk is tolerated for this time, and for at least this number of
// evaluations.
constexpr absl::Duration kLongestFull = absl::Hours(1);
constexpr int kMostFull = 3;

class ContinuousEvaluation {
 public:
  ContinuousEvaluation(Estimator& estimator,
                       const ContinuousEvaluationOptions& options)
      : estimator_(estimator),
        options_(options),
        environment_(estimator.environment()) {}

  absl::StatusOr<std::optional<EvalMetrics>> Run() {
    RETURN_IF_ERROR(estimator_.status());
    if (!Wait(Now() + options_.start_delay)) return metrics_;
    while (!is_last_ && WantsMore()) {
      ASSIGN_OR_RETURN(const auto latest, NewCheckpoint());
      if (latest) {
        RETURN_IF_ERROR(Consider(*latest));
      } else if (!failed_) {
        LogNoCheckpoint();
      }
      if (!is_last_ && !Wait(Now() + kLookInterval)) break;
    }
    return metrics_;
  }

 private:
  absl::Time Now() const { return environment_.scheduler.clock().Now(); }
  bool Wait(absl::Time until) const {
    return WaitUntil(environment_.scheduler, until, options_.stop_requested);
  }
  bool WantsMore() const {
    return !options_.predicate_fn || options_.predicate_fn(metrics_);
  }

  // Returns the newest checkpoint. Returns null if there is no checkpoint, or
  // if the newest has been evaluated or must not be retried yet.
  absl::StatusOr<std::optional<std::string>> NewCheckpoint() {
    auto latest = estimator_.LatestCheckpoint();
    if (!latest.ok() && IsRemoteAndUnavailable(latest.status())) {
      environment_.logger.Warning(absl::StrCat(
          "The newest checkpoint cannot be determined; trying again: ",
          latest.status().message()));
      return std::nullopt;
    }
    RETURN_IF_ERROR(latest);
    if (!*latest) {
      RETURN_IF_ERROR(CheckThatOneWillCome());
      failed_.reset();
      return std::nullopt;
    }
    if (*latest == evaluated_ && !is_owed_) return std::nullopt;
    if (*latest == failed_ && Now() < next_try_) return std::nullopt;
    return *std::move(latest);
  }

  // Fails if the last checkpoint of the training was deleted before it was
  // evaluated, because no other checkpoint will come.
  absl::Status CheckThatOneWillCome() const {
    if (!owed_last_) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(
        "Checkpoint ", *owed_last_,
        ", the last one of the training, is gone before it was evaluated and "
        "exported, and no other will come. Train again, or put it back and "
        "start the evaluator anew."));
  }

  static bool IsRemoteAndUnavailable(const absl::Status& status) {
    return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  }

  // Evaluates a checkpoint, unless the throttle interval has not passed yet.
  absl::Status Consider(const std::string& checkpoint) {
    const auto progress = ReadProgress(environment_.files, checkpoint);
    if (!progress.ok()) return HandleError(checkpoint, progress.status());
    const bool is_last = progress->IsLast(options_.max_steps);
    owed_last_.reset();
    if (is_last) owed_last_ = checkpoint;
    if (evaluated_ != checkpoint) {
      if (!is_last && Now() < next_) return absl::OkStatus();
      next_ = Now() + options_.throttle;
      auto metrics = estimator_.Evaluate(
          options_.input_fn, {.steps = options_.steps,
                              .hooks = options_.hooks,
                              .checkpoint_path = checkpoint,
                              .name = options_.name,
                              .stop_requested = options_.stop_requested,
                              .lost_events = &lost_});
      if (WasStopped(metrics.status(), options_.stop_requested)) {
        return absl::OkStatus();
      }
      if (!metrics.ok()) return HandleError(checkpoint, metrics.status());
      evaluated_ = checkpoint;
      metrics_ = *std::move(metrics);
      failed_.reset();
    }
    return RunExports(checkpoint, is_last);
  }

  // Runs the exports of a checkpoint. Failed exports are retried without
  // another evaluation. The last checkpoint is done only after its exports have
  // succeeded.
  absl::Status RunExports(const std::string& checkpoint, bool is_last) {
    is_owed_ = false;
    if (options_.after_evaluation) {
      const absl::Status told =
          options_.after_evaluation(checkpoint, *metrics_, is_last);
      is_owed_ = !told.ok();
      if (is_owed_) return HandleError(checkpoint, told, "exported");
    }
    failed_.reset();
    is_last_ = is_last;
    const absl::Status borne = tolerance_.Succeeded(lost_, Now());
    return is_last ? absl::OkStatus() : borne;
  }

  // Decides whether an error ends the evaluations. The training may delete old
  // checkpoints while they are read, and unavailable remote files may come
  // back.
  absl::Status HandleError(const std::string& checkpoint,
                           const absl::Status& why,
                           absl::string_view what = "evaluated") {
    const absl::Status there =
        environment_.files.FileExists(absl::StrCat(checkpoint, ".index"));
    if (!absl::IsNotFound(there)) {
      RETURN_IF_ERROR(tolerance_.Tolerate(why, Now()));
    }
    wait_ = failed_ == checkpoint ? std::min(2 * wait_, kLongestWait)
                                  : kLookInterval;
    failed_ = checkpoint;
    next_try_ = Now() + wait_;
    environment_.logger.Warning(
        absl::StrCat("Checkpoint ", checkpoint, " was not ", what,
                     ", and the newest is tried again, this one in ",
                     absl::FormatDuration(wait_), ": ", why.message()));
    return absl::OkStatus();
  }

  void LogNoCheckpoint() {
    if (Now() < next_log_) return;
    next_log_ = Now() + kLogInterval;
    const auto found = checkpoint::FindLatestCheckpoint(environment_.files,
                                                        estimator_.model_dir());
    if (absl::IsNotFound(found.status())) {
      environment_.logger.Warning(absl::StrCat("Waiting for a new checkpoint: ",
                                               found.status().message()));
      return;
    }
    environment_.logger.Warning(
        evaluated_ ? absl::StrCat("No new checkpoint ready for evaluation in '",
                                  estimator_.model_dir(), "' since ",
                                  *evaluated_, "; waiting for one.")
                   : absl::StrCat(
                         "Estimator is not trained yet: there is no checkpoint "
                         "in '",
                         estimator_.model_dir(), "'; waiting for one."));
  }

  Estimator& estimator_;
  const ContinuousEvaluationOptions& options_;
  const Estimator::Environment environment_;
  std::optional<std::string> evaluated_;
  std::optional<EvalMetrics> metrics_;
  absl::Status lost_;     // error of writing the last evaluation's events
  bool is_owed_ = false;  // whether `evaluated_` must be exported again
  bool is_last_ = false;
  std::optional<std::string> owed_last_;  // last checkpoint of the training
  // The checkpoint that failed, is still the newest, and is to be retried.
  std::optional<std::string> failed_;
  FailureTolerance tolerance_;
  absl::Duration wait_;
  absl::Time next_try_;
  absl::Time next_ = absl::InfinitePast();
  absl::Time next_log_ = absl::InfinitePast();
};

}  // namespace

absl::StatusOr<CheckpointProgress> ReadProgress(FileSystem& files,
                                                const std::string& prefix) {
  ASSIGN_OR_RETURN(auto reader,
                   checkpoint::CheckpointReader::Open(files, prefix));
  ASSIGN_OR_RETURN(const Tensor step,
                   reader->Read("global_step", HeapAllocator()));
  CheckpointProgress progress;
  progress.step = static_cast<int64_t>(NumberIn(step).value_or(0));
  const auto stop =
      reader->Read(std::string(kEarlyStopVariable), HeapAllocator());
  progress.stopped_early = stop.ok() && stop->dtype() == DT_BOOL &&
                           stop->num_elements() == 1 && stop->scalar<bool>();
  return progress;
}

bool WasStopped(const absl::Status& status,
                const std::function<bool()>& stop_requested) {
  return absl::IsCancelled(status) && stop_requested && stop_requested();
}

bool MayBeTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

absl::Status FailureTolerance::Tolerate(const absl::Status& why,
                                        absl::Time now) {
  if (!MayBeTransient(why)) return why;
  if (!absl::IsResourceExhausted(why)) {
    full_since_.reset();
    return absl::OkStatus();
  }
  if (!full_since_) {
    full_since_ = now;
    times_full_ = 0;
  }
  const bool is_long = now - *full_since_ >= kLongestFull;
  if (++times_full_ < kMostFull || !is_long) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "No evaluation has succeeded, with its events and exports, for ",
      absl::FormatDuration(kLongestFull), " and ", times_full_,
      " tries, so it is given up. Make room, or evaluate less at a time: ",
      why.message()));
}

absl::Status FailureTolerance::Succeeded(const absl::Status& lost_events,
                                         absl::Time now) {
  if (absl::IsResourceExhausted(lost_events)) return Tolerate(lost_events, now);
  full_since_.reset();
  return absl::OkStatus();
}

bool WaitUntil(Scheduler& scheduler, absl::Time until,
               const std::function<bool()>& stop_requested) {
  while (true) {
    if (stop_requested && stop_requested()) return false;
    const absl::Time now = scheduler.clock().Now();
    if (now >= until) return true;
    // The event is never set, so WaitUntil only sleeps.
    scheduler.NewEvent()->WaitUntil(std::min(until, now + kStopAskInterval));
  }
}

absl::StatusOr<std::optional<EvalMetrics>> EvaluateContinuously(
    Estimator& estimator, const ContinuousEvaluationOptions& options) {
  return ContinuousEvaluation(estimator, options).Run();
}

}  // namespace weft::estimator
