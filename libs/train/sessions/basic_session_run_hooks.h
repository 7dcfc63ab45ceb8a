// Standard session run hooks, with TensorFlow's names and log texts:
// StopAtStepHook, StepCounterHook, LoggingTensorHook, NanTensorHook,
// FeedFnHook, GlobalStepWaiterHook, FinalOpsHook. (CheckpointSaverHook and
// SummarySaverHook have their own headers.)
//
// A hook belongs to one MonitoredSession. Its methods are called on the thread
// of the session. Begin returns INVALID_ARGUMENT for invalid options.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_BASIC_SESSION_RUN_HOOKS_H_
#define WEFT_LIBS_TRAIN_SESSIONS_BASIC_SESSION_RUN_HOOKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/ops/state/variable.h"
#include "libs/train/sessions/defaults.h"
#include "libs/train/sessions/second_or_step_timer.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sessions/session_summary_writer.h"

namespace weft::train {

// GlobalStepReader reads the global step of a graph on behalf of a hook.
class GlobalStepReader {
 public:
  // Finds the global step. Returns FAILED_PRECONDITION, "Global step should be
  // created to use HOOK.", if the graph does not have one.
  absl::Status Find(const Scope& scope, absl::string_view hook);
  const Output& output() const { return output_; }
  const std::string& name() const { return name_; }
  absl::StatusOr<int64_t> Read(Session& session) const;

 private:
  Output output_;
  std::string name_;
};

// StopAtStepHook requests a stop once the global step reaches a value.
struct StopAtStepOptions {
  // Set exactly one: a number of steps counted from the first session, or an
  // absolute step.
  std::optional<int64_t> num_steps;
  std::optional<int64_t> last_step;
};

class StopAtStepHook : public SessionRunHook {
 public:
  explicit StopAtStepHook(StopAtStepOptions options)
      : options_(options), last_step_(options.last_step) {}
  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  absl::StatusOr<Others> PollOtherPrograms(Session& session) override;
  bool HasReachedEnd(Session& session) override;

 private:
  const StopAtStepOptions options_;
  std::optional<int64_t> last_step_;
  GlobalStepReader global_step_;
};

// Returns a StopAtStepHook that stops at `last_step`.
std::shared_ptr<SessionRunHook> StopAtStep(int64_t last_step);

struct StepCounterOptions {
  // Set at most one; by default, every 100 steps.
  std::optional<int64_t> every_n_steps;
  std::optional<absl::Duration> every_n_secs;
  std::shared_ptr<SessionSummaryWriter> writer;  // may be null
  const Clock* clock = nullptr;  // must outlive the hook; null: the machine's
  Logger* logger = nullptr;      // must outlive the hook; null: stderr
};

// StepCounterHook logs "global_step/sec: 12.5", and writes the rate as a scalar
// summary with tag "global_step/sec".
class StepCounterHook : public SessionRunHook {
 public:
  explicit StepCounterHook(StepCounterOptions options = {});
  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  void BeforeSessionDestroyed() override;

 private:
  void LogAndRecord(double steps_per_second, int64_t step);
  void WarnIfStuck(int64_t step);

  const std::shared_ptr<SessionSummaryWriter> writer_;
  SecondOrStepTimer timer_;
  const DefaultLogger logger_;
  GlobalStepReader global_step_;
  std::optional<int64_t> last_step_;
  int64_t num_equal_ = 0;  // successive runs that found last_step_
};

struct LoggingTensorOptions {
  // The tensors to log, each with its display name. They are logged in this
  // order.
  std::vector<std::pair<std::string, Output>> tensors;
  // Set at most one. If neither is set, tensors are logged only at the end
  // (at_end).
  std::optional<int64_t> every_n_iter;
  std::optional<absl::Duration> every_n_secs;
  bool at_end = false;
  // Formats the values, which are in the order of `tensors`. May be null.
  std::function<std::string(absl::Span<const Tensor>)> formatter;
  const Clock* clock = nullptr;  // must outlive the hook; null: the machine's
  Logger* logger = nullptr;      // must outlive the hook; null: stderr
};

// LoggingTensorHook logs, for example, "loss = 0.25, step = 100 (1.234 sec)",
// where the seconds are the time since the last line.
class LoggingTensorHook : public SessionRunHook {
 public:
  explicit LoggingTensorHook(LoggingTensorOptions options);
  absl::Status Begin(const Scope& scope) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  absl::Status End(Session& session) override;

 private:
  std::vector<Output> Fetches() const;
  void LogTensors(absl::Span<const Tensor> values);

  const LoggingTensorOptions options_;
  const bool only_at_end_;
  SecondOrStepTimer timer_;
  const DefaultLogger logger_;
  int64_t iteration_ = 0;
  bool is_due_ = false;
};

// NanTensorHook ends training when the loss is NaN: with INVALID_ARGUMENT "NaN
// loss during training.", or by a stop request.
class NanTensorHook : public SessionRunHook {
 public:
  explicit NanTensorHook(Output loss, bool fail_on_nan_loss = true,
                         Logger* logger = nullptr);
  absl::Status Begin(const Scope& scope) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;

 private:
  const Output loss_;
  const bool fail_on_nan_loss_;
  const DefaultLogger logger_;
};

// FeedFnHook feeds each run the result of a function. If the function returns
// OUT_OF_RANGE, training ends.
class FeedFnHook : public SessionRunHook {
 public:
  using FeedFn = std::function<absl::StatusOr<FeedList>()>;
  explicit FeedFnHook(FeedFn feed_fn) : feed_fn_(std::move(feed_fn)) {}
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;

 private:
  const FeedFn feed_fn_;
};

struct GlobalStepWaiterOptions {
  int64_t wait_until_step = 0;
  absl::Duration poll_interval = absl::Milliseconds(500);
  // The wait fails with DEADLINE_EXCEEDED if the step does not change for this
  // long. TensorFlow waits forever.
  absl::Duration max_wait = absl::Hours(2);
  Logger* logger = nullptr;  // must outlive the hook; null: stderr
};

// GlobalStepWaiterHook delays the first run until the global step, which other
// workers advance, reaches a value. The wait ends with CANCELLED when training
// ends, and within a second of a stop request.
class GlobalStepWaiterHook : public SessionRunHook {
 public:
  explicit GlobalStepWaiterHook(GlobalStepWaiterOptions options);
  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;

 private:
  absl::Status Wait(const SessionRunContext& context);
  // Waits for the time `left`. Returns true at once if training is to end.
  bool PauseUnlessStopped(const SessionRunContext& context,
                          absl::Duration left);

  const GlobalStepWaiterOptions options_;
  const DefaultLogger logger_;
  GlobalStepReader global_step_;
  Coordinator* coordinator_ = nullptr;  // coordinator of the current session
  bool has_started_ = false;
};

// FinalOpsHook runs ops once, when training ends.
class FinalOpsHook : public SessionRunHook {
 public:
  explicit FinalOpsHook(SessionRunArgs final_ops, Logger* logger = nullptr)
      : final_ops_(std::move(final_ops)), logger_(logger) {}
  absl::Status End(Session& session) override;
  // Returns the values of the fetches after the end of training; empty before.
  const std::vector<Tensor>& final_ops_values() const { return values_; }

 private:
  const SessionRunArgs final_ops_;
  const DefaultLogger logger_;
  std::vector<Tensor> values_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_BASIC_SESSION_RUN_HOOKS_H_
