#include "libs/train/sessions/monitored_training_session.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/base/status.h"
#include "libs/train/sessions/basic_session_run_hooks.h"
#include "libs/train/sessions/checkpoint_saver_hook.h"
#include "libs/train/sessions/other_workers_hook.h"
#include "libs/train/sessions/profiler_hook.h"
#include "libs/train/sessions/session_summary_writer.h"
#include "libs/train/sessions/summary_saver_hook.h"

namespace weft::train {
namespace {

using Options = MonitoredTrainingSessionOptions;

constexpr double kDefaultSaveSecs = 600;
constexpr int64_t kDefaultSummarySteps = 100;

// Every is the interval at which a hook acts. If neither field is set, it never
// acts.
struct Every {
  std::optional<absl::Duration> secs;
  std::optional<int64_t> steps;
  explicit operator bool() const {
    return secs.has_value() || steps.has_value();
  }
};

Every MakeEvery(std::optional<double> secs, std::optional<int64_t> steps) {
  Every every;
  if (secs.value_or(0) > 0) every.secs = absl::Seconds(*secs);
  if (steps.value_or(0) > 0) every.steps = steps;
  return every;
}

// DefaultHooks creates the default hooks of a chief.
class DefaultHooks {
 public:
  DefaultHooks(const Options& options, std::shared_ptr<Scaffold> scaffold)
      : options_(options),
        scaffold_(std::move(scaffold)),
        clock_(options.scheduler != nullptr ? &options.scheduler->clock()
                                            : nullptr) {
    const std::string& summary_dir = options.summary_dir.empty()
                                         ? options.checkpoint_dir
                                         : options.summary_dir;
    if (summary_dir.empty()) return;
    writer_ = NewWriter(summary_dir);
    // The graph and save events are written beside the checkpoints, as in
    // TensorFlow, regardless of the summary directory.
    const bool is_elsewhere = !options.checkpoint_dir.empty() &&
                              options.checkpoint_dir != summary_dir;
    writer_of_checkpoints_ =
        is_elsewhere ? NewWriter(options.checkpoint_dir) : writer_;
  }

  void AddTo(HookList& hooks) const {
    if (writer_ == nullptr) return;
    AddStepCounter(hooks);
    AddSummarySaver(hooks);
    if (!options_.checkpoint_dir.empty()) AddCheckpointSaver(hooks);
  }

  // Shares the event writers with all hooks that write traces into the same
  // directories.
  void ShareWritersWith(const HookList& hooks) const {
    if (writer_ == nullptr) return;
    ProfilerHook::ShareWriter(hooks, writer_of_checkpoints_);
    ProfilerHook::ShareWriter(hooks, writer_);
  }

 private:
  std::shared_ptr<SessionSummaryWriter> NewWriter(
      const std::string& directory) const {
    return std::make_shared<SessionSummaryWriter>(
        directory, options_.logger, /*filename_suffix=*/"",
        options_.max_event_file_bytes);
  }

  void AddStepCounter(HookList& hooks) const {
    const bool is_by_time = options_.log_step_count_secs.has_value();
    const Every every = is_by_time
                            ? MakeEvery(options_.log_step_count_secs, {})
                            : MakeEvery({}, options_.log_step_count_steps);
    if (!every) return;
    hooks.push_back(std::make_shared<StepCounterHook>(
        StepCounterOptions{.every_n_steps = every.steps,
                           .every_n_secs = every.secs,
                           .writer = writer_,
                           .clock = clock_,
                           .logger = options_.logger}));
  }

  void AddSummarySaver(HookList& hooks) const {
    const bool is_default = !options_.save_summaries_secs.has_value() &&
                            !options_.save_summaries_steps.has_value();
    const Every every = is_default ? Every{.steps = kDefaultSummarySteps}
                                   : MakeEvery(options_.save_summaries_secs,
                                               options_.save_summaries_steps);
    if (!every) return;
    SummarySaverOptions saver;
    saver.save_secs = every.secs;
    saver.save_steps = every.steps;
    saver.writer = writer_;
    saver.scaffold = scaffold_;
    saver.clock = clock_;
    hooks.push_back(std::make_shared<SummarySaverHook>(std::move(saver)));
  }

  void AddCheckpointSaver(HookList& hooks) const {
    const bool is_default = !options_.save_checkpoint_secs.has_value() &&
                            !options_.save_checkpoint_steps.has_value();
    const Every every = is_default ? MakeEvery(kDefaultSaveSecs, std::nullopt)
                                   : MakeEvery(options_.save_checkpoint_secs,
                                               options_.save_checkpoint_steps);
    if (!every) return;
    CheckpointSaverOptions saver;
    saver.checkpoint_dir = options_.checkpoint_dir;
    saver.save_secs = every.secs;
    saver.save_steps = every.steps;
    saver.scaffold = scaffold_;
    saver.save_asynchronously = options_.save_asynchronously;
    saver.writer = writer_of_checkpoints_;
    saver.clock = clock_;
    saver.logger = options_.logger;
    hooks.push_back(std::make_shared<CheckpointSaverHook>(std::move(saver)));
  }

  const Options& options_;
  const std::shared_ptr<Scaffold> scaffold_;
  const Clock* const clock_;
  // Event writers; null without a directory.
  std::shared_ptr<SessionSummaryWriter> writer_;
  std::shared_ptr<SessionSummaryWriter> writer_of_checkpoints_;
};

// Makes saver hooks delay the concurrent updates of all hooks while they save.
void SetUpdatingHooksOfSavers(const HookList& hooks) {
  for (const auto& hook : hooks) {
    auto* const saver = dynamic_cast<CheckpointSaverHook*>(hook.get());
    if (saver != nullptr) saver->SetUpdatingHooks(hooks);
  }
}

// Adds the hook that tracks other workers, if the session is on a server, whose
// variables other programs may use.
void AddOtherWorkers(const Options& options, HookList& hooks) {
  if (options.master.empty()) return;
  AddOtherWorkersHook({.is_chief = options.is_chief,
                       .target = options.master,
                       .random = options.random,
                       .logger = options.logger},
                      hooks);
}

// Returns the hooks that only the chief has, then the default hooks, then the
// common hooks.
HookList ChiefHooks(const Options& options,
                    const std::shared_ptr<Scaffold>& scaffold) {
  HookList hooks = options.chief_only_hooks;
  const DefaultHooks defaults(options, scaffold);
  defaults.AddTo(hooks);
  hooks.insert(hooks.end(), options.hooks.begin(), options.hooks.end());
  defaults.ShareWritersWith(hooks);
  return hooks;
}

SessionCreatorOptions CreatorOptions(
    const Options& options, const std::shared_ptr<Scaffold>& scaffold) {
  SessionCreatorOptions creator;
  creator.scaffold = scaffold;
  creator.master = options.master;
  creator.config = options.config;
  creator.checkpoint_dir = options.checkpoint_dir;
  creator.max_wait = absl::Seconds(options.max_wait_secs);
  creator.session_factory = options.session_factory;
  creator.stop_requested = options.stop_requested;
  creator.scheduler = options.scheduler;
  creator.logger = options.logger;
  return creator;
}

absl::Status CheckTime(absl::string_view name, double secs, double least) {
  if (secs >= least) return absl::OkStatus();  // false for NaN
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is a number of seconds, and can't be ", secs));
}

absl::Status CheckTimes(const Options& options) {
  constexpr double kAny = -std::numeric_limits<double>::infinity();
  RETURN_IF_ERROR(CheckTime("save_checkpoint_secs",
                            options.save_checkpoint_secs.value_or(0), kAny));
  RETURN_IF_ERROR(CheckTime("save_summaries_secs",
                            options.save_summaries_secs.value_or(0), kAny));
  RETURN_IF_ERROR(CheckTime("log_step_count_secs",
                            options.log_step_count_secs.value_or(0), 0));
  RETURN_IF_ERROR(
      CheckTime("stop_grace_period_secs", options.stop_grace_period_secs, 0));
  return CheckTime("max_wait_secs", options.max_wait_secs, 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MonitoredSession>> MonitoredTrainingSession(
    const Scope& scope, MonitoredTrainingSessionOptions options) {
  RETURN_IF_ERROR(CheckTimes(options));
  const std::shared_ptr<Scaffold> scaffold = options.scaffold != nullptr
                                                 ? options.scaffold
                                                 : std::make_shared<Scaffold>();
  MonitoredSessionOptions session;
  session.hooks =
      options.is_chief ? ChiefHooks(options, scaffold) : options.hooks;
  SetUpdatingHooksOfSavers(session.hooks);
  AddOtherWorkers(options, session.hooks);
  session.stop_grace_period = absl::Seconds(options.stop_grace_period_secs);
  session.recovery = options.recovery;
  session.stop_requested = options.stop_requested;
  session.scheduler = options.scheduler;
  session.random = options.random;
  session.logger = options.logger;
  SessionCreatorOptions creator = CreatorOptions(options, scaffold);
  if (options.is_chief) {
    return MonitoredSession::Create(
        scope, std::make_unique<ChiefSessionCreator>(std::move(creator)),
        std::move(session));
  }
  return MonitoredSession::Create(
      scope, std::make_unique<WorkerSessionCreator>(std::move(creator)),
      std::move(session));
}

}  // namespace weft::train
