#include "libs/estimator/experiment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/estimator/continuous_evaluation.h"
#include "libs/train/sessions/basic_session_run_hooks.h"

namespace weft::estimator {
namespace {

constexpr int64_t kDefaultIteration = 1000;  // in steps
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Returns the global step at which a worker starts. It grows with the worker's
// index as in TensorFlow, but is at most the last step, because the global step
// does not go beyond.
int64_t FirstStepOf(int task_id, std::optional<int64_t> last_step) {
  const auto step = static_cast<int64_t>(8000 * std::log(task_id + 1.0));
  return std::min(step, last_step.value_or(step));
}

ExperimentResult Nothing() { return {}; }

using Schedule = std::function<absl::StatusOr<ExperimentResult>(
    Experiment& experiment, const TaskOptions& task)>;

std::vector<std::pair<std::string, Schedule>> Schedules() {
  using E = Experiment;
  using T = TaskOptions;
  return {
      {"train", [](E& e, const T& t) { return e.Train(t); }},
      {"evaluate", [](E& e, const T& t) { return e.Evaluate(t); }},
      {"continuous_eval", [](E& e, const T& t) { return e.ContinuousEval(t); }},
      {"continuous_eval_on_train_data",
       [](E& e, const T& t) { return e.ContinuousEvalOnTrainData(t); }},
      {"train_and_evaluate",
       [](E& e, const T& t) { return e.TrainAndEvaluate(t); }},
      {"continuous_train_and_eval",
       [](E& e, const T& t) { return e.ContinuousTrainAndEval(t); }},
      {"run_std_server", [](E& e, const T& t) { return e.RunStdServer(t); }},
      {"test", [](E& e, const T& t) { return e.Test(t); }}};
}

absl::StatusOr<Schedule> FindSchedule(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, schedule] : Schedules()) {
    if (known == name) return schedule;
    names.push_back(known);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Schedule references non-existent task ", name,
                   "; there are: ", absl::StrJoin(names, ", "), "."));
}

absl::StatusOr<std::string> DefaultSchedule(const RunConfig& config) {
  const std::string& type = config.task_type;
  if (type == "ps") return "run_std_server";
  if (type == "evaluator") return "continuous_eval";
  if (!config.IsInCluster() || type == "master") return "train_and_evaluate";
  if (type == "chief" || type == "worker") return "train";
  return absl::InvalidArgumentError(
      absl::StrCat("No default schedule for task type: ", type,
                   ". Give one in RunOptions::schedule."));
}

// Checks that the Estimator has this config, because another config may
// describe another task.
absl::Status CheckConfig(const Estimator& estimator, const RunConfig& config) {
  RETURN_IF_ERROR(estimator.status());
  const RunConfig& its = estimator.config();
  if (estimator.model_dir() == config.model_dir &&
      its.task_type == config.task_type && its.task_id == config.task_id &&
      its.master == config.master && its.is_chief == config.is_chief) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "`RunConfig` instance is expected to be used by the `Estimator` inside "
      "the `Experiment`, but the Estimator has another one; make it with the "
      "config that experiment_fn is given.");
}

}  // namespace

TrainOptions Experiment::TrainingOptions() const {
  TrainOptions options;
  options.hooks = options_.train_monitors;
  options.max_steps = options_.train_steps;
  options.saving_listeners = options_.saving_listeners;
  return options;
}

EvalSpec Experiment::EvaluationSpec(const std::string& name) const {
  EvalSpec spec;
  spec.input_fn = options_.eval_input_fn;
  spec.steps = options_.eval_steps;
  spec.name = name;
  spec.hooks = options_.eval_hooks;
  spec.exporters = options_.exporters;
  return spec;
}

absl::StatusOr<ExperimentResult> Experiment::Train(const TaskOptions& task) {
  TrainOptions options = TrainingOptions();
  const RunConfig& config = options_.estimator.config();
  if (options_.delay_workers_by_global_step && !config.is_chief) {
    options.hooks.push_back(std::make_shared<train::GlobalStepWaiterHook>(
        train::GlobalStepWaiterOptions{
            .wait_until_step =
                FirstStepOf(config.task_id, options_.train_steps)}));
  }
  RETURN_IF_ERROR(TrainAsTask(options_.estimator, options_.train_input_fn,
                              std::move(options), task));
  return Nothing();
}

absl::StatusOr<std::string> Experiment::CheckpointToEvaluate() const {
  RETURN_IF_ERROR(options_.estimator.status());
  ASSIGN_OR_RETURN(auto latest, checkpoint::FindLatestCheckpoint(
                                    options_.estimator.environment().files,
                                    options_.estimator.model_dir()));
  if (latest) return *std::move(latest);
  return absl::NotFoundError(
      absl::StrCat("There is no checkpoint to evaluate in '",
                   options_.estimator.model_dir(), "'; train first."));
}

absl::StatusOr<ExperimentResult> Experiment::EvaluateOnce(
    const std::string& checkpoint, std::optional<int64_t> steps,
    const TaskOptions& task) {
  auto metrics = options_.estimator.Evaluate(
      options_.eval_input_fn, {.steps = steps,
                               .hooks = options_.eval_hooks,
                               .checkpoint_path = checkpoint,
                               .name = "one_pass",
                               .stop_requested = task.stop_requested});
  if (WasStopped(metrics.status(), task.stop_requested)) return Nothing();
  RETURN_IF_ERROR(metrics);
  ExperimentResult result;
  result.metrics = *std::move(metrics);
  return result;
}

absl::StatusOr<ExperimentResult> Experiment::Evaluate(const TaskOptions& task) {
  Scheduler& scheduler = options_.estimator.environment().scheduler;
  const absl::Duration delay = absl::Seconds(options_.eval_delay_secs);
  if (!WaitUntil(scheduler, scheduler.clock().Now() + delay,
                 task.stop_requested)) {
    return Nothing();
  }
  ASSIGN_OR_RETURN(const std::string checkpoint, CheckpointToEvaluate());
  return EvaluateOnce(checkpoint, options_.eval_steps, task);
}

absl::StatusOr<ExperimentResult> Experiment::EvaluateAll(
    const InputFn& input_fn, const std::string& name, bool exports,
    const TaskOptions& task,
    std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn) {
  EvalSpec spec = EvaluationSpec(name);
  spec.input_fn = input_fn;
  spec.start_delay_secs = options_.eval_delay_secs;
  spec.throttle_secs = options_.continuous_eval_throttle_secs;
  if (!exports) spec.exporters.clear();
  return EvaluateAsTask(options_.estimator, spec, options_.train_steps, task,
                        std::move(predicate_fn));
}

absl::StatusOr<ExperimentResult> Experiment::ContinuousEval(
    const TaskOptions& task,
    std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn) {
  return EvaluateAll(options_.eval_input_fn, "continuous", true, task,
                     std::move(predicate_fn));
}

absl::StatusOr<ExperimentResult> Experiment::ContinuousEvalOnTrainData(
    const TaskOptions& task) {
  return EvaluateAll(options_.train_input_fn, "continuous_on_train_data", false,
                     task, nullptr);
}

absl::StatusOr<ExperimentResult> Experiment::TrainAndEvaluate(
    const TaskOptions& task) {
  return TrainWithEvaluations(
      options_.estimator, options_.train_input_fn, TrainingOptions(),
      {.eval = EvaluationSpec(""),
       .max_steps = options_.train_steps,
       .min_eval_frequency = options_.min_eval_frequency},
      task);
}

absl::StatusOr<int64_t> Experiment::StepSoFar() const {
  ASSIGN_OR_RETURN(const auto latest, options_.estimator.LatestCheckpoint());
  if (!latest) return 0;
  ASSIGN_OR_RETURN(
      const CheckpointProgress progress,
      ReadProgress(options_.estimator.environment().files, *latest));
  return progress.step;
}

absl::StatusOr<ExperimentResult> Experiment::ContinuousTrainAndEval(
    const TaskOptions& task) {
  if (options_.estimator.config().IsInCluster()) {
    return absl::InvalidArgumentError(
        "continuous_train_and_eval is for a program alone; on a cluster let "
        "workers train, and an evaluator evaluate.");
  }
  const int64_t all = options_.train_steps.value_or(0);
  const int64_t iteration = options_.train_steps_per_iteration.value_or(
      all > 0 ? std::max<int64_t>(all / 10, 1) : kDefaultIteration);
  if (iteration < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "train_steps_per_iteration must be at least 1, given: ", iteration,
        "; leave it out for a tenth of train_steps."));
  }
  ExperimentResult result;
  while (!(task.stop_requested && task.stop_requested())) {
    ASSIGN_OR_RETURN(const int64_t before, StepSoFar());
    TrainOptions options = TrainingOptions();
    options.max_steps = before + std::min(iteration, kMost - before);
    if (all > 0) options.max_steps = std::min(*options.max_steps, all);
    RETURN_IF_ERROR(TrainAsTask(options_.estimator, options_.train_input_fn,
                                std::move(options), task));
    ASSIGN_OR_RETURN(const std::string checkpoint, CheckpointToEvaluate());
    ASSIGN_OR_RETURN(auto evaluated,
                     EvaluateOnce(checkpoint, options_.eval_steps, task));
    if (evaluated.metrics) result = std::move(evaluated);
    ASSIGN_OR_RETURN(const int64_t after, StepSoFar());
    // Stop when all steps are done, or the input has ended.
    if ((all > 0 && after >= all) || after - before < iteration) break;
  }
  return result;
}

absl::StatusOr<ExperimentResult> Experiment::RunStdServer(
    const TaskOptions& task) {
  RETURN_IF_ERROR(estimator::RunStdServer(options_.estimator.config(), task));
  return Nothing();
}

absl::StatusOr<ExperimentResult> Experiment::Test(const TaskOptions& task) {
  TrainOptions options = TrainingOptions();
  options.max_steps.reset();
  options.steps = 1;
  RETURN_IF_ERROR(TrainAsTask(options_.estimator, options_.train_input_fn,
                              std::move(options), task));
  ASSIGN_OR_RETURN(const std::string checkpoint, CheckpointToEvaluate());
  ASSIGN_OR_RETURN(ExperimentResult result, EvaluateOnce(checkpoint, 1, task));
  if (!result.metrics) return result;
  ASSIGN_OR_RETURN(result.exports,
                   ExportCheckpoint(options_.estimator, EvaluationSpec(""),
                                    checkpoint, *result.metrics,
                                    /*is_the_final_export=*/true));
  return result;
}

namespace learn_runner {

absl::StatusOr<ExperimentResult> Run(const ExperimentFn& experiment_fn,
                                     const RunConfig& config,
                                     const HParams& hparams,
                                     const RunOptions& options) {
  if (!experiment_fn) {
    return absl::InvalidArgumentError(
        "learn_runner: experiment_fn is missing.");
  }
  if (config.model_dir.empty()) {
    return absl::InvalidArgumentError(
        "learn_runner: Must specify `model_dir` in the RunConfig, for all "
        "tasks the same.");
  }
  std::string name = options.schedule;
  if (name.empty()) {
    ASSIGN_OR_RETURN(name, DefaultSchedule(config));
  }
  ASSIGN_OR_RETURN(const Schedule schedule, FindSchedule(name));
  ASSIGN_OR_RETURN(Experiment experiment, experiment_fn(config, hparams));
  RETURN_IF_ERROR(CheckConfig(experiment.estimator(), config));
  return schedule(experiment, options.task);
}

}  // namespace learn_runner
}  // namespace weft::estimator
