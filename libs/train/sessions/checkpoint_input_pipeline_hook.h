// CheckpointInputPipelineHook saves the state of iterators during training in
// separate checkpoints, and restores it when a session begins; TensorFlow's
// hook of the same name. It is meant for input that is local to each worker:
// the hook of a worker saves the worker's iterators, under a basename of its
// own. Input that only the chief reads may instead be saved with the variables
// (Iterator::MakeSaveable).
//
// It saves when a session begins, whenever the timer is due, and when training
// ends, always between two runs of this session. It restores the checkpoint of
// the global step at which the session begins, which is the step of the
// variables; if there is none, the newest. The state file beside the
// checkpoints is "checkpoint_BASENAME", without ".ckpt" at its end.
//
// The order of hooks does not matter: the hook restores before the first run,
// after all ops that initialize iterators. Errors of a save are handled as in
// CheckpointSaverHook.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_CHECKPOINT_INPUT_PIPELINE_HOOK_H_
#define WEFT_LIBS_TRAIN_SESSIONS_CHECKPOINT_INPUT_PIPELINE_HOOK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/ops/data/iterator.h"
#include "libs/train/sessions/basic_session_run_hooks.h"
#include "libs/train/sessions/checkpoint_saver_hook.h"
#include "libs/train/sessions/defaults.h"
#include "libs/train/sessions/session_run_hook.h"

namespace weft::train {

struct CheckpointInputPipelineOptions {
  std::string checkpoint_dir;
  // Exactly one of the two.
  std::optional<absl::Duration> save_secs;
  std::optional<int64_t> save_steps;
  // The iterators to save. They must be initialized when a session begins, like
  // iterators that are initialized with the tables. Empty: INVALID_ARGUMENT.
  std::vector<ops::Iterator> iterators;
  // Must differ between workers: "input_worker_1.ckpt". Two basenames must
  // differ by more than ".ckpt".
  std::string checkpoint_basename = "input.ckpt";
  const Clock* clock = nullptr;  // outlives it; null: the machine's
  Logger* logger = nullptr;      // outlives it; null: lines on stderr
};

class CheckpointInputPipelineHook : public SessionRunHook {
 public:
  explicit CheckpointInputPipelineHook(CheckpointInputPipelineOptions options);

  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  absl::Status End(Session& session) override;
  void BeforeSessionDestroyed() override;
  bool SavesCheckpoints() const override { return true; }

 private:
  absl::Status Restore(Session& session);

  const CheckpointInputPipelineOptions options_;
  const std::string latest_filename_;
  const DefaultLogger logger_;
  GlobalStepReader global_step_;
  std::shared_ptr<Saver> saver_;
  std::unique_ptr<CheckpointSaverHook> saves_;  // null before Begin
  Coordinator* coordinator_ = nullptr;
  bool is_new_session_ = false;  // in which nothing has been run yet
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_CHECKPOINT_INPUT_PIPELINE_HOOK_H_
