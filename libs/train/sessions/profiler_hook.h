// ProfilerHook traces runs periodically during training; TensorFlow's hook of
// the same name. For each run it writes timeline-<step>.json, which
// chrome://tracing and ui.perfetto.dev show, and the RunMetadata under the tag
// step_<step> into an event file, for TensorBoard and `weft trace`.
//
// The first run is not traced because it is not representative. A trace that
// cannot be written is lost and logged; training continues. In each session the
// hook waits once, for 30 s, for a hung file system. The write occupies a
// thread of the session's coordinator until it returns, and timelines are lost
// meanwhile.
//
// Threads: as SessionRunHook's.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_PROFILER_HOOK_H_
#define WEFT_LIBS_TRAIN_SESSIONS_PROFILER_HOOK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/fs/local_file_system.h"
#include "libs/trace/step_stats.h"
#include "libs/train/sessions/basic_session_run_hooks.h"
#include "libs/train/sessions/defaults.h"
#include "libs/train/sessions/second_or_step_timer.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sessions/session_summary_writer.h"

namespace weft::train {

struct ProfilerOptions {
  // Exactly one of the two.
  std::optional<int64_t> save_steps;
  std::optional<absl::Duration> save_secs;
  // Created if it does not exist.
  std::string output_dir;
  // Writes the RunMetadata. Null: the writer of the training's summaries if
  // they go into output_dir, too; otherwise a separate writer. TensorBoard
  // reads only the newer of two files of one directory.
  std::shared_ptr<SessionSummaryWriter> writer;
  const Clock* clock = nullptr;  // outlives it; null: the machine's
  Logger* logger = nullptr;      // outlives it; null: lines on stderr
};

class ProfilerHook : public SessionRunHook {
 public:
  explicit ProfilerHook(ProfilerOptions options);

  // Lets the ProfilerHooks in `hooks` without a writer use `writer` for the
  // training whose Begin comes next, if it writes into their directory.
  static void ShareWriter(const HookList& hooks,
                          const std::shared_ptr<SessionSummaryWriter>& writer);

  absl::Status Begin(const Scope& scope) override;
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  absl::Status End(Session& session) override;
  void BeforeSessionDestroyed() override;

 private:
  // A timeline that is being written.
  struct Writing;

  void Save(const Session& session, int64_t step, const RunMetadata& metadata);
  absl::Status WriteTimeline(const Session& session, const std::string& path,
                             const StepStats& stats);

  const std::string output_dir_;
  const DefaultLogger logger_;
  const std::shared_ptr<SessionSummaryWriter> given_writer_;  // may be null
  std::shared_ptr<SessionSummaryWriter> shared_writer_;  // null: none to share
  std::shared_ptr<SessionSummaryWriter> writer_;         // from Begin on
  SecondOrStepTimer timer_;
  GlobalStepReader global_step_;
  LocalFileSystem local_files_;
  Coordinator* coordinator_ = nullptr;  // the session's
  std::shared_ptr<Writing> writing_;    // the last one
  std::optional<int64_t> next_step_;    // none before the first run
  bool is_due_ = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_PROFILER_HOOK_H_
