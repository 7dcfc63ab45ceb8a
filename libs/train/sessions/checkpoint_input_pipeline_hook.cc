#include "libs/train/sessions/checkpoint_input_pipeline_hook.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/train/saving/unnamed_checkpoints.h"

namespace weft::train {
namespace {

// Returns the name of the state file. Only ".ckpt" is removed, because any
// other ending distinguishes workers: "input.0", "input.1".
std::string StateName(const std::string& basename) {
  return absl::StrCat("checkpoint_", absl::StripSuffix(basename, ".ckpt"));
}

// Returns the checkpoint of step `step`, or the newest if that does not exist.
std::string ToRestore(const checkpoint::CheckpointState& state,
                      const std::string& basename, int64_t step) {
  const std::string name = absl::StrCat(basename, "-", step);
  const auto& all = state.all_model_checkpoint_paths;
  const auto found = std::find_if(
      all.begin(), all.end(),
      [&](const std::string& path) { return Basename(path) == name; });
  return found == all.end() ? state.model_checkpoint_path : *found;
}

}  // namespace

CheckpointInputPipelineHook::CheckpointInputPipelineHook(
    CheckpointInputPipelineOptions options)
    : options_(std::move(options)),
      latest_filename_(StateName(options_.checkpoint_basename)),
      logger_(options_.logger) {}

absl::Status CheckpointInputPipelineHook::Begin(const Scope& scope) {
  if (options_.iterators.empty()) {
    return absl::InvalidArgumentError(
        "A CheckpointInputPipelineHook needs iterators.");
  }
  RETURN_IF_ERROR(global_step_.Find(scope, "CheckpointInputPipelineHook"));
  saver_ = std::make_shared<Saver>(
      scope, SaverOptions{.iterators = options_.iterators, .sharded = true});
  RETURN_IF_ERROR(scope.status());
  saves_ = std::make_unique<CheckpointSaverHook>(CheckpointSaverOptions{
      .checkpoint_dir = options_.checkpoint_dir,
      .save_secs = options_.save_secs,
      .save_steps = options_.save_steps,
      .saver = saver_,
      .checkpoint_basename = options_.checkpoint_basename,
      .clock = options_.clock,
      .logger = options_.logger,
      .latest_filename = latest_filename_,
      .write_graph = false,
  });
  return saves_->Begin(scope);
}

absl::Status CheckpointInputPipelineHook::AfterCreateSession(
    Session&, Coordinator& coordinator) {
  coordinator_ = &coordinator;
  is_new_session_ = true;
  return absl::OkStatus();
}

absl::StatusOr<SessionRunArgs> CheckpointInputPipelineHook::BeforeRun(
    SessionRunContext& context) {
  if (is_new_session_) {
    RETURN_IF_ERROR(Restore(context.session()));
    RETURN_IF_ERROR(
        saves_->AfterCreateSession(context.session(), *coordinator_));
    is_new_session_ = false;
  }
  return saves_->BeforeRun(context);
}

absl::Status CheckpointInputPipelineHook::Restore(Session& session) {
  LocalFileSystem local;
  FileSystem* const files = session.file_system();
  FileSystem& used = files != nullptr ? *files : local;
  const auto state = checkpoint::ReadCheckpointState(
      used, options_.checkpoint_dir, latest_filename_);
  if (absl::IsNotFound(state.status())) {
    return CheckThatNoneIsUnnamed(
        used, options_.checkpoint_dir, latest_filename_,
        absl::StrCat(options_.checkpoint_basename, "-"));
  }
  RETURN_IF_ERROR(state.status());
  ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(session));
  const std::string path =
      ToRestore(*state, options_.checkpoint_basename, step);
  logger_->Info(absl::StrCat("Restoring input pipelines from ", path));
  RETURN_IF_ERROR(
      Annotate(saver_->Restore(session, path),
               absl::StrCat("Restoring input pipelines from ", path)));
  return saver_->RecoverLastCheckpoints(session,
                                        state->all_model_checkpoint_paths,
                                        state->all_model_checkpoint_timestamps);
}

absl::Status CheckpointInputPipelineHook::AfterRun(
    SessionRunContext& context, const SessionRunValues& values) {
  return saves_->AfterRun(context, values);
}

// A session without runs has not changed anything, so there is nothing to save.
absl::Status CheckpointInputPipelineHook::End(Session& session) {
  return is_new_session_ ? absl::OkStatus() : saves_->End(session);
}

void CheckpointInputPipelineHook::BeforeSessionDestroyed() {
  if (saves_ != nullptr) saves_->BeforeSessionDestroyed();
}

}  // namespace weft::train
