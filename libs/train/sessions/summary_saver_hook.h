// SummarySaverHook writes summaries into event files during training, for
// TensorBoard; TensorFlow's hook of the same name. It summarizes the first run,
// and then runs when the timer is due.
//
// Threads: as SessionRunHook's.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_SUMMARY_SAVER_HOOK_H_
#define WEFT_LIBS_TRAIN_SESSIONS_SUMMARY_SAVER_HOOK_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/train/sessions/basic_session_run_hooks.h"
#include "libs/train/sessions/scaffold.h"
#include "libs/train/sessions/second_or_step_timer.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sessions/session_summary_writer.h"

namespace weft::train {

struct SummarySaverOptions {
  // Exactly one of the two.
  std::optional<int64_t> save_steps;
  std::optional<absl::Duration> save_secs;
  std::shared_ptr<SessionSummaryWriter> writer;
  // Exactly one of the two: serialized Summaries, a scalar or a vector of
  // strings; the scaffold's may be null, then nothing is written.
  Output summary_op;
  std::shared_ptr<Scaffold> scaffold;
  const Clock* clock = nullptr;  // outlives it; null: the machine's
};

class SummarySaverHook : public SessionRunHook {
 public:
  explicit SummarySaverHook(SummarySaverOptions options);

  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  absl::Status End(Session& session) override;
  void BeforeSessionDestroyed() override;

 private:
  const SummarySaverOptions options_;
  SecondOrStepTimer timer_;
  GlobalStepReader global_step_;
  std::optional<int64_t> next_step_;  // none before the first run
  bool is_due_ = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_SUMMARY_SAVER_HOOK_H_
