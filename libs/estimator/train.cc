// Implements Estimator::Train.
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/estimator/continuous_evaluation.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/ops/summary/summary_ops.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/saving/saver.h"
#include "libs/train/sessions/basic_session_run_hooks.h"
#include "libs/train/sessions/other_workers_hook.h"
#include "libs/train/sessions/profiler_hook.h"
#include "libs/train/sessions/session_summary_writer.h"
#include "libs/train/sessions/summary_saver_hook.h"

namespace weft::estimator {
namespace {

constexpr double kDefaultSaveSecs = 600;

absl::Status CheckTraining(const RunConfig& config,
                           const TrainOptions& options) {
  if (config.task_type == "ps" || config.task_type == "evaluator") {
    return absl::InvalidArgumentError(
        absl::StrCat("Train has been called with wrong task type: a task \"",
                     config.task_type, "\" does not train."));
  }
  if (options.steps && options.max_steps) {
    return absl::InvalidArgumentError(
        "Can not provide both steps and max_steps.");
  }
  const int64_t steps = options.steps.value_or(options.max_steps.value_or(1));
  if (steps > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Must specify ", options.steps ? "steps" : "max_steps",
                   " > 0, given: ", steps, "."));
}

// Adds a summary of the loss if the model function adds none.
void AddLossSummary(const Scope& root, const Output& loss) {
  for (const Output& item : root.GetCollection(collection::kSummaries)) {
    if (item.node()->name() == "loss") return;
  }
  ops::ScalarSummary(root.WithName("loss"), "loss", loss);
}

// Returns the saver options that the config defines.
train::SaverOptions SaverOf(const RunConfig& config, FileSystem* files) {
  train::SaverOptions saver;
  saver.sharded = true;
  saver.max_to_keep = config.keep_checkpoint_max;
  saver.keep_checkpoint_every =
      absl::Hours(config.keep_checkpoint_every_n_hours);
  saver.save_relative_paths = true;
  saver.file_system = files;
  return saver;
}

// Returns the scaffold of the training. Its saver is created only after all
// hooks have added their nodes. If the model function's scaffold has no saver
// options, it gets the saver options of the config.
std::shared_ptr<train::Scaffold> ScaffoldOf(const BuiltModel& built,
                                            const RunConfig& config,
                                            FileSystem* files) {
  const auto scaffold = built.spec.scaffold != nullptr
                            ? built.spec.scaffold
                            : std::make_shared<train::Scaffold>();
  scaffold->SetDefaultSaverOptions(SaverOf(config, files));
  return scaffold;
}

train::CheckpointSaverHook* FirstSaver(const train::HookList& hooks) {
  for (const auto& hook : hooks) {
    auto* const saver = dynamic_cast<train::CheckpointSaverHook*>(hook.get());
    if (saver != nullptr) return saver;
  }
  return nullptr;
}

// Returns the program's own saver hook, or null if it has none. The hooks are
// searched in TensorFlow's order.
train::CheckpointSaverHook* OwnSaver(const EstimatorSpec& spec,
                                     const TrainOptions& options) {
  for (const train::HookList* hooks :
       {&options.hooks, &spec.training_hooks, &spec.training_chief_hooks}) {
    train::CheckpointSaverHook* const saver = FirstSaver(*hooks);
    if (saver != nullptr) return saver;
  }
  return nullptr;
}

bool SavesByItself(const RunConfig& config) {
  if (config.save_checkpoints_steps) return *config.save_checkpoints_steps != 0;
  return config.save_checkpoints_secs.value_or(kDefaultSaveSecs) != 0;
}

// Adds each listener once.
void AddListeners(const TrainOptions& options,
                  train::CheckpointSaverHook& saver) {
  for (const auto& listener : options.saving_listeners) {
    if (listener != nullptr) saver.AddListener(listener);
  }
}

// Gives the listeners to a saver hook. It is an error if there is no saver,
// because the listeners would silently be ignored.
absl::Status GiveListeners(const RunConfig& config, const EstimatorSpec& spec,
                           const TrainOptions& options) {
  train::CheckpointSaverHook* const saver = OwnSaver(spec, options);
  if (saver != nullptr) {
    AddListeners(options, *saver);
    return absl::OkStatus();
  }
  if (options.saving_listeners.empty() || SavesByItself(config)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "There should be a CheckpointSaverHook to use saving_listeners, "
      "evaluations while training among them. Please set one of the "
      "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs.");
}

// Returns whether this task writes summaries, which is usually the chief. But a
// job "master" evaluates between steps. If it has workers, the first worker
// writes summaries instead, so that they are on time.
bool WritesSummaries(const RunConfig& config) {
  const ClusterSpec& cluster = config.cluster_spec;
  if (cluster.num_tasks("master") == 0 || cluster.num_tasks("worker") == 0) {
    return config.is_chief;
  }
  return config.task_type == "worker" && config.task_id == 0;
}

// HooksOf collects the hooks of one training, in TensorFlow's order.
class HooksOf {
 public:
  HooksOf(const EstimatorOptions& environment, const RunConfig& config,
          const std::string& model_dir, const BuiltModel& built,
          const TrainOptions& options,
          std::shared_ptr<train::Scaffold> scaffold)
      : environment_(environment),
        config_(config),
        model_dir_(model_dir),
        built_(built),
        options_(options),
        scaffold_(std::move(scaffold)),
        clock_(environment.scheduler != nullptr
                   ? &environment.scheduler->clock()
                   : nullptr) {}

  train::HookList All() {
    if (config_.is_chief) AddChiefHooks();
    AddHooks({InputHook(built_.input)}, hooks_);
    AddHooks(options_.hooks, hooks_);
    if (options_.steps || options_.max_steps) {
      hooks_.push_back(
          std::make_shared<train::StopAtStepHook>(train::StopAtStepOptions{
              .num_steps = options_.steps, .last_step = options_.max_steps}));
    }
    hooks_.push_back(std::make_shared<train::NanTensorHook>(
        built_.spec.loss, true, environment_.logger));
    AddLossLog();
    AddHooks(built_.spec.training_hooks, hooks_);
    if (!config_.is_chief && WritesSummaries(config_)) {
      // The suffix distinguishes this file from the master's, which may be
      // created in the same second on the same host.
      AddSummaryHooks(NewWriter(".worker"));
    }
    if (writer_ != nullptr) train::ProfilerHook::ShareWriter(hooks_, writer_);
    if (auto* const saver = FirstSaver(hooks_)) {
      saver->SetUpdatingHooks(hooks_);
    }
    AddOtherWorkers();
    return std::move(hooks_);
  }

 private:
  std::shared_ptr<train::SessionSummaryWriter> NewWriter(
      const std::string& suffix = "") {
    writer_ = std::make_shared<train::SessionSummaryWriter>(
        model_dir_, environment_.logger, suffix);
    return writer_;
  }

  void AddOtherWorkers() {
    if (!config_.IsInCluster() || config_.num_worker_replicas < 2) return;
    train::OtherWorkersOptions options;
    options.is_chief = config_.is_chief;
    options.target = config_.master;
    options.logger = environment_.logger;
    options.delay_of_others = config_.LongestDelayOfWorkers();
    train::AddOtherWorkersHook(std::move(options), hooks_);
  }

  void AddChiefHooks() {
    const auto writer = NewWriter();
    AddCheckpointSaver(writer);
    AddHooks(built_.spec.training_chief_hooks, hooks_);
    if (WritesSummaries(config_)) AddSummaryHooks(writer);
  }

  void AddSummaryHooks(
      const std::shared_ptr<train::SessionSummaryWriter>& writer) {
    if (config_.log_step_count_steps > 0) {
      hooks_.push_back(
          std::make_shared<train::StepCounterHook>(train::StepCounterOptions{
              .every_n_steps = config_.log_step_count_steps,
              .writer = writer,
              .clock = clock_,
              .logger = environment_.logger}));
    }
    if (config_.save_summary_steps == 0) return;
    train::SummarySaverOptions summaries;
    summaries.save_steps = config_.save_summary_steps;
    summaries.writer = writer;
    summaries.scaffold = scaffold_;
    summaries.clock = clock_;
    hooks_.push_back(
        std::make_shared<train::SummarySaverHook>(std::move(summaries)));
  }

  void AddCheckpointSaver(
      const std::shared_ptr<train::SessionSummaryWriter>& writer) {
    if (OwnSaver(built_.spec, options_) != nullptr) return;
    if (!SavesByItself(config_)) return;
    train::CheckpointSaverOptions saver;
    if (config_.save_checkpoints_steps) {
      saver.save_steps = config_.save_checkpoints_steps;
    } else {
      saver.save_secs = absl::Seconds(
          config_.save_checkpoints_secs.value_or(kDefaultSaveSecs));
    }
    saver.checkpoint_dir = model_dir_;
    saver.scaffold = scaffold_;
    saver.writer = writer;
    saver.clock = clock_;
    saver.logger = environment_.logger;
    const auto hook =
        std::make_shared<train::CheckpointSaverHook>(std::move(saver));
    AddListeners(options_, *hook);
    hooks_.push_back(hook);
  }

  void AddLossLog() {
    if (config_.log_step_count_steps == 0) return;
    train::LoggingTensorOptions log;
    log.tensors = {{"loss", built_.spec.loss},
                   {"step", built_.global_step.value()}};
    log.every_n_iter = config_.log_step_count_steps;
    log.clock = clock_;
    log.logger = environment_.logger;
    hooks_.push_back(
        std::make_shared<train::LoggingTensorHook>(std::move(log)));
  }

  const EstimatorOptions& environment_;
  const RunConfig& config_;
  const std::string& model_dir_;
  const BuiltModel& built_;
  const TrainOptions& options_;
  const std::shared_ptr<train::Scaffold> scaffold_;
  const Clock* const clock_;
  train::HookList hooks_;
  // Writer of this program's events; null if this program does not write
  // events.
  std::shared_ptr<train::SessionSummaryWriter> writer_;
};

// Runs until the session stops; returns the loss of the last step.
absl::StatusOr<Tensor> RunSteps(train::MonitoredSession& session,
                                const EstimatorSpec& spec, Logger& logger) {
  Tensor loss;
  while (!session.ShouldStop()) {
    auto values = session.Run(FeedList(), std::vector<Output>{spec.loss},
                              std::vector<Operation>{spec.train_op});
    if (values.ok()) {
      loss = (*values)[0];
    } else if (!absl::IsOutOfRange(values.status())) {
      return values.status();
    } else if (!loss.IsInitialized()) {
      logger.Warning(
          "The input of the training ended before the first step, so this "
          "program has trained nothing. Do the files hold more than a header, "
          "and at least one batch where the rest is dropped?");
    }
  }
  return loss;
}

// Sets up the warm start. Only the chief initializes variables, and a
// checkpoint of this training takes precedence.
absl::Status WarmStart(const BuiltModel& built, const RunConfig& config,
                       const EstimatorOptions& options,
                       train::Scaffold& scaffold, bool has_checkpoint) {
  if (!options.warm_start_from || !config.is_chief || has_checkpoint) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(auto initializers,
                   train::WarmStart(built.root, *options.warm_start_from,
                                    options.file_system, options.logger));
  return scaffold.SetInitializers(std::move(initializers));
}

}  // namespace

absl::Status Estimator::Train(const InputFn& input_fn,
                              const TrainOptions& options) {
  Impl& impl = *impl_;
  RETURN_IF_ERROR(impl.status);
  RETURN_IF_ERROR(CheckTraining(impl.config, options));
  std::optional<std::string> latest;
  if (options.max_steps || impl.options.warm_start_from) {
    ASSIGN_OR_RETURN(latest, impl.LatestCheckpoint());
  }
  if (options.max_steps && latest) {
    ASSIGN_OR_RETURN(const CheckpointProgress progress,
                     ReadProgress(impl.files(), *latest));
    if (progress.step >= *options.max_steps) {
      impl.logger->Info("Skipping training since max_steps has already saved.");
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(
      const BuiltModel built,
      BuildModel(impl.model_fn, impl.config, Mode::kTrain, input_fn));
  RETURN_IF_ERROR(GiveListeners(impl.config, built.spec, options));
  built.root.AddToCollection(collection::kLosses, built.spec.loss);
  AddLossSummary(built.root, built.spec.loss);
  const auto scaffold =
      ScaffoldOf(built, impl.config, impl.options.file_system);
  RETURN_IF_ERROR(WarmStart(built, impl.config, impl.options, *scaffold,
                            latest.has_value()));
  RETURN_IF_ERROR(built.root.status());
  auto session_options =
      impl.SessionOptionsWith(HooksOf(impl.options, impl.config, impl.model_dir,
                                      built, options, scaffold)
                                  .All());
  session_options.stop_requested = options.stop_requested;
  auto creator = impl.CreatorOptions();
  creator.scaffold = scaffold;
  creator.master = impl.config.master;
  creator.config = impl.config.TrainingSession();
  if (options.process != nullptr) creator.config.process = options.process;
  creator.checkpoint_dir = impl.model_dir;
  creator.max_wait = absl::Seconds(impl.config.session_creation_timeout_secs);
  creator.stop_requested = options.stop_requested;
  std::unique_ptr<train::SessionCreator> sessions;
  if (impl.config.is_chief) {
    sessions = std::make_unique<train::ChiefSessionCreator>(std::move(creator));
  } else {
    sessions =
        std::make_unique<train::WorkerSessionCreator>(std::move(creator));
  }
  ASSIGN_OR_RETURN(auto session, train::MonitoredSession::Create(
                                     built.root, std::move(sessions),
                                     std::move(session_options)));
  const auto loss = RunSteps(*session, built.spec, *impl.logger);
  RETURN_IF_ERROR(session->Close(loss.status()));
  if (const auto number = NumberIn(*loss)) {
    impl.logger->Info(absl::StrCat("Loss for final step: ", *number, "."));
  }
  return absl::OkStatus();
}

}  // namespace weft::estimator
