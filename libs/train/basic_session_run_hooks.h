// The hooks that most trainings need, under TensorFlow's names and with its
// texts: StopAtStepHook, StepCounterHook, LoggingTensorHook, NanTensorHook,
// FeedFnHook, GlobalStepWaiterHook, FinalOpsHook. (CheckpointSaverHook and
// SummarySaverHook are in headers of their own.)
//
// A hook belongs to one MonitoredSession. Threads: as the session's. What is
// wrong with its options, its Begin says: INVALID_ARGUMENT.
#ifndef WEFT_LIBS_TRAIN_BASIC_SESSION_RUN_HOOKS_H_
#define WEFT_LIBS_TRAIN_BASIC_SESSION_RUN_HOOKS_H_

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
#include "libs/train/defaults.h"
#include "libs/train/second_or_step_timer.h"
#include "libs/train/session_run_hook.h"
#include "libs/train/session_summary_writer.h"

namespace weft::train {

// The global step of a graph as hooks read it.
class GlobalStepReader {
 public:
  // FAILED_PRECONDITION, "Global step should be created to use HOOK.", where
  // the graph has none.
  absl::Status Find(const Scope& scope, absl::string_view hook);
  const Output& output() const { return output_; }
  const std::string& name() const { return name_; }
  absl::StatusOr<int64_t> Read(Session& session) const;

 private:
  Output output_;
  std::string name_;
};

// Requests a stop when the global step has come so far.
struct StopAtStepOptions {
  // Exactly one of the two. Steps from the first session on, or a step.
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
  absl::StatusOr<Others> WhileOthersTrain(Session& session) override;
  bool HasComeToTheEnd(Session& session) override;

 private:
  const StopAtStepOptions options_;
  std::optional<int64_t> last_step_;
  GlobalStepReader global_step_;
};

// StopAtStepHook with last_step.
std::shared_ptr<SessionRunHook> StopAtStep(int64_t last_step);

struct StepCounterOptions {
  // One of the two; neither: every 100 steps.
  std::optional<int64_t> every_n_steps;
  std::optional<absl::Duration> every_n_secs;
  std::shared_ptr<SessionSummaryWriter> writer;  // may be null
  const Clock* clock = nullptr;  // outlives it; null: the machine's
  Logger* logger = nullptr;      // outlives it; null: lines on stderr
};

// Logs "global_step/sec: 12.5", and writes it as a scalar of that tag.
class StepCounterHook : public SessionRunHook {
 public:
  explicit StepCounterHook(StepCounterOptions options = {});
  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  void BeforeSessionGoes() override;

 private:
  void LogAndRecord(double steps_per_second, int64_t step);
  void WarnIfStuck(int64_t step);

  const std::shared_ptr<SessionSummaryWriter> writer_;
  SecondOrStepTimer timer_;
  const DefaultLogger logger_;
  GlobalStepReader global_step_;
  std::optional<int64_t> last_step_;
  int64_t num_equal_ = 0;  // runs in a row that have found last_step_
};

struct LoggingTensorOptions {
  // What is logged, by the names it goes by; in this order.
  std::vector<std::pair<std::string, Output>> tensors;
  // At most one of the two; neither: only at_end.
  std::optional<int64_t> every_n_iter;
  std::optional<absl::Duration> every_n_secs;
  bool at_end = false;
  // Values in the order of `tensors` to what is logged. May be null.
  std::function<std::string(absl::Span<const Tensor>)> formatter;
  const Clock* clock = nullptr;  // outlives it; null: the machine's
  Logger* logger = nullptr;      // outlives it; null: lines on stderr
};

// Logs "loss = 0.25, step = 100 (1.234 sec)", the time since the last line.
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

// Ends training when the loss is not a number: with INVALID_ARGUMENT "NaN loss
// during training.", or by asking to stop.
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

// Feeds each run what a function gives; OUT_OF_RANGE of it ends training.
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
  // Where the step stands still for so long: DEADLINE_EXCEEDED. TensorFlow
  // waits for ever.
  absl::Duration max_wait = absl::Hours(2);
  Logger* logger = nullptr;  // outlives it; null: lines on stderr
};

// The first run waits for the global step, which other workers count up. The
// wait ends with CANCELLED when training is to end: within a second of it where
// the program was asked to leave.
class GlobalStepWaiterHook : public SessionRunHook {
 public:
  explicit GlobalStepWaiterHook(GlobalStepWaiterOptions options);
  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;

 private:
  absl::Status Wait(const SessionRunContext& context);
  // For so long; whether training is to end.
  bool PauseUnlessStopped(const SessionRunContext& context,
                          absl::Duration left);

  const GlobalStepWaiterOptions options_;
  const DefaultLogger logger_;
  GlobalStepReader global_step_;
  Coordinator* coordinator_ = nullptr;  // of the session that is there
  bool has_started_ = false;
};

// Runs something once, when training ends.
class FinalOpsHook : public SessionRunHook {
 public:
  explicit FinalOpsHook(SessionRunArgs final_ops, Logger* logger = nullptr)
      : final_ops_(std::move(final_ops)), logger_(logger) {}
  absl::Status End(Session& session) override;
  // Of its fetches, afterwards; empty before.
  const std::vector<Tensor>& final_ops_values() const { return values_; }

 private:
  const SessionRunArgs final_ops_;
  const DefaultLogger logger_;
  std::vector<Tensor> values_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_BASIC_SESSION_RUN_HOOKS_H_
