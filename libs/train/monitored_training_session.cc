#include "libs/train/monitored_training_session.h"

#include <utility>

#include "absl/time/time.h"
#include "libs/train/basic_session_run_hooks.h"
#include "libs/train/checkpoint_saver_hook.h"

namespace weft::train {
namespace {

using Options = MonitoredTrainingSessionOptions;

constexpr double kDefaultSaveSecs = 600;

// The chief's own hooks, then the default ones, then those of all.
HookList ChiefHooks(const Options& options,
                    const std::shared_ptr<Scaffold>& scaffold) {
  HookList hooks = options.chief_only_hooks;
  if (!options.checkpoint_dir.empty()) {
    const Clock* const clock =
        options.scheduler != nullptr ? &options.scheduler->clock() : nullptr;
    if (options.log_step_count_steps > 0) {
      hooks.push_back(std::make_shared<StepCounterHook>(
          StepCounterOptions{.every_n_steps = options.log_step_count_steps,
                             .clock = clock,
                             .logger = options.logger}));
    }
    std::optional<double> secs = options.save_checkpoint_secs;
    const std::optional<int64_t> steps = options.save_checkpoint_steps;
    if (!secs.has_value() && !steps.has_value()) secs = kDefaultSaveSecs;
    CheckpointSaverOptions saver;
    saver.checkpoint_dir = options.checkpoint_dir;
    if (secs.value_or(0) > 0) saver.save_secs = absl::Seconds(*secs);
    if (steps.value_or(0) > 0) saver.save_steps = steps;
    saver.scaffold = scaffold;
    saver.save_asynchronously = options.save_asynchronously;
    saver.clock = clock;
    saver.logger = options.logger;
    if (saver.save_secs.has_value() || saver.save_steps.has_value()) {
      hooks.push_back(std::make_shared<CheckpointSaverHook>(std::move(saver)));
    }
  }
  hooks.insert(hooks.end(), options.hooks.begin(), options.hooks.end());
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

}  // namespace

absl::StatusOr<std::unique_ptr<MonitoredSession>> MonitoredTrainingSession(
    const Scope& scope, MonitoredTrainingSessionOptions options) {
  const std::shared_ptr<Scaffold> scaffold = options.scaffold != nullptr
                                                 ? options.scaffold
                                                 : std::make_shared<Scaffold>();
  MonitoredSessionOptions session;
  session.hooks =
      options.is_chief ? ChiefHooks(options, scaffold) : options.hooks;
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
