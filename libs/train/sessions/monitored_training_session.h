// MonitoredTrainingSession creates a MonitoredSession with the usual hooks for
// training. Names and defaults are those of TensorFlow's
// tf.train.MonitoredTrainingSession. See monitored_session.h.
//
// In a cluster the programs of a training know of each other (see
// other_workers_hook.h). A chief whose own input has ended waits in Close, and
// saves as before, until the others have ended or were lost. It first waits a
// few seconds for others to begin.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_MONITORED_TRAINING_SESSION_H_
#define WEFT_LIBS_TRAIN_SESSIONS_MONITORED_TRAINING_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/sessions/monitored_session.h"
#include "libs/train/sessions/scaffold.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sessions/session_summary_writer.h"

namespace weft::train {

struct MonitoredTrainingSessionOptions {
  // Target of the session: "zmq://host:port", or "" for a session in this
  // process.
  std::string master;
  // Whether this program is the chief, which initializes or restores variables,
  // saves and logs. Other programs wait for the chief.
  bool is_chief = true;
  // Directory of checkpoints; empty: checkpoints are neither saved nor
  // restored.
  std::string checkpoint_dir;
  std::shared_ptr<Scaffold> scaffold;  // null: a new scaffold
  HookList hooks;
  HookList chief_only_hooks;
  // Interval between checkpoints in seconds, or in steps; 0: no checkpoints. If
  // neither is set, the interval is 600 seconds.
  std::optional<double> save_checkpoint_secs;
  std::optional<int64_t> save_checkpoint_steps;
  // Interval between summaries in seconds, or in steps; 0: no summaries. If
  // neither is set, the interval is 100 steps.
  std::optional<double> save_summaries_secs;
  std::optional<int64_t> save_summaries_steps;
  SessionOptions config;
  double stop_grace_period_secs = 120;
  // Directory of event files; empty: checkpoint_dir. The graph and an event for
  // each checkpoint are written beside the checkpoints in any case.
  std::string summary_dir;
  // Interval in steps at which a chief with a directory logs global_step/sec;
  // 0: never.
  int64_t log_step_count_steps = 100;
  // How long other workers wait for the chief.
  double max_wait_secs = 7200;

  // Weft's additions to TensorFlow's options:
  // Interval in seconds at which global_step/sec is logged, instead of
  // log_step_count_steps; 0: never.
  std::optional<double> log_step_count_secs;
  // Size in bytes at which an event file is rotated. 0: never.
  uint64_t max_event_file_bytes = kMaxEventFileBytes;
  bool save_asynchronously = false;  // see checkpoint_saver_hook.h
  RecoveryOptions recovery;
  // Returns true to end training as if a hook had requested it. Called on any
  // thread, also concurrently; must return at once. For example, a program that
  // saves and exits on SIGTERM:
  //   StopSignals signals;  // first statement of main
  //   ... .stop_requested = [&] { return signals.HasCome(); }
  std::function<bool()> stop_requested;
  // These options are described in MonitoredSessionOptions and
  // SessionCreatorOptions.
  SessionFactory session_factory = Session::Connect;
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  Logger* logger = nullptr;
};

// Creates a session for the graph of `scope`, which must be complete except for
// nodes that hooks add in Begin. INVALID_ARGUMENT if a time is NaN or negative.
// As in TensorFlow, the save_* options may be negative, and then nothing is
// saved.
absl::StatusOr<std::unique_ptr<MonitoredSession>> MonitoredTrainingSession(
    const Scope& scope, MonitoredTrainingSessionOptions options);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_MONITORED_TRAINING_SESSION_H_
