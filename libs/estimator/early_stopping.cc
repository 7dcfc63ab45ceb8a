#include "libs/estimator/early_stopping.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/keys_of.h"
#include "libs/base/status.h"
#include "libs/estimator/continuous_evaluation.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/fs/path.h"
#include "libs/ops/state/state_ops.h"
#include "libs/ops/state/variable.h"
#include "libs/summary/event.h"
#include "libs/summary/record_reader.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/sessions/second_or_step_timer.h"

namespace weft::estimator {
namespace {

using Metrics = std::map<std::string, double>;
using EvalResults = std::map<int64_t, Metrics>;

constexpr double kRunEverySecs = 60;

absl::Status ReadFileOfEvents(FileSystem& files, const std::string& path,
                              EvalResults& results) {
  auto file = files.NewRandomAccessFile(path);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  RETURN_IF_ERROR(file);
  summary::RecordReader reader(*std::move(file));
  std::string record;
  absl::Status status = reader.ReadRecord(record);
  for (; status.ok(); status = reader.ReadRecord(record)) {
    const auto event = summary::ParseEvent(record);
    if (!event.ok()) continue;
    for (const auto& [tag, scalar] : ScalarsOf(*event)) {
      results[event->step][tag] = scalar;
    }
  }
  const bool is_end = absl::IsOutOfRange(status) || absl::IsDataLoss(status) ||
                      absl::IsResourceExhausted(status);
  return is_end ? absl::OkStatus() : status;
}

// Returns the variable by which the chief tells the other tasks to stop. It is
// colocated with the global step.
ops::Variable StopVariable(const Scope& scope,
                           const ops::Variable& global_step) {
  const Scope root = scope.ReenterScope("");
  if (!root.ok() || !global_step) return ops::Variable();
  const auto slash = kEarlyStopVariable.find('/');
  for (const ops::Variable& known : ops::GlobalVariables(root)) {
    if (known.name() == kEarlyStopVariable) return known;
  }
  return ops::Variable(
      root.WithoutDevice()
          .WithDevice(global_step.handle().node()->requested_device())
          .SubScope(std::string(kEarlyStopVariable.substr(0, slash)))
          .WithName(std::string(kEarlyStopVariable.substr(slash + 1))),
      Tensor::Scalar(false), {.trainable = false});
}

// Returns the global step, which both hooks need.
absl::StatusOr<ops::Variable> FindGlobalStep(const Scope& scope) {
  const ops::Variable step = train::GetGlobalStep(scope);
  RETURN_IF_ERROR(scope.status());
  if (step) return step;
  return absl::FailedPreconditionError(
      "Global step should be created to use an early stopping hook. Call "
      "train::GetOrCreateGlobalStep in the model function, and give it to "
      "Minimize.");
}

// StopOnPredicateHook is the hook of the chief: it decides when to stop.
class StopOnPredicateHook : public train::SessionRunHook {
 public:
  StopOnPredicateHook(const Estimator& estimator,
                      std::function<absl::StatusOr<bool>()> should_stop,
                      const EarlyStoppingOptions& options)
      : estimator_(estimator),
        should_stop_(std::move(should_stop)),
        timer_(Secs(options), options.run_every_steps,
               &estimator.environment().scheduler.clock()) {}

  absl::Status Begin(const Scope& scope) override {
    RETURN_IF_ERROR(Annotate(timer_.Check(), "early stopping"));
    ASSIGN_OR_RETURN(global_step_, FindGlobalStep(scope));
    const ops::Variable stop = StopVariable(scope, global_step_);
    stop_ = Operation(ops::Assign(scope.ReenterScope(""), stop, true));
    return scope.status();
  }
  // After a lost session, training resumes from a step that may be far before
  // the last check. Counting restarts at that step; otherwise there would be no
  // check until all lost steps were repeated.
  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator&) override {
    ASSIGN_OR_RETURN(const Tensor fetched, session.Run(global_step_.value()));
    const int64_t step = train::GlobalStepValue(fetched);
    if (timer_.last_triggered_step() > step) {
      timer_.UpdateLastTriggeredStep(step);
    }
    return absl::OkStatus();
  }
  absl::StatusOr<train::SessionRunArgs> BeforeRun(
      train::SessionRunContext&) override {
    return train::SessionRunArgs{.fetches = {global_step_}};
  }
  absl::Status AfterRun(train::SessionRunContext& context,
                        const train::SessionRunValues& values) override {
    const int64_t step = train::GlobalStepValue(values.results[0]);
    if (!timer_.ShouldTriggerForStep(step)) return absl::OkStatus();
    timer_.UpdateLastTriggeredStep(step);
    const absl::StatusOr<bool> stop = should_stop_();
    if (!stop.ok()) return HandleError(stop.status(), step);
    if (!*stop) return absl::OkStatus();
    estimator_.environment().logger.Info(
        absl::StrCat("Requesting early stopping at global step ", step));
    RETURN_IF_ERROR(context.session().Run(stop_));
    context.RequestStop();
    return absl::OkStatus();
  }

 private:
  // Logs a transient read error, so that the next check tries again. Returns
  // other errors.
  absl::Status HandleError(const absl::Status& why, int64_t step) const {
    if (!MayBeTransient(why)) return why;
    estimator_.environment().logger.Warning(
        absl::StrCat("Cannot check whether to stop early at global step ", step,
                     "; the next check tries again: ", why.ToString()));
    return absl::OkStatus();
  }

  static std::optional<absl::Duration> Secs(
      const EarlyStoppingOptions& options) {
    if (options.run_every_secs) return absl::Seconds(*options.run_every_secs);
    if (options.run_every_steps) return std::nullopt;
    return absl::Seconds(kRunEverySecs);
  }

  const Estimator estimator_;
  const std::function<absl::StatusOr<bool>()> should_stop_;
  train::SecondOrStepTimer timer_;
  ops::Variable global_step_;
  Operation stop_;
};

// CheckForStoppingHook is the hook of the other tasks: it stops when the chief
// has set the variable.
class CheckForStoppingHook : public train::SessionRunHook {
 public:
  explicit CheckForStoppingHook(const Estimator& estimator)
      : estimator_(estimator) {}

  absl::Status Begin(const Scope& scope) override {
    ASSIGN_OR_RETURN(const ops::Variable step, FindGlobalStep(scope));
    stop_ = StopVariable(scope, step);
    return scope.status();
  }
  absl::StatusOr<train::SessionRunArgs> BeforeRun(
      train::SessionRunContext&) override {
    return train::SessionRunArgs{.fetches = {stop_}};
  }
  absl::Status AfterRun(train::SessionRunContext& context,
                        const train::SessionRunValues& values) override {
    if (!values.results[0].scalar<bool>()) return absl::OkStatus();
    estimator_.environment().logger.Info(
        "Early stopping requested, suspending training.");
    context.RequestStop();
    return absl::OkStatus();
  }

 private:
  const Estimator estimator_;
  ops::Variable stop_;
};

absl::StatusOr<double> MetricOf(const std::string& name, int64_t step,
                                const Metrics& metrics) {
  const auto found = metrics.find(name);
  if (found != metrics.end()) return found->second;
  return absl::InvalidArgumentError(
      absl::StrCat("The evaluation at step ", step, " has no metric \"", name,
                   "\" to stop early by; it has: ", KeysOf(metrics), "."));
}

enum class Better { kHigher, kLower };

bool IsBetter(double a, double b, Better better) {
  return better == Better::kHigher ? a > b : a < b;
}

// Returns the list of evaluation directories with a name ("eval_NAME") in the
// model's directory; empty if there are none.
std::string NamedEvaluations(const Estimator& estimator) {
  auto names =
      estimator.environment().files.ListDirectory(estimator.model_dir());
  if (!names.ok()) return "";
  std::erase_if(*names, [](const std::string& name) {
    return !absl::StartsWith(name, "eval_");
  });
  return absl::StrJoin(*names, ", ");
}

// Warns once about evaluations in other directories. An Experiment's evaluator,
// for example, writes to another directory, and the hook would silently wait
// for evaluations in `directory`.
void WarnOfOthers(const Estimator& estimator, const std::string& directory,
                  bool& has_warned) {
  const Estimator::Environment environment = estimator.environment();
  if (has_warned) return;
  if (!absl::IsNotFound(environment.files.ListDirectory(directory).status())) {
    return;
  }
  const std::string others = NamedEvaluations(estimator);
  if (others.empty()) return;
  has_warned = true;
  environment.logger.Warning(absl::StrCat(
      "Early stopping reads evaluations from ", directory,
      ", which is not there, but the model's folder has ", others,
      "; if these are the ones, set EarlyStoppingOptions::eval_dir."));
}

absl::StatusOr<EvalResults> ResultsFrom(const Estimator& estimator,
                                        const EarlyStoppingOptions& options,
                                        bool& has_warned) {
  const std::string directory =
      options.eval_dir.empty() ? estimator.eval_dir() : options.eval_dir;
  ASSIGN_OR_RETURN(EvalResults results,
                   ReadEvalMetrics(estimator.environment().files, directory));
  if (results.empty()) WarnOfOthers(estimator, directory, has_warned);
  results.erase(results.begin(), results.lower_bound(options.min_steps));
  return results;
}

std::shared_ptr<train::SessionRunHook> StopIfThresholdCrossed(
    const Estimator& estimator, const std::string& metric, double threshold,
    const EarlyStoppingOptions& options, Better better) {
  auto should_stop = [=, has_warned = false]() mutable -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const EvalResults results,
                     ResultsFrom(estimator, options, has_warned));
    for (const auto& [step, metrics] : results) {
      ASSIGN_OR_RETURN(const double value, MetricOf(metric, step, metrics));
      if (!IsBetter(value, threshold, better)) continue;
      estimator.environment().logger.Info(absl::StrCat(
          "At step ", step, ", metric \"", metric, "\" has value ", value,
          " which is ", better == Better::kHigher ? "higher" : "lower",
          " than the configured threshold (", threshold,
          ") for early stopping."));
      return true;
    }
    return false;
  };
  return MakeEarlyStoppingHook(estimator, std::move(should_stop), options);
}

std::shared_ptr<train::SessionRunHook> StopIfNoImprovement(
    const Estimator& estimator, const std::string& metric, int64_t max_steps,
    const EarlyStoppingOptions& options, Better better) {
  auto should_stop = [=, has_warned = false]() mutable -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const EvalResults results,
                     ResultsFrom(estimator, options, has_warned));
    std::optional<double> best;
    int64_t best_step = 0;
    for (const auto& [step, metrics] : results) {
      ASSIGN_OR_RETURN(const double value, MetricOf(metric, step, metrics));
      if (!best || IsBetter(value, *best, better)) {
        best = value;
        best_step = step;
      }
      if (step - best_step < max_steps) continue;
      estimator.environment().logger.Info(absl::StrCat(
          "No ", better == Better::kHigher ? "increase" : "decrease",
          " in metric \"", metric, "\" for ", step - best_step,
          " steps, which is greater than or equal to max steps (", max_steps,
          ") configured for early stopping."));
      return true;
    }
    return false;
  };
  return MakeEarlyStoppingHook(estimator, std::move(should_stop), options);
}

}  // namespace

absl::StatusOr<EvalResults> ReadEvalMetrics(FileSystem& files,
                                            const std::string& eval_dir) {
  EvalResults results;
  const auto names = files.ListDirectory(eval_dir);
  if (absl::IsNotFound(names.status())) return results;
  RETURN_IF_ERROR(names);
  for (const std::string& name : *names) {
    if (!absl::StrContains(name, ".tfevents.")) continue;
    RETURN_IF_ERROR(ReadFileOfEvents(files, JoinPath(eval_dir, name), results));
  }
  return results;
}

std::shared_ptr<train::SessionRunHook> MakeEarlyStoppingHook(
    const Estimator& estimator,
    std::function<absl::StatusOr<bool>()> should_stop_fn,
    const EarlyStoppingOptions& options) {
  if (!estimator.config().is_chief) {
    return std::make_shared<CheckForStoppingHook>(estimator);
  }
  return std::make_shared<StopOnPredicateHook>(
      estimator, std::move(should_stop_fn), options);
}

std::shared_ptr<train::SessionRunHook> StopIfHigherHook(
    const Estimator& estimator, const std::string& metric_name,
    double threshold, const EarlyStoppingOptions& options) {
  return StopIfThresholdCrossed(estimator, metric_name, threshold, options,
                                Better::kHigher);
}

std::shared_ptr<train::SessionRunHook> StopIfLowerHook(
    const Estimator& estimator, const std::string& metric_name,
    double threshold, const EarlyStoppingOptions& options) {
  return StopIfThresholdCrossed(estimator, metric_name, threshold, options,
                                Better::kLower);
}

std::shared_ptr<train::SessionRunHook> StopIfNoIncreaseHook(
    const Estimator& estimator, const std::string& metric_name,
    int64_t max_steps_without_increase, const EarlyStoppingOptions& options) {
  return StopIfNoImprovement(estimator, metric_name, max_steps_without_increase,
                             options, Better::kHigher);
}

std::shared_ptr<train::SessionRunHook> StopIfNoDecreaseHook(
    const Estimator& estimator, const std::string& metric_name,
    int64_t max_steps_without_decrease, const EarlyStoppingOptions& options) {
  return StopIfNoImprovement(estimator, metric_name, max_steps_without_decrease,
                             options, Better::kLower);
}

}  // namespace weft::estimator
