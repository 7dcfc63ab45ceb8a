// MonitoredTrainingSession: the MonitoredSession that a training wants, made of
// few words; TensorFlow's tf.train.MonitoredTrainingSession, with its names and
// defaults. See monitored_session.h.
//
// In a cluster the programs of a training know of each other (see
// other_workers_hook.h). A chief whose own input has ended stays in Close, and
// saves as before, until the others have ended or were lost. For a few seconds
// it looks whether others begin.
#ifndef WEFT_LIBS_TRAIN_MONITORED_TRAINING_SESSION_H_
#define WEFT_LIBS_TRAIN_MONITORED_TRAINING_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/monitored_session.h"
#include "libs/train/scaffold.h"
#include "libs/train/session_run_hook.h"
#include "libs/train/session_summary_writer.h"

namespace weft::train {

struct MonitoredTrainingSessionOptions {
  // "zmq://host:port", or "" for a session in this process.
  std::string master;
  // The chief initialises or restores, saves and logs; others wait for it.
  bool is_chief = true;
  // Where checkpoints go and come from; empty: there are none.
  std::string checkpoint_dir;
  std::shared_ptr<Scaffold> scaffold;  // null: one of its own
  HookList hooks;
  HookList chief_only_hooks;
  // A checkpoint each so many seconds, or steps; 0: none. Neither: 600 seconds.
  std::optional<double> save_checkpoint_secs;
  std::optional<int64_t> save_checkpoint_steps;
  // Summaries each so many seconds, or steps; 0: none. Neither: 100 steps.
  std::optional<double> save_summaries_secs;
  std::optional<int64_t> save_summaries_steps;
  SessionOptions config;
  double stop_grace_period_secs = 120;
  // Where event files go; empty: to checkpoint_dir. The graph and an event for
  // each checkpoint lie beside the checkpoints all the same.
  std::string summary_dir;
  // How often the chief that has a directory logs global_step/sec; 0: never.
  int64_t log_step_count_steps = 100;
  // How long others wait for the chief.
  double max_wait_secs = 7200;

  // Weft's additions to TensorFlow's options:
  // Logs global_step/sec each so many seconds instead of by
  // log_step_count_steps; 0: never.
  std::optional<double> log_step_count_secs;
  // A file of events that has grown to this is followed by another one. 0:
  // never.
  uint64_t max_event_file_bytes = kMaxEventFileBytes;
  bool save_asynchronously = false;  // see checkpoint_saver_hook.h
  RecoveryOptions recovery;
  // True: training is to end, as if a hook had asked for it. Asked on any
  // thread, on several at a time; returns at once. So a program saves and
  // leaves when it gets SIGTERM:
  //   StopSignals signals;  // first of all in main
  //   ... .stop_requested = [&] { return signals.HasCome(); }
  std::function<bool()> stop_requested;
  // As in MonitoredSessionOptions and SessionCreatorOptions.
  SessionFactory session_factory = Session::Connect;
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  Logger* logger = nullptr;
};

// For the scope's graph, which is complete but for what hooks add in Begin.
// INVALID_ARGUMENT: a time is not a number, or a time is negative. As in
// TensorFlow, the save_* options may be negative: then nothing is saved.
absl::StatusOr<std::unique_ptr<MonitoredSession>> MonitoredTrainingSession(
    const Scope& scope, MonitoredTrainingSessionOptions options);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_MONITORED_TRAINING_SESSION_H_
