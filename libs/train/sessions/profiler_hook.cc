#include "libs/train/sessions/profiler_hook.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/trace/chrome_trace.h"
#include "libs/train/optimizers/global_step.h"

namespace weft::train {
namespace {

// Timeout for a hung directory.
constexpr absl::Duration kMaxWait = absl::Seconds(30);

}  // namespace

ProfilerHook::ProfilerHook(ProfilerOptions options)
    : output_dir_(options.output_dir),
      logger_(options.logger),
      given_writer_(options.writer),
      timer_(options.save_secs, options.save_steps, options.clock) {}

void ProfilerHook::ShareWriter(
    const HookList& hooks,
    const std::shared_ptr<SessionSummaryWriter>& writer) {
  for (const auto& hook : hooks) {
    auto* const profiler = dynamic_cast<ProfilerHook*>(hook.get());
    if (profiler != nullptr && profiler->given_writer_ == nullptr &&
        CleanPath(profiler->output_dir_) == CleanPath(writer->logdir())) {
      profiler->shared_writer_ = writer;
    }
  }
}

absl::Status ProfilerHook::Begin(const Scope& scope) {
  if (output_dir_.empty()) {
    return absl::InvalidArgumentError(
        "A ProfilerHook needs an output_dir for its timelines.");
  }
  RETURN_IF_ERROR(timer_.Check());
  writer_ = std::exchange(shared_writer_, nullptr);
  if (given_writer_ != nullptr) writer_ = given_writer_;
  if (writer_ == nullptr) {
    // Another program may write into the same directory.
    writer_ = std::make_shared<SessionSummaryWriter>(
        output_dir_, &*logger_, /*filename_suffix=*/".profiler");
  }
  return global_step_.Find(scope, "ProfilerHook");
}

absl::Status ProfilerHook::AfterCreateSession(Session& session,
                                              Coordinator& coordinator) {
  coordinator_ = &coordinator;
  next_step_.reset();
  timer_.Reset();
  return writer_->Open(session, coordinator);
}

absl::StatusOr<SessionRunArgs> ProfilerHook::BeforeRun(SessionRunContext&) {
  is_due_ = next_step_.has_value() && timer_.ShouldTriggerForStep(*next_step_);
  SessionRunArgs args{.fetches = {global_step_.output()}};
  if (is_due_) args.options.trace_level = TraceLevel::kFullTrace;
  return args;
}

absl::Status ProfilerHook::AfterRun(SessionRunContext& context,
                                    const SessionRunValues& values) {
  const int64_t stale = GlobalStepValue(values.results[0]);
  // Delays the first trace by the given number of steps or seconds.
  if (!next_step_.has_value()) timer_.UpdateLastTriggeredStep(stale);
  int64_t step = stale + 1;
  if (is_due_) {
    ASSIGN_OR_RETURN(step, global_step_.Read(context.session()));
    timer_.UpdateLastTriggeredStep(step);
    Save(context.session(), step, values.run_metadata);
  }
  next_step_ = step + 1;
  return absl::OkStatus();
}

void ProfilerHook::Save(const Session& session, int64_t step,
                        const RunMetadata& metadata) {
  const std::string path =
      JoinPath(output_dir_, absl::StrCat("timeline-", step, ".json"));
  logger_->Info(
      absl::StrCat("Saving timeline for ", step, " into '", path, "'."));
  absl::Status saved = WriteTimeline(session, path, metadata.step_stats);
  const absl::StatusOr<std::string> bytes = Serialize(metadata);
  if (bytes.ok()) {
    writer_->AddRunMetadata(*bytes, absl::StrCat("step_", step), step);
  } else if (saved.ok()) {
    saved = bytes.status();
  }
  if (saved.ok()) return;
  logger_->Warning(absl::StrCat("The trace of step ", step,
                                " was not written: ", saved.ToString()));
}

struct ProfilerHook::Writing {
  absl::Status Write() {
    RETURN_IF_ERROR(files.CreateDirectories(directory));
    return files.WriteFileAtomically(path, text);
  }

  FileSystem& files;
  const std::string directory;
  const std::string path;
  const std::string text;
  const std::unique_ptr<Event> done;
  absl::Status status;  // once it is done
};

// The thread keeps the session, which provides the file system, and the hook
// alive.
absl::Status ProfilerHook::WriteTimeline(const Session& session,
                                         const std::string& path,
                                         const StepStats& stats) {
  if (writing_ != nullptr && !writing_->done->IsSet()) {
    return absl::UnavailableError(
        absl::StrCat(writing_->path, " is still being written: ", output_dir_,
                     " does not answer"));
  }
  FileSystem* const files = session.file_system();
  Scheduler& scheduler = session.scheduler();
  writing_.reset(new Writing{files != nullptr ? *files : local_files_,
                             output_dir_, path, ChromeTrace(stats),
                             scheduler.NewEvent(), absl::OkStatus()});
  coordinator_->Start(absl::StrCat("writing ", path), [writing = writing_] {
    writing->status = writing->Write();
    writing->done->Set();
    return absl::OkStatus();
  });
  if (!writing_->done->WaitUntil(scheduler.clock().Now() + kMaxWait)) {
    return absl::DeadlineExceededError(absl::StrCat(
        output_dir_, " has not answered for ", absl::FormatDuration(kMaxWait)));
  }
  return writing_->status;
}

absl::Status ProfilerHook::End(Session&) {
  writer_->Flush();
  return absl::OkStatus();
}

// Objects of the session's scheduler are destroyed with it, or kept by a thread
// that does not end.
void ProfilerHook::BeforeSessionDestroyed() {
  writing_ = nullptr;
  coordinator_ = nullptr;
  writer_->Close();
}

}  // namespace weft::train
