// CheckpointInputPipelineHook saves the state of iterators during training in
// separate checkpoints, and restores that state when a session begins, like
// TensorFlow's hook of the same name. The hook is meant for input that is local
// to each worker: the hook of a worker saves the worker's iterators, with a
// basename that no other worker uses. Input that only the chief reads may
// instead be saved with the variables (Iterator::MakeSaveable).
//
// The hook saves when a session begins, whenever the timer is due, and when
// training ends, always between two runs of this session. It restores the
// checkpoint of the global step at which the session begins, which is the step
// of the variables. If that checkpoint does not exist, it restores the newest.
// The state file beside the checkpoints is "checkpoint_BASENAME", without
// ".ckpt" at its end.
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
  // Interval between saves; set exactly one.
  std::optional<absl::Duration> save_secs;
  std::optional<int64_t> save_steps;
  // The iterators to save; INVALID_ARGUMENT if empty. They must have been
  // initialized when a session begins, for example together with the tables.
  std::vector<ops::Iterator> iterators;
  // Name of the checkpoints, which must differ between workers:
  // "input_worker_1.ckpt". Names that differ only by ".ckpt" are not different.
  std::string checkpoint_basename = "input.ckpt";
  const Clock* clock = nullptr;  // must outlive the hook; null: the machine's
  Logger* logger = nullptr;      // must outlive the hook; null: stderr
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
  bool is_new_session_ = false;  // nothing has been run in the session yet
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_CHECKPOINT_INPUT_PIPELINE_HOOK_H_
