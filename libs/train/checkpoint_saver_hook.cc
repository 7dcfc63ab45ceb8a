#include "libs/train/checkpoint_saver_hook.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/graph_def.h"
#include "libs/train/global_step.h"
#include "libs/train/meta_graph.h"

namespace weft::train {
namespace {

std::string PathIn(const std::string& directory, absl::string_view name) {
  return absl::StrCat(directory, absl::EndsWith(directory, "/") ? "" : "/",
                      name);
}

}  // namespace

absl::Status CheckpointSaverListener::Begin() { return absl::OkStatus(); }

absl::Status CheckpointSaverListener::BeforeSave(Session&, int64_t) {
  return absl::OkStatus();
}

absl::StatusOr<bool> CheckpointSaverListener::AfterSave(Session&, int64_t) {
  return false;
}

absl::Status CheckpointSaverListener::End(Session&, int64_t) {
  return absl::OkStatus();
}

struct CheckpointSaverHook::Running {
  std::unique_ptr<Event> done;
  absl::Status status;  // once done is set
};

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverOptions options)
    : options_(std::move(options)),
      save_path_(PathIn(options_.checkpoint_dir, options_.checkpoint_basename)),
      timer_(options_.save_secs, options_.save_steps, options_.clock),
      logger_(options_.logger) {}

absl::Status CheckpointSaverHook::Begin(const Scope& scope) {
  if (options_.checkpoint_dir.empty()) {
    return absl::InvalidArgumentError(
        "A CheckpointSaverHook needs a checkpoint_dir.");
  }
  if ((options_.saver == nullptr) == (options_.scaffold == nullptr)) {
    return absl::InvalidArgumentError(
        "Exactly one of saver and scaffold must be provided.");
  }
  RETURN_IF_ERROR(timer_.Check());
  scope_ = scope;
  RETURN_IF_ERROR(global_step_.Find(scope, "CheckpointSaverHook"));
  for (const auto& listener : options_.listeners) {
    RETURN_IF_ERROR(listener->Begin());
  }
  return absl::OkStatus();
}

// One that was restored from what this hook has saved is there already.
absl::Status CheckpointSaverHook::AfterCreateSession(Session& session,
                                                     Coordinator& coordinator) {
  coordinator_ = &coordinator;
  if (options_.writer != nullptr) {
    RETURN_IF_ERROR(options_.writer->Open(session));
  }
  RETURN_IF_ERROR(WriteGraph(session));
  running_ = nullptr;  // that of a session before has ended with it
  ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(session));
  const bool is_saved = saved_step_.load() == step;
  timer_.UpdateLastTriggeredStep(step);
  return is_saved ? absl::OkStatus() : Save(session, step);
}

absl::Status CheckpointSaverHook::WriteGraph(Session& session) {
  FileSystem* const files =
      session.file_system() != nullptr ? session.file_system() : &local_files_;
  RETURN_IF_ERROR(files->CreateDirectories(options_.checkpoint_dir));
  RETURN_IF_ERROR(
      files->WriteFileAtomically(PathIn(options_.checkpoint_dir, "graph.pbtxt"),
                                 ExportGraphDefText(scope_->graph())));
  if (options_.writer == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Saver* const saver, FindSaver());
  ASSIGN_OR_RETURN(const MetaGraph meta_graph,
                   ExportMetaGraph(*scope_, {.saver_def = saver->def()}));
  options_.writer->AddGraphOnce(ExportGraphDef(scope_->graph()),
                                meta_graph.Serialize());
  return absl::OkStatus();
}

absl::StatusOr<SessionRunArgs> CheckpointSaverHook::BeforeRun(
    SessionRunContext&) {
  return SessionRunArgs{.fetches = {global_step_.output()}};
}

absl::Status CheckpointSaverHook::AfterRun(SessionRunContext& context,
                                           const SessionRunValues& values) {
  if (stop_requested_.load()) context.RequestStop();
  const int64_t stale = GlobalStepValue(values.results[0]);
  const bool is_saving = running_ != nullptr && !running_->done->IsSet();
  if (is_saving || !timer_.ShouldTriggerForStep(stale + 1)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(context.session()));
  if (!timer_.ShouldTriggerForStep(step)) return absl::OkStatus();
  timer_.UpdateLastTriggeredStep(step);
  if (options_.save_asynchronously) {
    SaveBesideSteps(context.session(), step);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Save(context.session(), step));
  if (stop_requested_.load()) context.RequestStop();
  return absl::OkStatus();
}

// The coordinator's threads end before the session and this hook do.
void CheckpointSaverHook::SaveBesideSteps(Session& session, int64_t step) {
  auto running = std::make_shared<Running>();
  running->done = session.scheduler().NewEvent();
  running_ = running;
  coordinator_->Start(absl::StrCat("save of step ", step),
                      [this, running, &session, step] {
                        const absl::Status status = Save(session, step);
                        running->status = status;
                        running->done->Set();
                        return status;
                      });
}

// Its error is told once: whoever asks again saves again.
absl::Status CheckpointSaverHook::WaitForSave() {
  if (running_ == nullptr) return absl::OkStatus();
  const std::shared_ptr<Running> ended = std::exchange(running_, nullptr);
  ended->done->Wait();
  return ended->status;
}

absl::Status CheckpointSaverHook::End(Session& session) {
  RETURN_IF_ERROR(WaitForSave());
  ASSIGN_OR_RETURN(const int64_t last_step, global_step_.Read(session));
  if (saved_step_.load() != last_step) {
    RETURN_IF_ERROR(Save(session, last_step));
  }
  for (const auto& listener : options_.listeners) {
    RETURN_IF_ERROR(listener->End(session, last_step));
  }
  return absl::OkStatus();
}

void CheckpointSaverHook::BeforeSessionGoes() {
  if (options_.writer != nullptr) options_.writer->Close();
}

absl::StatusOr<Saver*> CheckpointSaverHook::FindSaver() const {
  Saver* const saver = options_.saver != nullptr
                           ? options_.saver.get()
                           : options_.scaffold->saver().get();
  if (saver != nullptr) return saver;
  return absl::FailedPreconditionError(
      "There is nothing to save: the graph has no variables.");
}

absl::Status CheckpointSaverHook::Save(Session& session, int64_t step) {
  ASSIGN_OR_RETURN(Saver* const saver, FindSaver());
  for (const auto& listener : options_.listeners) {
    RETURN_IF_ERROR(listener->BeforeSave(session, step));
  }
  logger_->Info(
      absl::StrCat("Saving checkpoints for ", step, " into ", save_path_, "."));
  RETURN_IF_ERROR(
      saver->Save(session, save_path_, {.global_step = step}).status());
  saved_step_.store(step);
  if (options_.writer != nullptr) {
    options_.writer->AddSessionLog(
        {.status = summary::SessionLog::Status::kCheckpoint,
         .checkpoint_path = save_path_},
        step);
  }
  for (const auto& listener : options_.listeners) {
    ASSIGN_OR_RETURN(const bool stop, listener->AfterSave(session, step));
    if (!stop) continue;
    logger_->Info(
        "A CheckpointSaverListener requested that training be stopped.");
    stop_requested_.store(true);
  }
  return absl::OkStatus();
}

}  // namespace weft::train
