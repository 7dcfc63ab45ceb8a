#include "libs/train/sessions/other_workers_hook.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/first_names.h"
#include "libs/base/status.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/sessions/session_manager.h"

namespace weft::train {
namespace {

using Member = TrainingMembers::Member;
using State = TrainingMembers::State;

constexpr char kTable[] = "training_members";
constexpr char kChief[] = "chief";
constexpr size_t kMostNames = 5;
// A silent worker's entry is removed after this multiple of lost_after, while
// the chief trains.
constexpr int kForgotten = 10;

// Two programs may have sessions of one server. There is one chief, which
// replaces the previous one.
std::string NameOf(const OtherWorkersOptions& options) {
  if (options.is_chief) return kChief;
  return TrainingMembers::UniqueName(options.target, options.random);
}

// Holds a weak pointer, because the program may use its own saver in a later
// training, too.
class SaveListener : public CheckpointSaverListener {
 public:
  explicit SaveListener(std::weak_ptr<OtherWorkersHook> hook)
      : hook_(std::move(hook)) {}
  absl::Status BeforeSave(Session& session, int64_t) override {
    const auto hook = hook_.lock();
    return hook == nullptr ? absl::OkStatus() : hook->BeforeSave(session);
  }
  absl::StatusOr<bool> AfterSave(Session&, int64_t) override {
    if (const auto hook = hook_.lock()) hook->AfterSave();
    return false;
  }

 private:
  const std::weak_ptr<OtherWorkersHook> hook_;
};

}  // namespace

OtherWorkersHook::OtherWorkersHook(OtherWorkersOptions options)
    : options_(std::move(options)),
      logger_(options_.logger),
      members_(kTable, NameOf(options_)) {}

absl::Status OtherWorkersHook::Begin(const Scope& scope) {
  const ops::Variable global_step = FindGlobalStep(scope);
  if (!global_step) return absl::OkStatus();
  is_used_ = true;
  return members_.AddNodes(scope, global_step.handle());
}

absl::Status OtherWorkersHook::AfterCreateSession(Session& session,
                                                  Coordinator& coordinator) {
  if (!is_used_) return absl::OkStatus();
  is_exit_requested_ = coordinator.is_exit_requested();
  members_.RestartSilence();
  const absl::Time now = session.scheduler().clock().Now();
  if (std::exchange(has_had_session_, true)) {
    rejoin_until_ = now + options_.lost_after;
  } else {
    others_begin_until_ =
        now + options_.delay_of_others + options_.wait_for_others;
  }
  const absl::Status said = members_.Report(session, State::kTraining);
  // Watch repeats a late write.
  if (!said.ok() && !absl::IsDeadlineExceeded(said)) return said;
  if (options_.is_chief) {
    const auto members = members_.Read(session);
    if (IsSessionLost(members.status())) return members.status();
    absl::MutexLock lock(&mutex_);
    failed_at_save_.reset();
    failed_before_.reset();
    if (members.ok()) {
      failed_before_ = FailedOf(*members);
      RemoveGone(session, *members, [](const Member& member) {
        return member.state == State::kFailed;
      });
    }
  }
  coordinator.Start("heartbeats", [this, &session, &coordinator] {
    Watch(session, coordinator);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

// Errors are ignored: runs fail for the same reasons, and return them.
void OtherWorkersHook::Watch(Session& session, Coordinator& coordinator) {
  while (!coordinator.WaitForStop(options_.beat)) {
    members_.Beat(session).IgnoreError();
    if (options_.is_chief) {
      CheckWorkers(session);
    } else {
      CheckChief(session, coordinator.clock().Now());
    }
  }
}

void OtherWorkersHook::CheckWorkers(Session& session) {
  const auto members = members_.Read(session);
  if (!members.ok()) return;
  // Entries of failed workers stay: the chief checks them when it ends.
  const absl::Duration forgotten = kForgotten * options_.lost_after;
  RemoveGone(session, *members, [&](const Member& member) {
    return member.state == State::kTraining ? member.silence >= forgotten
                                            : member.state != State::kFailed;
  });
}

// Names are never reused, so the table would grow with each start. Failed
// removals are retried at the next check.
void OtherWorkersHook::RemoveGone(
    Session& session, const std::vector<Member>& members,
    absl::FunctionRef<bool(const Member&)> is_gone) {
  std::vector<std::string> gone;
  for (const Member& member : members) {
    if (member.name != members_.name() && is_gone(member)) {
      gone.push_back(member.name);
    }
  }
  if (!gone.empty()) members_.Remove(session, gone).IgnoreError();
}

// There is no entry if the chief is a program without this hook.
void OtherWorkersHook::CheckChief(Session& session, absl::Time now) {
  const auto members = members_.Read(session);
  if (!members.ok()) return;
  for (const Member& member : *members) {
    if (member.name != kChief) continue;
    const bool is_lost = member.silence >= options_.lost_after;
    if (member.state == State::kTraining && !is_lost) {
      next_warning_ = absl::InfinitePast();
      return;
    }
    if (now < next_warning_) return;
    // A chief that has ended may have ended this training, too.
    const bool is_first = next_warning_ == absl::InfinitePast();
    next_warning_ = now + options_.log_every;
    if (is_first && member.state == State::kEnded) return;
    logger_->Warning(absl::StrCat(
        "This worker trains on, but nothing that it does is saved: the chief ",
        member.state == State::kEnded    ? "has ended"
        : member.state == State::kLeft   ? "was asked to leave"
        : member.state == State::kFailed ? "has failed"
                                         : "sends no heartbeat",
        ". Start the chief again, or stop this program."));
  }
}

std::set<std::string> OtherWorkersHook::FailedOf(
    const std::vector<Member>& members) const {
  std::set<std::string> failed;
  for (const Member& member : members) {
    if (member.name != members_.name() && member.state == State::kFailed) {
      failed.insert(member.name);
    }
  }
  return failed;
}

absl::Status OtherWorkersHook::CheckThatNoneFailed(
    const std::vector<Member>& members) {
  const std::set<std::string> failed = FailedOf(members);
  absl::MutexLock lock(&mutex_);
  if (!failed_before_) failed_before_ = failed;
  for (const std::string& name : failed) {
    if (failed_before_->contains(name)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "The worker of ", TrainingMembers::LabelOf(name),
        " has failed since the last checkpoint: a hook has refused its last "
        "step, whose values the variables may hold. So the chief saves no "
        "more. Look for the error in the log of that worker, then start the "
        "training again; it goes on from the last checkpoint."));
  }
  return absl::OkStatus();
}

std::vector<std::string> OtherWorkersHook::Training(
    const std::vector<Member>& members) {
  std::vector<std::string> others;
  for (const Member& member : members) {
    if (member.name == members_.name() || member.state != State::kTraining) {
      continue;
    }
    const std::string target = TrainingMembers::LabelOf(member.name);
    if (member.silence < options_.lost_after) {
      lost_.erase(member.name);
      others.push_back(target);
    } else if (lost_.insert(member.name).second) {
      logger_->Warning(absl::StrCat("The worker of ", target,
                                    " has sent no heartbeat for ",
                                    absl::FormatDuration(member.silence),
                                    ": it was lost, and is not waited for."));
    }
  }
  return others;
}

void OtherWorkersHook::LogWait(const std::vector<std::string>& others,
                               absl::Time now) {
  if (now < next_line_) return;
  next_line_ = now + options_.log_every;
  logger_->Info(absl::StrCat(
      "The input of the chief has ended. It stays, and saves as before, until "
      "the other workers have ended: ",
      FirstNames(others, kMostNames), "."));
}

absl::StatusOr<SessionRunHook::Others> OtherWorkersHook::PollOtherPrograms(
    Session& session) {
  if (!is_used_ || !options_.is_chief) return Others::kUnknown;
  const absl::Time now = session.scheduler().clock().Now();
  absl::Time wait_began;
  {
    absl::MutexLock lock(&mutex_);
    if (!wait_began_) wait_began_ = now;
    wait_began = *wait_began_;
  }
  // The writing thread may have ended, together with the queue runners.
  if (now >= next_beat_) {
    next_beat_ = now + options_.beat;
    members_.Beat(session).IgnoreError();
  }
  const auto members = members_.Read(session);
  if (IsSessionLost(members.status())) return members.status();
  if (!members.ok()) return Others::kTrainOn;  // the read was too late
  RETURN_IF_ERROR(CheckThatNoneFailed(*members));
  const std::vector<std::string> others = Training(*members);
  RemoveGone(session, *members, [this](const Member& member) {
    return member.state != State::kTraining ||
           member.silence >= options_.lost_after;
  });
  if (others.empty()) {
    const bool may_others_come =
        now < std::max({wait_began + options_.wait_for_others,
                        others_begin_until_, rejoin_until_});
    return may_others_come ? Others::kTrainOn : Others::kUnknown;
  }
  LogWait(others, now);
  return Others::kTrainOn;
}

// A chief that does not get this considers the program lost.
void OtherWorkersHook::OnLastStepRejected(Session& session) {
  if (!is_used_) return;
  has_failed_ = true;
  members_.Report(session, State::kFailed).IgnoreError();
}

// If the table cannot be read, the save fails with the same error.
absl::Status OtherWorkersHook::CheckForFailures(Session& session) {
  const auto members = members_.Read(session);
  return members.ok() ? CheckThatNoneFailed(*members) : absl::OkStatus();
}

absl::Status OtherWorkersHook::End(Session& session) {
  if (!is_used_ || has_failed_) return absl::OkStatus();
  if (options_.is_chief) RETURN_IF_ERROR(CheckForFailures(session));
  const bool is_to_leave = is_exit_requested_ && is_exit_requested_();
  // Programs that do not get this will notice the missing heartbeat.
  members_.Report(session, is_to_leave ? State::kLeft : State::kEnded)
      .IgnoreError();
  return absl::OkStatus();
}

void OtherWorkersHook::BeforeSessionDestroyed() {
  is_exit_requested_ = nullptr;
}

// During its own training the chief saves regardless of steps that hooks of
// other workers have rejected. If the table cannot be read, the save reports
// the cause.
absl::Status OtherWorkersHook::BeforeSave(Session& session) {
  if (!is_used_) return absl::OkStatus();
  const auto members = members_.Read(session);
  {
    absl::MutexLock lock(&mutex_);
    failed_at_save_.reset();
    if (members.ok()) failed_at_save_ = FailedOf(*members);
    if (!wait_began_ || !members.ok()) return absl::OkStatus();
  }
  return CheckThatNoneFailed(*members);
}

void OtherWorkersHook::AfterSave() {
  absl::MutexLock lock(&mutex_);
  if (failed_at_save_) failed_before_ = std::exchange(failed_at_save_, {});
}

void AddOtherWorkersHook(OtherWorkersOptions options, HookList& hooks) {
  const bool is_chief = options.is_chief;
  const auto hook = std::make_shared<OtherWorkersHook>(std::move(options));
  for (const auto& other : hooks) {
    auto* const saver = dynamic_cast<CheckpointSaverHook*>(other.get());
    if (is_chief && saver != nullptr) {
      saver->AddListener(std::make_shared<SaveListener>(hook));
    }
  }
  hooks.insert(hooks.begin(), hook);
}

}  // namespace weft::train
