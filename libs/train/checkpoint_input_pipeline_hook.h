// CheckpointInputPipelineHook: saves how far iterators have come, as training
// goes on, in checkpoints of their own, and restores that when a session
// begins; TensorFlow's hook of that name. For input that each worker has of its
// own: a worker's hook saves its worker's iterators, each under another
// basename. What a chief alone reads may as well be saved with the variables
// (Iterator::MakeSaveable).
//
// It saves when a session begins, whenever the timer says so, and when training
// ends, between two runs of this session. Restored is the checkpoint of the
// global step at which the session begins, which is that of the variables;
// where there is none of it, the newest. Beside the checkpoints lies a state of
// its own, "checkpoint_BASENAME" without ".ckpt" at its end.
//
// In what order hooks are called makes no difference: it restores before the
// first run, when all that initializes iterators has been run. An error of a
// save is dealt with as CheckpointSaverHook does.
#ifndef WEFT_LIBS_TRAIN_CHECKPOINT_INPUT_PIPELINE_HOOK_H_
#define WEFT_LIBS_TRAIN_CHECKPOINT_INPUT_PIPELINE_HOOK_H_

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
#include "libs/train/basic_session_run_hooks.h"
#include "libs/train/checkpoint_saver_hook.h"
#include "libs/train/defaults.h"
#include "libs/train/session_run_hook.h"

namespace weft::train {

struct CheckpointInputPipelineOptions {
  std::string checkpoint_dir;
  // Exactly one of the two.
  std::optional<absl::Duration> save_secs;
  std::optional<int64_t> save_steps;
  // Initialized when a session begins, as those are that are initialized with
  // tables. Empty: INVALID_ARGUMENT.
  std::vector<ops::Iterator> iterators;
  // Another one for each worker: "input_worker_1.ckpt". No two differ by
  // ".ckpt" alone.
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
  void BeforeSessionGoes() override;
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

#endif  // WEFT_LIBS_TRAIN_CHECKPOINT_INPUT_PIPELINE_HOOK_H_
