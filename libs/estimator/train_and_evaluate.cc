#include "libs/estimator/train_and_evaluate.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/estimator/continuous_evaluation.h"
#include "libs/fs/path.h"
#include "libs/train/sessions/second_or_step_timer.h"

namespace weft::estimator {
namespace {

// Number of attempts of the last evaluation, and the wait before the second.
constexpr int kLastTries = 12;
constexpr absl::Duration kFirstWait = absl::Seconds(1);
constexpr absl::Duration kLongestWait = absl::Seconds(8);

bool HasChiefJob(const RunConfig& config) {
  return config.task_type == "chief" || config.task_type == "master";
}

// Returns the job after which the parameter servers end.
std::string LastJob(const ClusterSpec& cluster) {
  for (const char* job : {"chief", "master"}) {
    if (cluster.num_tasks(job) > 0) return job;
  }
  return "worker";
}

absl::StatusOr<std::unique_ptr<TaskServer>> StartServer(
    const RunConfig& config, const TaskOptions& task,
    const std::string& stop_after_job) {
  if (!task.server_factory) {
    return absl::InvalidArgumentError("TaskOptions: server_factory is null.");
  }
  return task.server_factory({.cluster = config.cluster_spec,
                              .job_name = config.task_type,
                              .task_index = config.task_id,
                              .stop_after_job = stop_after_job,
                              .insecure = task.insecure,
                              .metrics_port = task.metrics_port,
                              .process = config.session_config.process});
}

absl::Status CheckEvalSpec(const EvalSpec& spec) {
  if (!spec.input_fn) {
    return absl::InvalidArgumentError("EvalSpec: input_fn must be given.");
  }
  if (spec.steps.value_or(1) <= 0 || !(spec.start_delay_secs >= 0) ||
      !(spec.throttle_secs >= 0)) {
    return absl::InvalidArgumentError(
        "EvalSpec: steps must be more than 0, and start_delay_secs and "
        "throttle_secs must not be negative.");
  }
  std::set<std::string> names;
  for (const auto& exporter : spec.exporters) {
    if (exporter == nullptr || exporter->name().empty()) {
      return absl::InvalidArgumentError(
          "EvalSpec: an exporter is null or has no name; give each one a "
          "name.");
    }
    if (!names.insert(exporter->name()).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "`exporters` must have unique names, but two are called '",
          exporter->name(), "'."));
    }
  }
  return absl::OkStatus();
}

// Exports runs the exporters for a checkpoint. If one exporter fails, all are
// called again later for that checkpoint. Exporters that succeeded are then
// skipped, because they would write another copy.
class Exports {
 public:
  // Both arguments must outlive the Exports.
  Exports(Estimator& estimator, const EvalSpec& spec)
      : estimator_(estimator), spec_(spec) {}

  absl::StatusOr<std::vector<std::string>> Make(const std::string& checkpoint,
                                                const EvalMetrics& metrics,
                                                bool is_final) {
    if (checkpoint != checkpoint_) Forget();
    checkpoint_ = checkpoint;
    for (; num_done_ < spec_.exporters.size(); ++num_done_) {
      Exporter& exporter = *spec_.exporters[num_done_];
      const std::string path =
          JoinPath(JoinPath(estimator_.model_dir(), "export"), exporter.name());
      ASSIGN_OR_RETURN(auto made, exporter.Export(estimator_, path, checkpoint,
                                                  metrics, is_final));
      if (made) made_.push_back(*std::move(made));
    }
    std::vector<std::string> all = std::move(made_);
    Forget();
    return all;
  }
  // Forgets which exporters are done: the next checkpoint is a different one,
  // even if it has the same name.
  void Forget() {
    checkpoint_.clear();
    num_done_ = 0;
    made_.clear();
  }

 private:
  Estimator& estimator_;
  const EvalSpec& spec_;
  std::string checkpoint_;  // checkpoint with exports to retry; empty: none
  size_t num_done_ = 0;     // finished exporters and their exports
  std::vector<std::string> made_;
};

// EvaluationListener evaluates checkpoints as they are saved, on the saving
// thread. A saver of the program may keep the listener longer than the objects
// that the listener refers to exist, so Retire() must be called before.
class EvaluationListener : public train::CheckpointSaverListener {
 public:
  EvaluationListener(Estimator& estimator,
                     const EvaluateWhileTrainingOptions& options,
                     std::function<bool()> stop_requested)
      : estimator_(estimator),
        options_(options),
        stop_requested_(std::move(stop_requested)),
        environment_(estimator.environment()),
        exports_(estimator, options.eval) {}

  absl::StatusOr<bool> AfterSave(Session&, int64_t step) override {
    if (is_retired_) return false;
    // After a lost session, a checkpoint may have the name of an earlier one.
    measured_.clear();
    exports_.Forget();
    // The first checkpoint only contains the initial or restored variables, so
    // it does not start the throttle interval.
    const bool is_first = !last_step_;
    if (is_first) last_step_ = step;
    if (is_first || !IsDue(step) || IsExitRequested()) return false;
    const absl::Status evaluated = Evaluate();
    RETURN_IF_ERROR(HandleError(evaluated));
    if (evaluated.ok()) RETURN_IF_ERROR(tolerance_.Succeeded(lost_, Now()));
    return false;
  }
  absl::Status End(Session&, int64_t step) override {
    // After a stop request, the evaluation is skipped.
    if (is_retired_ || step == evaluated_step_ || IsExitRequested()) {
      return absl::OkStatus();
    }
    has_ended_ = true;
    return HandleError(Evaluate());
  }
  // Must be called when the training is over: later calls of the listener do
  // nothing.
  void Retire() { is_retired_ = true; }
  // Evaluates what is still missing after the training: an evaluation that End
  // could not do, or the only evaluation if the training had no steps left.
  absl::Status EvaluateRemaining() {
    has_ended_ = true;
    absl::Duration wait = kFirstWait;
    for (int tries = 1; !is_evaluated_ && !IsExitRequested(); ++tries) {
      const absl::Status evaluated = Evaluate();
      if (WasStopped(evaluated, stop_requested_)) break;
      if (tries == kLastTries) return evaluated;
      RETURN_IF_ERROR(HandleError(evaluated));
      if (is_evaluated_) break;
      Scheduler& scheduler = environment_.scheduler;
      WaitUntil(scheduler, scheduler.clock().Now() + wait, stop_requested_);
      wait = std::min(2 * wait, kLongestWait);
    }
    return absl::OkStatus();
  }
  bool IsExitRequested() const { return stop_requested_ && stop_requested_(); }

  // Evaluates the newest checkpoint.
  absl::Status Evaluate() {
    is_evaluated_ = false;
    ASSIGN_OR_RETURN(const auto latest, estimator_.LatestCheckpoint());
    if (!latest) {
      return absl::NotFoundError(absl::StrCat(
          "There was no checkpoint to evaluate in '", estimator_.model_dir(),
          "' after the training. Configure the RunConfig to save some: "
          "save_checkpoints_steps or save_checkpoints_secs must not be 0."));
    }
    const EvalSpec& spec = options_.eval;
    ASSIGN_OR_RETURN(const CheckpointProgress progress,
                     ReadProgress(environment_.files, *latest));
    Took(progress.step);
    if (measured_ != *latest) {
      ASSIGN_OR_RETURN(
          result_.metrics,
          estimator_.Evaluate(spec.input_fn, {.steps = spec.steps,
                                              .hooks = spec.hooks,
                                              .checkpoint_path = *latest,
                                              .name = spec.name,
                                              .stop_requested = stop_requested_,
                                              .lost_events = &lost_}));
      measured_ = *latest;
    }
    RETURN_IF_ERROR(CheckThatItMayBeExported(progress.step, *latest));
    ASSIGN_OR_RETURN(result_.exports,
                     exports_.Make(*latest, *result_.metrics,
                                   progress.IsLast(options_.max_steps)));
    is_evaluated_ = true;
    evaluated_step_ = progress.step;
    return absl::OkStatus();
  }

  const TrainAndEvaluateResult& result() const { return result_; }

 private:
  absl::Status CheckThatItMayBeExported(int64_t step,
                                        const std::string& checkpoint) const {
    if (!has_ended_ || step > 0 || options_.eval.exporters.empty()) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "The training has ended at step 0 (", checkpoint,
        "), so there is no trained model for the exporters of the EvalSpec. "
        "Does the input of the training have elements?"));
  }
  // Returns OK if training continues: after a transient evaluation error it
  // does, like after a failed save. An OUT_OF_RANGE error of a file must not be
  // mistaken for the end of the input.
  absl::Status HandleError(const absl::Status& evaluated) {
    if (WasStopped(evaluated, stop_requested_)) return absl::OkStatus();
    if (absl::IsOutOfRange(evaluated)) {
      return absl::DataLossError(
          absl::StrCat("An evaluation failed: ", evaluated.message()));
    }
    if (evaluated.ok()) return evaluated;
    RETURN_IF_ERROR(tolerance_.Tolerate(evaluated, Now()));
    environment_.logger.Warning(
        absl::StrCat("An evaluation failed; training continues, and the newest "
                     "checkpoint is evaluated later: ",
                     evaluated.ToString()));
    return absl::OkStatus();
  }
  absl::Time Now() const { return environment_.scheduler.clock().Now(); }
  void Took(int64_t step) {
    last_step_ = step;
    last_time_ = Now();
  }
  bool IsDue(int64_t step) const {
    if (step == *last_step_) return false;
    if (options_.min_eval_frequency) {
      return *options_.min_eval_frequency > 0 &&
             step - *last_step_ >= *options_.min_eval_frequency;
    }
    return Now() - last_time_ >= absl::Seconds(options_.eval.throttle_secs);
  }

  Estimator& estimator_;
  const EvaluateWhileTrainingOptions& options_;
  bool is_retired_ = false;
  bool has_ended_ = false;  // training has ended
  const std::function<bool()> stop_requested_;
  const Estimator::Environment environment_;
  // Of an evaluation that was done or skipped.
  std::optional<int64_t> last_step_;
  std::optional<int64_t> evaluated_step_;  // with metrics and exports
  bool is_evaluated_ = false;              // whether the last attempt succeeded
  FailureTolerance tolerance_;
  absl::Time last_time_ = absl::InfinitePast();  // no evaluation yet
  std::string measured_;  // checkpoint that the metrics belong to
  absl::Status lost_;     // why the events of `measured_` were not written
  Exports exports_;
  TrainAndEvaluateResult result_;
};

// Waits for the start delay of a worker. Returns false after a stop request.
bool DelayWorker(const RunConfig& config, const TaskOptions& task,
                 Scheduler& scheduler) {
  if (config.is_chief || !config.experimental_max_worker_delay_secs) {
    return true;
  }
  return WaitUntil(
      scheduler, scheduler.clock().Now() + config.DelayOfWorker(config.task_id),
      task.stop_requested);
}

// Calls `has_ended` with its timeout until it returns true, a stop of the task
// is requested, or wait_for_workers has passed. Returns false only after
// wait_for_workers.
bool AwaitEnd(const TaskOptions& task, Scheduler& scheduler,
              absl::FunctionRef<bool(absl::Duration)> has_ended) {
  const absl::Time deadline = scheduler.clock().Now() + task.wait_for_workers;
  while (true) {
    const absl::Duration left = deadline - scheduler.clock().Now();
    if (left <= absl::ZeroDuration()) return false;
    if (has_ended(std::min(left, kStopAskInterval))) return true;
    if (task.stop_requested && task.stop_requested()) return true;
  }
}

// Waits for the workers, because their last steps need the parameter servers,
// which end after the chief.
void AwaitWorkers(TaskServer& server, const RunConfig& config,
                  const TaskOptions& task,
                  const Estimator::Environment& environment) {
  if (!HasChiefJob(config) || config.cluster_spec.num_tasks("worker") == 0) {
    return;
  }
  environment.logger.Info(
      "Training has ended in this task; waiting for the workers to end.");
  const bool have_ended =
      AwaitEnd(task, environment.scheduler, [&](absl::Duration timeout) {
        return server.AwaitJob("worker", timeout);
      });
  if (have_ended) return;
  environment.logger.Warning(
      absl::StrCat("Some workers have not ended within ",
                   absl::FormatDuration(task.wait_for_workers),
                   " of the training's end; leaving without them."));
}

// Waits for the other tasks, because the next training of this program must not
// connect to a server of this training.
void AwaitOtherTasks(TaskServer& server, const TaskOptions& task,
                     const Estimator::Environment& environment) {
  bool is_logged = false;
  const auto have_ended = [&](absl::Duration timeout) {
    if (server.AwaitCoordinatorsEnd(timeout)) return true;
    if (std::exchange(is_logged, true)) return false;
    environment.logger.Info(
        "Training has ended in this task; waiting for its other tasks to end.");
    return false;
  };
  if (AwaitEnd(task, environment.scheduler, have_ended)) return;
  if (!is_logged) return;
  environment.logger.Warning(
      absl::StrCat("Other tasks of the training have not ended within ",
                   absl::FormatDuration(task.wait_for_workers),
                   " of its end here; leaving without them."));
}

absl::Status CheckTrainer(const RunConfig& config) {
  if (config.num_ps_replicas > 0 || config.num_worker_replicas <= 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "The cluster has ", config.num_worker_replicas,
      " tasks that train and no job \"ps\", so they would share nothing; add "
      "parameter servers to TF_CONFIG."));
}

}  // namespace

absl::StatusOr<TrainAndEvaluateResult> EvaluateAsTask(
    Estimator& estimator, const EvalSpec& eval_spec,
    std::optional<int64_t> max_steps, const TaskOptions& task,
    std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn) {
  RETURN_IF_ERROR(estimator.status());
  RETURN_IF_ERROR(CheckEvalSpec(eval_spec));
  if (estimator.config().task_type == "evaluator" &&
      estimator.config().task_id > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "For distributed training, there can only be one `evaluator` task "
        "(with task id 0). Given task id ",
        estimator.config().task_id, "."));
  }
  ContinuousEvaluationOptions options;
  options.input_fn = eval_spec.input_fn;
  options.steps = eval_spec.steps;
  options.hooks = eval_spec.hooks;
  options.name = eval_spec.name;
  options.start_delay = absl::Seconds(eval_spec.start_delay_secs);
  options.throttle = absl::Seconds(eval_spec.throttle_secs);
  options.max_steps = max_steps;
  options.predicate_fn = std::move(predicate_fn);
  options.stop_requested = task.stop_requested;
  TrainAndEvaluateResult result;
  Exports exports(estimator, eval_spec);
  options.after_evaluation = [&](const std::string& checkpoint,
                                 const EvalMetrics& metrics,
                                 bool is_last) -> absl::Status {
    ASSIGN_OR_RETURN(result.exports,
                     exports.Make(checkpoint, metrics, is_last));
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(result.metrics, EvaluateContinuously(estimator, options));
  return result;
}

absl::StatusOr<std::vector<std::string>> ExportCheckpoint(
    Estimator& estimator, const EvalSpec& eval_spec,
    const std::string& checkpoint_path, const EvalMetrics& metrics,
    bool is_the_final_export) {
  RETURN_IF_ERROR(CheckEvalSpec(eval_spec));
  return Exports(estimator, eval_spec)
      .Make(checkpoint_path, metrics, is_the_final_export);
}

absl::Status TrainAsTask(Estimator& estimator, const InputFn& input_fn,
                         TrainOptions options, const TaskOptions& task) {
  RETURN_IF_ERROR(estimator.status());
  const RunConfig& config = estimator.config();
  if (!options.stop_requested) options.stop_requested = task.stop_requested;
  if (!config.IsInCluster()) return estimator.Train(input_fn, options);
  RETURN_IF_ERROR(CheckTrainer(config));
  const Estimator::Environment environment = estimator.environment();
  ASSIGN_OR_RETURN(const auto server, StartServer(config, task, ""));
  if (!DelayWorker(config, task, environment.scheduler)) {
    return absl::OkStatus();
  }
  options.process = server->process();
  options.stop_requested = [given = std::move(options.stop_requested),
                            &own = *server] {
    return own.IsStopRequested() || (given && given());
  };
  RETURN_IF_ERROR(estimator.Train(input_fn, options));
  // After a stop request this task has not reached the end of the training, and
  // other tasks may continue.
  if (options.stop_requested() ||
      (task.stop_requested && task.stop_requested())) {
    return absl::OkStatus();
  }
  AwaitWorkers(*server, config, task, environment);
  AwaitOtherTasks(*server, task, environment);
  return server->Finish();
}

absl::Status RunStdServer(const RunConfig& config, const TaskOptions& task) {
  RETURN_IF_ERROR(config.Check());
  if (!config.IsInCluster()) {
    return absl::InvalidArgumentError(
        "A server needs a cluster; set TF_CONFIG with its \"cluster\" and the "
        "\"task\" that this program is.");
  }
  ASSIGN_OR_RETURN(const auto server,
                   StartServer(config, task, LastJob(config.cluster_spec)));
  return server->Join(task.stop_requested);
}

absl::StatusOr<TrainAndEvaluateResult> TrainWithEvaluations(
    Estimator& estimator, const InputFn& input_fn, TrainOptions options,
    const EvaluateWhileTrainingOptions& evaluations, const TaskOptions& task) {
  RETURN_IF_ERROR(estimator.status());
  RETURN_IF_ERROR(CheckEvalSpec(evaluations.eval));
  const auto listener = std::make_shared<EvaluationListener>(
      estimator, evaluations, task.stop_requested);
  options.saving_listeners.push_back(listener);
  const absl::Cleanup retire = [&] { listener->Retire(); };
  RETURN_IF_ERROR(TrainAsTask(estimator, input_fn, std::move(options), task));
  RETURN_IF_ERROR(listener->EvaluateRemaining());
  return listener->result();
}

absl::StatusOr<TrainAndEvaluateResult> TrainAndEvaluate(
    Estimator& estimator, const TrainSpec& train_spec,
    const EvalSpec& eval_spec, const TaskOptions& task) {
  RETURN_IF_ERROR(estimator.status());
  RETURN_IF_ERROR(CheckEvalSpec(eval_spec));
  if (!train_spec.input_fn) {
    return absl::InvalidArgumentError("TrainSpec: input_fn must be given.");
  }
  const RunConfig& config = estimator.config();
  TrainAndEvaluateResult result;
  if (config.task_type == "ps") {
    RETURN_IF_ERROR(RunStdServer(config, task));
    return result;
  }
  if (config.task_type == "evaluator") {
    return EvaluateAsTask(estimator, eval_spec, train_spec.max_steps, task);
  }
  TrainOptions options;
  options.hooks = train_spec.hooks;
  options.max_steps = train_spec.max_steps;
  options.saving_listeners = train_spec.saving_listeners;
  if (!config.cluster_spec.empty() && config.task_type != "master") {
    RETURN_IF_ERROR(
        TrainAsTask(estimator, train_spec.input_fn, std::move(options), task));
    return result;
  }
  return TrainWithEvaluations(
      estimator, train_spec.input_fn, std::move(options),
      {.eval = eval_spec, .max_steps = train_spec.max_steps}, task);
}

}  // namespace weft::estimator
