#include "libs/train/sync_replicas/sync_replicas_members.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/train/sessions/session_manager.h"

namespace weft::train {
namespace {

// Three missed heartbeats.
constexpr absl::Duration kSilent = absl::Seconds(15);
// A replica that is silent this long is not expected to end by itself.
constexpr absl::Duration kLost = absl::Seconds(25);
constexpr int kNeededLooks = 2;

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

// Programs without numbers may share one device, even if it names a task.
absl::Status SyncReplicasMembers::AddNodes(const Scope& scope) {
  {
    absl::MutexLock lock(&mutex_);
    ended_.clear();
    ended_before_.clear();
    replaced_.clear();
    has_looked_ = has_chief_ended_ = is_notified_ = false;
  }
  if (members_) return absl::OkStatus();
  const std::string& name = nodes_.own_name;
  members_.emplace("sync_replicas_members",
                   nodes_.is_numbered
                       ? name
                       : TrainingMembers::UniqueName(name, options_.random));
  return members_->AddNodes(scope, nodes_.global_step.handle());
}

absl::Status SyncReplicasMembers::BeginSession(Session& session,
                                               int64_t training) {
  members_->RestartSilence();
  {
    absl::MutexLock lock(&mutex_);
    training_ = training;
    read_.clear();
    num_too_few_ = 0;
    wait_ = -1;
  }
  const absl::Status read = Read(session);
  if (IsSessionLost(read)) return read;
  const absl::Status said =
      members_->Report(session, State::kTraining, training);
  // A late write is repeated.
  return absl::IsDeadlineExceeded(said) ? absl::OkStatus() : said;
}

int64_t SyncReplicasMembers::training() const {
  absl::MutexLock lock(&mutex_);
  return training_;
}

void SyncReplicasMembers::ReportLeft(Session& session) {
  members_->Report(session, State::kLeft, training()).IgnoreError();
}

void SyncReplicasMembers::SetTraining(int64_t training) {
  absl::MutexLock lock(&mutex_);
  training_ = training;
}

void SyncReplicasMembers::JoinTraining(Session& session, int64_t training) {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(training_, training) == training) return;
  }
  members_->Renumber(session, training).IgnoreError();
}

absl::StatusOr<bool> SyncReplicasMembers::ReportEnded(Session& session,
                                                      int64_t training) {
  SetTraining(training);
  RETURN_IF_ERROR(members_->Report(session, State::kEnded, training));
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
  obsolete_.clear();
  std::erase_if(members, [this](const Member& member)
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                               const bool is_other =
                                   member.training != training_;
                               if (is_other) obsolete_.push_back(member.name);
                               return is_other;
                             });
  const bool is_first_look =
      options_.is_chief && !std::exchange(has_looked_, true);
  for (const Member& member : members) {
    // This replica knows its own state better.
    if (member.name == members_->name()) continue;
    if (member.state == State::kEnded) {
      NoteEnded(member, is_first_look);
    } else {
      ended_.erase(member.name);
      ended_before_.erase(member.name);
      replaced_.erase(member.name);
    }
  }
  if (HasOneBegun(members)) waits_since_ = now;
  read_ = std::move(members);
  DropReplaced();
}

// An entry that differs from the previous one was written in this run.
void SyncReplicasMembers::NoteEnded(const Member& member, bool is_first_look) {
  if (is_first_look) {
    ended_before_[member.name] = member.value;
    return;
  }
  for (auto* const known : {&ended_before_, &replaced_}) {
    const auto before = known->find(member.name);
    if (before == known->end()) continue;
    if (before->second == member.value) return;
    known->erase(before);
  }
  ended_.insert(member.name);
}

// An unnumbered replica that was restarted has a new name now, so that there
// are more names than replicas.
void SyncReplicasMembers::DropReplaced() {
  for (int surplus = Surplus(); surplus > 0; --surplus) {
    const auto replaced = FindReplaced();
    if (replaced == ended_before_.end()) return;
    replaced_.insert(*replaced);
    ended_before_.erase(replaced);
  }
}

std::map<std::string, int64_t>::iterator SyncReplicasMembers::FindReplaced() {
  std::set<std::string> labels;  // of replicas of this run
  for (const std::string& name : ended_) {
    labels.insert(TrainingMembers::LabelOf(name));
  }
  for (const Member& member : read_) {
    if (member.state == State::kEnded) continue;
    labels.insert(TrainingMembers::LabelOf(member.name));
  }
  auto found = ended_before_.end();
  for (auto it = ended_before_.begin(); it != ended_before_.end(); ++it) {
    const std::string label = TrainingMembers::LabelOf(it->first);
    if (label == it->first) continue;  // the entry is numbered
    found = it;
    if (labels.contains(label)) break;
  }
  return found;
}

bool SyncReplicasMembers::HasOneBegun(
    const std::vector<Member>& members) const {
  std::set<std::string> trained;
  for (const Member& member : read_) {
    if (member.state == State::kTraining) trained.insert(member.name);
  }
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.state == State::kTraining && !trained.contains(member.name);
  });
}

void SyncReplicasMembers::NoteWait(int64_t wait, absl::Time now) {
  if (wait < 0 || std::exchange(wait_, wait) != wait) waits_since_ = now;
  if (now - waits_since_ < options_.max_wait_for_ended) return;
  for (const auto& [name, value] : ended_before_) ended_.insert(name);
  ended_before_.clear();
}

// Names of unnumbered replicas are never reused, so that the table would grow
// with each start. If all replicas are present, silent ones have been replaced.
void SyncReplicasMembers::Tidy(Session& session) {
  std::vector<std::string> names;
  {
    absl::MutexLock lock(&mutex_);
    names = std::exchange(obsolete_, {});
    const bool are_all_there = Surplus() >= 0;
    for (const Member& member : read_) {
      const bool is_replaced = are_all_there && member.silence >= kLost &&
                               member.state != State::kEnded;
      if (is_replaced && member.name != members_->name()) {
        names.push_back(member.name);
      }
    }
  }
  if (!names.empty()) members_->Remove(session, names).IgnoreError();
}

int SyncReplicasMembers::NumThere() const {
  const auto num = std::count_if(
      read_.begin(), read_.end(),
      [this](const Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return member.state != State::kEnded && member.silence < kLost &&
               !ended_.contains(member.name);
      });
  return static_cast<int>(num);
}

int SyncReplicasMembers::Surplus() const {
  return NumThere() + static_cast<int>(ended_.size() + ended_before_.size()) -
         nodes_.total_num_replicas;
}

int SyncReplicasMembers::NumLeft() const {
  return NumReplicas() - static_cast<int>(ended_.size());
}

// There may be more than the optimizer's options state.
int SyncReplicasMembers::NumReplicas() const {
  return std::max(nodes_.total_num_replicas,
                  NumThere() + static_cast<int>(ended_.size()));
}

std::string SyncReplicasMembers::LogTooFew() {
  if (std::exchange(is_notified_, true)) return "";
  return absl::StrCat("Replicas of SyncReplicasOptimizer have ended: ",
                      absl::StrJoin(LabelsOf(ended_), ", "),
                      ". An update needs gradients of ", nodes_.min_replicas(),
                      " replicas, and left are ", NumLeft(), " of ",
                      NumReplicas(), ": training ends.");
}

absl::StatusOr<bool> SyncReplicasMembers::AreTooFew(Session& session,
                                                    int64_t wait) {
  RETURN_IF_ERROR(Read(session));
  Tidy(session);
  std::string line;
  {
    absl::MutexLock lock(&mutex_);
    NoteWait(wait, session.scheduler().clock().Now());
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
    Session& session, int64_t wait) {
  {
    absl::MutexLock lock(&mutex_);
    has_chief_ended_ = true;
    ended_.insert(members_->name());
  }
  return AreTooFew(session, wait);
}

bool SyncReplicasMembers::AreOthersTraining() const {
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
  std::set<std::string> before;
  for (const auto& [name, value] : ended_before_) before.insert(name);
  AddPart("Ended before the chief's program began, and not started again",
          LabelsOf(before), text);
  return absl::StrCat(text, NotBegun());
}

}  // namespace weft::train
