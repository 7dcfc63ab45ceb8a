#include "libs/train/sessions/checkpoint_saver_hook.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/graph/import/graph_def.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/saving/meta_graph.h"
#include "libs/train/sessions/session_manager.h"

namespace weft::train {
namespace {

// First wait before a failed save is retried.
constexpr absl::Duration kFirstWait = absl::Seconds(1);
constexpr absl::Duration kLongestWait = absl::Minutes(1);
// Maximum number of attempts of the last save. They take about two minutes,
// plus the time of the attempts.
constexpr int kLastTries = 20;
constexpr absl::Duration kLongestLastWait = absl::Seconds(8);
// Time limit for retries of the last save after the program was asked to stop,
// because the program may be killed soon after.
constexpr absl::Duration kLongestLeaving = absl::Seconds(1);
// After this many attempts, ABORTED is not a transient disagreement of tasks: a
// task that holds variables has restarted, and the session is lost.
constexpr int kTriesOfAborted = 6;
// Log interval for an asynchronous save that has not ended.
constexpr absl::Duration kBetweenLines = absl::Minutes(10);
// Interval of checks and log lines while training waits for a save.
constexpr absl::Duration kBetweenLooks = absl::Minutes(1);
// Number of attempts of the first save while tasks are late.
constexpr int kFirstTries = 4;

// Waits before a failed first or last save is tried again, and doubles `wait`.
void WaitToTryAgain(Session& session, absl::Duration& wait) {
  Scheduler& scheduler = session.scheduler();
  scheduler.NewEvent()->WaitUntil(scheduler.clock().Now() + wait);
  wait = std::min(2 * wait, kLongestLastWait);
}

// Returns the error code that ends training after repeatedly failed saves. It
// must not be mistaken for a lost session.
absl::StatusCode CodeOfTraining(const absl::Status& saved) {
  return IsSessionLost(saved) ? absl::StatusCode::kDeadlineExceeded
                              : saved.code();
}

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
  int64_t step = 0;
  absl::Time began;
  absl::Time next_line;  // when to log the save, if still running
  std::unique_ptr<Event> done;
  // The result and the saved step; valid only once `done` is set.
  Outcome outcome;
  int64_t saved_step = 0;
};

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverOptions options)
    : options_(std::move(options)),
      listeners_(options_.listeners),
      updating_hooks_(options_.updating_hooks),
      save_path_(PathIn(options_.checkpoint_dir, options_.checkpoint_basename)),
      clock_(options_.clock != nullptr ? *options_.clock : own_clock_),
      timer_(options_.save_secs, options_.save_steps, &clock_),
      logger_(options_.logger) {}

void CheckpointSaverHook::AddListener(
    std::shared_ptr<CheckpointSaverListener> listener) {
  if (absl::c_linear_search(listeners_, listener)) return;
  listeners_.push_back(std::move(listener));
}

// Other saver hooks are left out: they make no updates, and two savers that
// waited for each other would deadlock.
void CheckpointSaverHook::SetUpdatingHooks(const HookList& hooks) {
  if (!updating_hooks_.empty()) return;
  absl::c_copy_if(
      hooks, std::back_inserter(updating_hooks_), [](const auto& hook) {
        return dynamic_cast<CheckpointSaverHook*>(hook.get()) == nullptr;
      });
}

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
  for (const auto& listener : listeners_) {
    RETURN_IF_ERROR(listener->Begin());
  }
  return absl::OkStatus();
}

// If the session was restored from this hook's own checkpoint, no new save is
// needed.
absl::Status CheckpointSaverHook::AfterCreateSession(Session& session,
                                                     Coordinator& coordinator) {
  coordinator_ = &coordinator;
  is_exit_requested_ = coordinator.is_exit_requested();
  if (options_.writer != nullptr) {
    RETURN_IF_ERROR(options_.writer->Open(session, coordinator));
  }
  const absl::Status has_graph = WriteGraph(session);
  ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(session));
  const bool is_saved = saved_step_.load() == step;
  // Time without a session does not count, because nothing could be saved.
  if (failing_.has_value() && session_went_.has_value()) {
    failing_->since += clock_.Now() - *session_went_;
  }
  session_went_.reset();
  timer_.UpdateLastTriggeredStep(step);
  if (has_begun_) {
    if (!has_graph.ok()) {
      logger_->Warning(absl::StrCat("The graph could not be written: ",
                                    has_graph.ToString()));
    }
    return is_saved ? absl::OkStatus()
                    : HandleOutcome(Save(session, step), step);
  }
  // An error in the first session's save is a mistake in the program, so it is
  // returned.
  RETURN_IF_ERROR(has_graph);
  const Outcome outcome = SaveFirst(session, step);
  has_begun_ = outcome.saved.ok();
  return outcome.saved.ok() ? outcome.listeners : outcome.saved;
}

// Saves the first checkpoint. It is tried again if tasks are too late to agree
// on one step, because that error may be transient or permanent.
CheckpointSaverHook::Outcome CheckpointSaverHook::SaveFirst(Session& session,
                                                            int64_t step) {
  absl::Duration wait = kFirstWait;
  for (int tries = 1;; ++tries) {
    Outcome outcome = Save(session, step);
    if (!absl::IsDeadlineExceeded(outcome.saved) || outcome.hangs ||
        tries == kFirstTries) {
      return outcome;
    }
    logger_->Warning(absl::StrCat(
        "The first checkpoint, of step ", step, ", could not be saved into ",
        save_path_, ", and is tried again: ", outcome.saved.ToString()));
    WaitToTryAgain(session, wait);
    // Other workers may train meanwhile, so the step is read again.
    const auto now = global_step_.Read(session);
    if (now.ok()) step = *now;
  }
}

absl::Status CheckpointSaverHook::WriteGraph(Session& session) {
  if (!options_.write_graph) return absl::OkStatus();
  FileSystem* const files =
      session.file_system() != nullptr ? session.file_system() : &local_files_;
  // Writes the graph. Its text may exceed the available memory, so exceptions
  // are caught.
  return CatchExceptions([&] { return WriteGraphTo(*files); });
}

absl::Status CheckpointSaverHook::WriteGraphTo(FileSystem& files) {
  RETURN_IF_ERROR(files.CreateDirectories(options_.checkpoint_dir));
  RETURN_IF_ERROR(
      files.WriteFileAtomically(PathIn(options_.checkpoint_dir, "graph.pbtxt"),
                                ExportGraphDefText(scope_->graph())));
  if (options_.writer == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Saver* const saver, FindSaver());
  ASSIGN_OR_RETURN(const MetaGraph meta_graph,
                   ExportMetaGraph(*scope_, {.saver_def = saver->def()}));
  ASSIGN_OR_RETURN(const std::string graph_def,
                   ExportGraphDef(scope_->graph()));
  options_.writer->AddGraphOnce(graph_def, meta_graph.Serialize());
  return absl::OkStatus();
}

absl::StatusOr<SessionRunArgs> CheckpointSaverHook::BeforeRun(
    SessionRunContext&) {
  return SessionRunArgs{.fetches = {global_step_.output()}};
}

absl::Status CheckpointSaverHook::AfterRun(SessionRunContext& context,
                                           const SessionRunValues& values) {
  if (stop_requested_.load()) context.RequestStop();
  if (running_ != nullptr) {
    if (!running_->done->IsSet()) {
      const absl::Time since = failing_.has_value()
                                   ? std::min(failing_->since, running_->began)
                                   : running_->began;
      return HandleLongSave(*running_, since, kBetweenLines);
    }
    const auto ended = std::exchange(running_, nullptr);
    RETURN_IF_ERROR(HandleOutcome(ended->outcome, ended->step));
  }
  const int64_t stale = GlobalStepValue(values.results[0]);
  seen_step_ = stale + 1;
  if (!IsDue(stale + 1)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(context.session()));
  seen_step_ = step;
  if (!IsDue(step)) return absl::OkStatus();
  timer_.UpdateLastTriggeredStep(step);
  if (options_.save_asynchronously) {
    SaveDuringSteps(context.session(), step);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(HandleOutcome(Save(context.session(), step), step));
  if (stop_requested_.load()) context.RequestStop();
  return absl::OkStatus();
}

absl::StatusOr<SessionRunHook::Others> CheckpointSaverHook::PollOtherPrograms(
    Session& session) {
  RETURN_IF_ERROR(WaitForSave());
  const auto step = global_step_.Read(session);
  // A parameter server may be stalled for a while. Then the next call reads the
  // step again.
  if (absl::IsDeadlineExceeded(step.status())) {
    return stop_requested_.load() ? Others::kAreDone : Others::kUnknown;
  }
  RETURN_IF_ERROR(step.status());
  seen_step_ = *step;
  if (IsDue(*step) && *step != saved_step_.load()) {
    timer_.UpdateLastTriggeredStep(*step);
    RETURN_IF_ERROR(HandleOutcome(Save(session, *step), *step));
  }
  return stop_requested_.load() ? Others::kAreDone : Others::kUnknown;
}

bool CheckpointSaverHook::IsDue(int64_t step) const {
  return failing_.has_value() ? clock_.Now() >= failing_->next_try
                              : timer_.ShouldTriggerForStep(step);
}

// Handles the result of a save. UNAVAILABLE and ABORTED do not imply a lost
// session: they may come from the file system, or from tasks that could not
// agree on a step. If the session is lost, the next run reports it.
absl::Status CheckpointSaverHook::HandleOutcome(const Outcome& outcome,
                                                int64_t step) {
  if (outcome.saved.ok()) {
    failing_.reset();
    return outcome.listeners;
  }
  if (outcome.hangs) return outcome.saved;
  const absl::Time now = clock_.Now();
  if (!failing_.has_value()) failing_ = Failing{now, now, kFirstWait};
  const std::string what =
      absl::StrCat("The checkpoint of step ", step, " could not be saved into ",
                   save_path_, ": ", outcome.saved.ToString());
  if (now - failing_->since >= options_.max_failing) {
    return absl::Status(CodeOfTraining(outcome.saved),
                        absl::StrCat("No checkpoint could be saved for ",
                                     absl::FormatDuration(options_.max_failing),
                                     ", so training ends. ", what));
  }
  logger_->Warning(
      absl::StrCat(what, ". Training continues, and the save is retried."));
  failing_->next_try = now + failing_->wait;
  failing_->wait = std::min(2 * failing_->wait, kLongestWait);
  return absl::OkStatus();
}

// Ends training if a save takes too long, because a save to a hung file system
// may never return an error.
absl::Status CheckpointSaverHook::HandleLongSave(Running& running,
                                                 absl::Time since,
                                                 absl::Duration between_lines) {
  const absl::Time now = clock_.Now();
  const bool ends_training = now - since >= options_.max_failing;
  if (!ends_training && now < running.next_line) return absl::OkStatus();
  running.next_line = now + between_lines;
  const std::string what = absl::StrCat(
      "The checkpoint of step ", running.step, ", which is saved into ",
      save_path_, ", has not ended after ",
      absl::FormatDuration(absl::Trunc(now - running.began, absl::Seconds(1))));
  if (ends_training) {
    return absl::DeadlineExceededError(absl::StrCat(
        what, ", and none could be saved for ",
        absl::FormatDuration(options_.max_failing),
        ", so training ends. Look whether the files of the tasks that hold "
        "variables hang; if saves may take so long, give "
        "CheckpointSaverOptions a longer max_failing."));
  }
  logger_->Warning(absl::StrCat(what, "."));
  return absl::OkStatus();
}

// Waits for the save, even if earlier saves have failed for long, because this
// save may succeed.
absl::Status CheckpointSaverHook::WaitFor(Running& running) {
  running.next_line = std::min(running.next_line, clock_.Now() + kBetweenLooks);
  const Clock& clock = coordinator_->clock();
  while (!running.done->WaitUntil(clock.Now() + kBetweenLooks)) {
    const absl::Status status =
        HandleLongSave(running, running.began, kBetweenLooks);
    if (!status.ok() && !running.done->IsSet()) return status;
  }
  return absl::OkStatus();
}

std::shared_ptr<CheckpointSaverHook::Running> CheckpointSaverHook::NewRunning(
    int64_t step) const {
  auto running = std::make_shared<Running>();
  running->step = step;
  running->began = clock_.Now();
  running->next_line = running->began + kBetweenLines;
  running->done = coordinator_->NewEvent();
  return running;
}

// Starts a save on a thread of the coordinator. These threads end before the
// session and this hook do.
void CheckpointSaverHook::SaveDuringSteps(Session& session, int64_t step) {
  running_ = NewRunning(step);
  coordinator_->Start(
      absl::StrCat("save of step ", step),
      [this, running = running_, &session, step] {
        running->outcome = SaveAndNotify(session, step, [&](int64_t& saved) {
          return Outcome{.saved = SaveFiles(session, saved,
                                            /*is_between_updates=*/false)};
        });
        running->done->Set();
        return absl::OkStatus();
      });
}

// Saves on a thread and waits. If the save hangs, its thread continues, like
// the thread of an asynchronous save.
CheckpointSaverHook::Outcome CheckpointSaverHook::SaveFilesAndWait(
    Session& session, int64_t& step) {
  const auto running = NewRunning(step);
  coordinator_->Start(
      absl::StrCat("save of step ", step), [this, running, &session] {
        running->saved_step = running->step;
        running->outcome.saved =
            SaveFilesBetweenUpdates(session, running->saved_step);
        running->done->Set();
        return absl::OkStatus();
      });
  absl::Status ended = WaitFor(*running);
  if (!ended.ok()) return {.saved = std::move(ended), .hangs = true};
  step = running->saved_step;
  return running->outcome;
}

// Waits for the running save. Each error is returned once; a later call saves
// again.
absl::Status CheckpointSaverHook::WaitForSave() {
  if (running_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(WaitFor(*running_));
  return std::exchange(running_, nullptr)->outcome.listeners;
}

absl::Status CheckpointSaverHook::End(Session& session) {
  RETURN_IF_ERROR(WaitForSave());
  const auto last_step = SaveLast(session);
  if (!last_step.ok()) {
    const std::string lost = DescribeLost();
    return lost.empty() ? last_step.status() : Append(last_step.status(), lost);
  }
  for (const auto& listener : listeners_) {
    RETURN_IF_ERROR(listener->End(session, *last_step));
  }
  return absl::OkStatus();
}

bool CheckpointSaverHook::TriesAgain(int tries, absl::Time since,
                                     absl::Time now) const {
  if (tries >= kLastTries) return false;
  return !IsExitRequested() || now - since < kLongestLeaving;
}

std::string CheckpointSaverHook::DescribeLost() const {
  const int64_t saved = saved_step_.load();
  if (seen_step_ <= saved) return "";
  return absl::StrCat(
      "Steps ", saved + 1, " to about ", seen_step_,
      " are lost: a restart continues from the checkpoint of step ", saved,
      ".");
}

// Saves the last step. A lost session is noticed when the step is read. If the
// lost task is not the one that holds the step, it is noticed by ABORTED saves.
absl::StatusOr<int64_t> CheckpointSaverHook::SaveLast(Session& session) {
  absl::Duration wait = kFirstWait;
  const Clock& clock = session.scheduler().clock();
  const absl::Time begin = clock.Now();
  for (int tries = 1;; ++tries) {
    ASSIGN_OR_RETURN(const int64_t step, global_step_.Read(session));
    seen_step_ = step;
    if (saved_step_.load() == step) return step;
    const Outcome outcome = Save(session, step);
    RETURN_IF_ERROR(outcome.listeners);
    if (outcome.saved.ok()) return saved_step_.load();
    if (outcome.hangs) return outcome.saved;
    const std::string what = absl::StrCat(
        "The last checkpoint, of step ", step, ", could not be saved into ",
        save_path_, ", tried ", tries, " times: ");
    if (tries >= kTriesOfAborted && absl::IsAborted(outcome.saved)) {
      return absl::AbortedError(absl::StrCat(what, outcome.saved.message()));
    }
    if (!TriesAgain(tries, begin, clock.Now())) {
      return absl::Status(CodeOfTraining(outcome.saved),
                          absl::StrCat(what, outcome.saved.ToString()));
    }
    logger_->Warning(absl::StrCat(what, outcome.saved.ToString()));
    WaitToTryAgain(session, wait);
  }
}

void CheckpointSaverHook::BeforeSessionDestroyed() {
  // The time since a session that could not begin does not count.
  if (!session_went_.has_value()) session_went_ = clock_.Now();
  running_ = nullptr;  // the save has ended, or its thread keeps it
  const std::string lost = IsExitRequested() ? DescribeLost() : "";
  if (!lost.empty()) logger_->Error(lost);
  is_exit_requested_ = nullptr;
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

CheckpointSaverHook::Outcome CheckpointSaverHook::Save(Session& session,
                                                       int64_t step) {
  return SaveAndNotify(session, step, [&](int64_t& saved) {
    return SaveFilesAndWait(session, saved);
  });
}

CheckpointSaverHook::Outcome CheckpointSaverHook::SaveAndNotify(
    Session& session, int64_t step,
    absl::FunctionRef<Outcome(int64_t& step)> save_files) {
  Outcome outcome;
  for (const auto& listener : listeners_) {
    outcome.listeners = listener->BeforeSave(session, step);
    if (!outcome.listeners.ok()) return outcome;
  }
  outcome = save_files(step);
  if (outcome.saved.ok()) outcome.listeners = NotifySaved(session, step);
  return outcome;
}

absl::Status CheckpointSaverHook::SaveFilesBetweenUpdates(Session& session,
                                                          int64_t& step) {
  if (updating_hooks_.empty()) {
    return SaveFiles(session, step, /*is_between_updates=*/false);
  }
  return BetweenUpdates(0, [&]() -> absl::Status {
    // The step may have advanced since it was last read.
    ASSIGN_OR_RETURN(step, global_step_.Read(session));
    return SaveFiles(session, step, /*is_between_updates=*/true);
  });
}

absl::Status CheckpointSaverHook::BetweenUpdates(
    size_t next, absl::FunctionRef<absl::Status()> save) {
  if (next == updating_hooks_.size()) return save();
  return updating_hooks_[next]->SaveBetweenUpdates(
      [&] { return BetweenUpdates(next + 1, save); });
}

absl::Status CheckpointSaverHook::SaveFiles(Session& session, int64_t step,
                                            bool is_between_updates) {
  ASSIGN_OR_RETURN(Saver* const saver, FindSaver());
  logger_->Info(
      absl::StrCat("Saving checkpoints for ", step, " into ", save_path_, "."));
  SaveOptions save;
  save.global_step = step;
  save.latest_filename = options_.latest_filename;
  save.write_meta_graph = options_.write_graph;
  if (!is_between_updates) {
    save.when_to_mark = [this](absl::FunctionRef<absl::Status()> mark) {
      return BetweenUpdates(0, mark);
    };
  }
  RETURN_IF_ERROR(saver->Save(session, save_path_, save).status());
  saved_step_.store(step);
  if (options_.writer != nullptr) {
    options_.writer->AddSessionLog(
        {.status = summary::SessionLog::Status::kCheckpoint,
         .checkpoint_path = save_path_},
        step);
  }
  return absl::OkStatus();
}

absl::Status CheckpointSaverHook::NotifySaved(Session& session, int64_t step) {
  for (const auto& listener : listeners_) {
    ASSIGN_OR_RETURN(const bool stop, listener->AfterSave(session, step));
    if (!stop) continue;
    logger_->Info(
        "A CheckpointSaverListener requested that training be stopped.");
    stop_requested_.store(true);
  }
  return absl::OkStatus();
}

}  // namespace weft::train
