#include "libs/train/sync_replicas_members.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler.h"
#include "libs/base/status.h"
#include "libs/train/session_manager.h"

namespace weft::train {
namespace {

// Three missed heartbeats.
constexpr absl::Duration kSilent = absl::Seconds(15);
// A replica that is silent this long is not expected to end by itself.
constexpr absl::Duration kLost = absl::Seconds(25);
constexpr int kNeededLooks = 2;
// How long replicas may take that are restarted with this one.
constexpr absl::Duration kStartTime = absl::Seconds(30);

void AddPart(const std::string& title, const std::vector<std::string>& names,
             std::string& text) {
  if (names.empty()) return;
  absl::StrAppend(&text, " ", title, ": ", absl::StrJoin(names, ", "), ".");
}

std::vector<std::string> LabelsOf(const std::set<std::string>& names) {
  std::vector<std::string> labels;
  for (const std::string& name : names) {
    labels.push_back(TrainingMembers::LabelOf(name));
  }
  return labels;
}

}  // namespace

absl::Status SyncReplicasMembers::AddNodes(const Scope& scope) {
  if (members_) return absl::OkStatus();
  members_.emplace("sync_replicas_members",
                   nodes_.may_share_name
                       ? TrainingMembers::UniqueName(nodes_.own_name, random_)
                       : nodes_.own_name);
  return members_->AddNodes(scope, nodes_.global_step.handle());
}

absl::Status SyncReplicasMembers::BeginSession(Session& session,
                                               int64_t training) {
  members_->RestartSilence();
  const auto members = members_->Read(session);
  if (IsSessionLost(members.status())) return members.status();
  {
    absl::MutexLock lock(&mutex_);
    training_ = training;
    began_ = session.scheduler().clock().Now();
    read_.clear();
    num_too_few_ = 0;
    ended_before_.clear();
    for (const Member& member : members.value_or(std::vector<Member>())) {
      if (member.state == State::kEnded && !ended_.contains(member.name)) {
        ended_before_.insert(member.name);
      }
    }
  }
  const absl::Status said = members_->Say(session, State::kTraining, training);
  // A late write is repeated.
  return absl::IsDeadlineExceeded(said) ? absl::OkStatus() : said;
}

int64_t SyncReplicasMembers::training() const {
  absl::MutexLock lock(&mutex_);
  return training_;
}

void SyncReplicasMembers::ReportLeft(Session& session) {
  members_->Say(session, State::kLeft, training()).IgnoreError();
}

absl::StatusOr<bool> SyncReplicasMembers::ReportEnded(Session& session) {
  RETURN_IF_ERROR(members_->Say(session, State::kEnded, training()));
  RETURN_IF_ERROR(Read(session));
  absl::MutexLock lock(&mutex_);
  ended_.insert(members_->name());
  return NumLeft() >= nodes_.min_replicas();
}

absl::Status SyncReplicasMembers::Read(Session& session) {
  ASSIGN_OR_RETURN(auto members, members_->Read(session));
  const absl::Time now = session.scheduler().clock().Now();
  absl::MutexLock lock(&mutex_);
  Note(std::move(members), now);
  return absl::OkStatus();
}

void SyncReplicasMembers::Note(std::vector<Member> members, absl::Time now) {
  if (now - began_ >= kStartTime) ended_before_.clear();
  std::erase_if(members, [this](const Member& member)
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                               return member.training != training_;
                             });
  for (const Member& member : members) {
    if (member.name == members_->name()) continue;  // it knows better
    if (member.state != State::kEnded) {
      ended_.erase(member.name);
      ended_before_.erase(member.name);
    } else if (!ended_before_.contains(member.name)) {
      ended_.insert(member.name);
    }
  }
  read_ = std::move(members);
}

// There may be more than the optimizer's options state.
int SyncReplicasMembers::NumReplicas() const {
  const auto num_known =
      std::count_if(read_.begin(), read_.end(), [](const Member& member) {
        return member.state == State::kEnded || member.silence < kLost;
      });
  return std::max(nodes_.total_num_replicas, static_cast<int>(num_known));
}

int SyncReplicasMembers::NumLeft() const {
  return NumReplicas() - static_cast<int>(ended_.size());
}

std::string SyncReplicasMembers::LogTooFew() {
  if (std::exchange(is_told_, true)) return "";
  return absl::StrCat("Replicas of SyncReplicasOptimizer have ended: ",
                      absl::StrJoin(LabelsOf(ended_), ", "),
                      ". An update needs gradients of ", nodes_.min_replicas(),
                      " replicas, and left are ", std::max(NumLeft(), 0),
                      " of ", NumReplicas(), ": training ends.");
}

absl::StatusOr<bool> SyncReplicasMembers::AreTooFew(Session& session) {
  RETURN_IF_ERROR(Read(session));
  std::string line;
  {
    absl::MutexLock lock(&mutex_);
    if (NumLeft() >= nodes_.min_replicas()) {
      num_too_few_ = 0;
      return false;
    }
    if (++num_too_few_ < kNeededLooks && !has_chief_ended_) return false;
    line = LogTooFew();
  }
  if (!line.empty()) logger_.Warning(line);
  return true;
}

absl::StatusOr<bool> SyncReplicasMembers::AreTooFewWithoutChief(
    Session& session) {
  {
    absl::MutexLock lock(&mutex_);
    has_chief_ended_ = true;
    ended_.insert(members_->name());
  }
  return AreTooFew(session);
}

bool SyncReplicasMembers::DoOthersTrain() const {
  absl::MutexLock lock(&mutex_);
  return std::any_of(read_.begin(), read_.end(), [this](const Member& member) {
    return member.name != members_->name() &&
           member.state == State::kTraining && member.silence < kLost;
  });
}

// For numbered replicas the numbers are known.
std::string SyncReplicasMembers::NotBegun() const {
  const int num_missing =
      nodes_.total_num_replicas - static_cast<int>(read_.size());
  if (num_missing <= 0) return "";
  std::vector<std::string> numbers;
  for (size_t i = 0; i < nodes_.tokens.size() && nodes_.tokens.size() > 1;
       ++i) {
    const std::string name = absl::StrCat("replica ", i);
    const bool has_begun =
        std::any_of(read_.begin(), read_.end(), [&](const Member& member) {
          return member.name == name ||
                 absl::StartsWith(member.name, absl::StrCat(name, " ("));
        });
    if (!has_begun) numbers.push_back(name);
  }
  return absl::StrCat(" Not begun: ",
                      numbers.empty() ? absl::StrCat(num_missing, " of ",
                                                     nodes_.total_num_replicas)
                                      : absl::StrJoin(numbers, ", "),
                      ".");
}

std::string SyncReplicasMembers::Describe() const {
  absl::MutexLock lock(&mutex_);
  if (read_.empty()) return "";
  std::vector<std::string> silent, left;
  for (const Member& member : read_) {
    if (member.name == members_->name() || member.state == State::kEnded)
      continue;
    if (member.state == State::kLeft) {
      left.push_back(TrainingMembers::LabelOf(member.name));
    } else if (member.silence >= kSilent) {
      silent.push_back(absl::StrCat(
          TrainingMembers::LabelOf(member.name), " (no heartbeat for ",
          absl::FormatDuration(absl::Trunc(member.silence, absl::Seconds(1))),
          ")"));
    }
  }
  std::string text;
  AddPart("Missing", silent, text);
  AddPart("Asked to leave", left, text);
  AddPart("Ended", LabelsOf(ended_), text);
  return absl::StrCat(text, NotBegun());
}

}  // namespace weft::train
