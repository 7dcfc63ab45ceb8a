// Implements Estimator::Evaluate.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "libs/base/status.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/ops/group.h"
#include "libs/summary/event.h"
#include "libs/train/sessions/basic_session_run_hooks.h"

namespace weft::estimator {
namespace {

// Evaluation holds the fetches of each evaluation step, and the final values.
struct Evaluation {
  std::vector<std::string> names;
  std::vector<Output> values;  // metric values by name, then the global step
  Operation update;
};

Evaluation MakeEvaluation(const BuiltModel& built) {
  Evaluation evaluation;
  std::vector<Operation> updates;
  auto metrics = built.spec.eval_metric_ops;
  metrics["loss"] = metrics::Mean(
      built.root.SubScope("metrics").WithName("loss"), built.spec.loss);
  for (const auto& [name, metric] : metrics) {
    evaluation.names.push_back(name);
    evaluation.values.push_back(metric.value);
    updates.emplace_back(metric.update_op);
  }
  evaluation.names.emplace_back("global_step");
  evaluation.values.push_back(built.global_step.value());
  if (built.root.ok()) {
    evaluation.update = ops::Group(built.root.WithName("eval_update"), updates);
  }
  return evaluation;
}

// Returns whether to log `step`. As in TensorFlow, each step is logged if there
// are few, and every tenth of the evaluation if there are many.
bool IsLogged(int64_t step, int64_t steps) {
  return steps < 20 || step % (steps / 10) == 0 || step == steps;
}

absl::Status RunBatches(train::MonitoredSession& session,
                        const Operation& update, const EvaluateOptions& options,
                        Logger& logger) {
  const std::optional<int64_t>& steps = options.steps;
  for (int64_t step = 1; !steps || step <= *steps; ++step) {
    if (options.stop_requested && options.stop_requested()) {
      return absl::CancelledError("The evaluation was asked to stop.");
    }
    if (session.ShouldStop()) return absl::OkStatus();
    const absl::Status status = session.Run(update);
    if (absl::IsOutOfRange(status) && step == 1) {
      logger.Warning(
          "The input of the evaluation has no elements: its metrics are those "
          "of no data. Do the files hold more than a header?");
    }
    if (absl::IsOutOfRange(status)) return absl::OkStatus();
    RETURN_IF_ERROR(status);
    if (steps && IsLogged(step, *steps)) {
      logger.Info(absl::StrCat("Evaluation [", step, "/", *steps, "]"));
    }
  }
  return absl::OkStatus();
}

// Returns the value as text. An integer is not converted to a double, because
// that would print only six digits.
std::string ToString(const Tensor& value) {
  if (value.IsInitialized() && value.num_elements() == 1) {
    if (value.dtype() == DT_INT64) return absl::StrCat(value.scalar<int64_t>());
    if (value.dtype() == DT_INT32) return absl::StrCat(value.scalar<int32_t>());
  }
  const auto number = NumberIn(value);
  return number ? absl::StrCat(*number) : value.ToString();
}

// Adds the values of a metric that is a serialized Summary to `all`, as NAME/0,
// NAME/1, ... Logs a warning if the bytes are not a Summary.
void AddSummary(const std::string& name, const std::string& bytes,
                Logger& logger, summary::Summary& all) {
  auto parsed = summary::ParseSummary(bytes);
  if (!parsed.ok()) {
    logger.Warning(absl::StrCat(
        "Skipping summary for ", name,
        ", cannot parse string to Summary: ", parsed.status().message()));
    return;
  }
  for (size_t i = 0; i < parsed->value.size(); ++i) {
    parsed->value[i].tag = absl::StrCat(name, "/", i);
    all.value.push_back(std::move(parsed->value[i]));
  }
}

// Adds a metric's value to `all` as TensorFlow does: as a scalar, a tensor (for
// values with dimensions), or a Summary.
void AddValue(const std::string& name, const Tensor& value, Logger& logger,
              summary::Summary& all) {
  const auto number = NumberIn(value);
  if (value.rank() > 0 || number) {
    summary::SummaryValue item;
    item.tag = name;
    item.value = value;
    if (value.rank() == 0) item.value = static_cast<float>(*number);
    all.value.push_back(std::move(item));
  } else if (value.dtype() == DT_STRING) {
    AddSummary(name, value.scalar<std::string>(), logger, all);
  } else {
    logger.Warning(absl::StrCat(
        "Skipping summary for ", name, ", which is ",
        DataTypeName(value.dtype()),
        "; it must be a float, a double, an int32, an int64, a tensor with "
        "dimensions or a serialized Summary."));
  }
}

summary::Summary SummaryOf(const EvalMetrics& metrics, Logger& logger) {
  summary::Summary summary;
  for (const auto& [name, value] : metrics) {
    if (name != "global_step") AddValue(name, value, logger, summary);
  }
  return summary;
}

absl::Status WriteEvents(summary::FileWriter& writer,
                         const EvalMetrics& metrics,
                         const std::string& checkpoint, Logger& logger) {
  const auto step =
      static_cast<int64_t>(NumberIn(metrics.at("global_step")).value_or(0));
  RETURN_IF_ERROR(writer.AddSummary(SummaryOf(metrics, logger), step));
  if (!checkpoint.empty()) {
    summary::SummaryValue path;
    path.tag = "checkpoint_path";
    path.value = Tensor::Scalar(checkpoint);
    RETURN_IF_ERROR(writer.AddSummary(summary::Summary{{path}}, step));
  }
  return writer.Flush();
}

void LogMetrics(Logger& logger, const EvalMetrics& metrics) {
  std::vector<std::string> items;
  for (const auto& [name, value] : metrics) {
    // A string may be, for example, the bytes of a Summary, so it is not
    // printed.
    if (value.dtype() == DT_STRING && value.rank() == 0) continue;
    items.push_back(absl::StrCat(name, " = ", ToString(value)));
  }
  logger.Info(absl::StrCat("Saving dict for global step ",
                           ToString(metrics.at("global_step")), ": ",
                           absl::StrJoin(items, ", ")));
}

// Returns whether an error is permanent, such as missing permissions or
// directories. Disk and network errors are transient.
bool NeverPasses(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status) ||
         absl::IsFailedPrecondition(status) || absl::IsAlreadyExists(status);
}

}  // namespace

absl::StatusOr<EvalMetrics> Estimator::Evaluate(
    const InputFn& input_fn, const EvaluateOptions& options) {
  Impl& impl = *impl_;
  RETURN_IF_ERROR(impl.status);
  if (options.steps.value_or(1) <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Must specify steps > 0, given: ", *options.steps, "."));
  }
  ASSIGN_OR_RETURN(const std::string checkpoint,
                   impl.CheckpointToUse(options.checkpoint_path, "evaluate"));
  ASSIGN_OR_RETURN(
      const BuiltModel built,
      BuildModel(impl.model_fn, impl.config, Mode::kEval, input_fn));
  const Evaluation evaluation = MakeEvaluation(built);
  RETURN_IF_ERROR(built.root.status());
  auto last = std::make_shared<train::FinalOpsHook>(
      train::SessionRunArgs{.fetches = evaluation.values}, impl.options.logger);
  train::HookList hooks;
  AddHooks({InputHook(built.input)}, hooks);
  AddHooks(options.hooks, hooks);
  AddHooks(built.spec.evaluation_hooks, hooks);
  hooks.push_back(last);
  auto creator = impl.CreatorOptions();
  creator.scaffold = built.spec.scaffold;
  creator.master = impl.config.evaluation_master;
  creator.config = impl.config.session_config;
  // The session gets its own variables, because a training may be using the
  // shared ones.
  creator.config.isolate_session_state = true;
  creator.checkpoint_filename_with_path = checkpoint;
  creator.stop_requested = options.stop_requested;
  impl.logger->Info(
      absl::StrCat("Starting evaluation at ",
                   absl::FormatTime(impl.scheduler->clock().WallTime())));
  ASSIGN_OR_RETURN(
      auto session,
      train::MonitoredSession::Create(
          built.root,
          std::make_unique<train::ChiefSessionCreator>(std::move(creator)),
          impl.SessionOptionsWith(std::move(hooks))));
  RETURN_IF_ERROR(session->Close(
      RunBatches(*session, evaluation.update, options, *impl.logger)));
  EvalMetrics metrics;
  for (size_t i = 0; i < evaluation.names.size(); ++i) {
    metrics[evaluation.names[i]] = last->final_ops_values()[i];
  }
  impl.logger->Info(
      absl::StrCat("Finished evaluation at ",
                   absl::FormatTime(impl.scheduler->clock().WallTime())));
  LogMetrics(*impl.logger, metrics);
  const auto writer = impl.EvalWriter(eval_dir(options.name), built.root);
  const absl::Status written =
      writer.ok() ? WriteEvents(**writer, metrics, checkpoint, *impl.logger)
                  : writer.status();
  if (options.lost_events != nullptr) *options.lost_events = written;
  if (written.ok()) return metrics;
  // A transient error is only logged: the metrics are valid, and later events
  // may be written. A permanent one is returned, because an early stop would
  // silently wait for events that never come.
  if (NeverPasses(written)) {
    return Annotate(written, "events of an evaluation could not be written");
  }
  impl.logger->Warning(
      absl::StrCat("Events of the evaluation are lost: ", written.ToString()));
  return metrics;
}

std::map<std::string, float> ScalarsOf(const summary::Event& event) {
  std::map<std::string, float> scalars;
  const auto* summary = event.As<summary::Summary>();
  if (summary == nullptr) return scalars;
  for (const auto& value : summary->value) {
    if (const float* scalar = std::get_if<float>(&value.value)) {
      scalars[value.tag] = *scalar;
    }
  }
  return scalars;
}

}  // namespace weft::estimator
