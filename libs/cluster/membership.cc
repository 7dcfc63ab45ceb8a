#include "libs/cluster/membership.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// How long a lost process keeps its task after another process has claimed it,
// if heartbeats have no timeout. Also how long a claim is remembered then.
constexpr absl::Duration kGrace = absl::Seconds(5);

absl::Status LeftForGood(const std::string& task, uint64_t incarnation) {
  return absl::AbortedError(absl::StrCat(
      "This process (incarnation ", absl::Hex(incarnation), ") was ", task,
      " and has left the cluster for good. Start the task again."));
}

}  // namespace

Membership::Membership(const ClusterSpec& cluster, absl::Duration timeout)
    : timeout_(timeout) {
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, address] : tasks) {
      const std::string task = TaskName(job, index);
      members_[task];
      tasks_of_job_[job].push_back(task);
    }
  }
}

absl::Status Membership::Join(const std::string& task, uint64_t incarnation,
                              absl::Time now) {
  const auto it = members_.find(task);
  if (it == members_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(task, " is not a task of the cluster."));
  }
  Member& member = it->second;
  if (member.incarnation != incarnation) {
    absl::Status claim = CheckClaim(task, member, now);
    if (!claim.ok()) return claim;
    member = {};
  } else if (member.state == State::kLeft) {
    // Messages that a process sent before it left may arrive afterwards.
    return LeftForGood(task, incarnation);
  }
  member.state = State::kAlive;
  member.incarnation = incarnation;
  member.last_heard = now;
  return absl::OkStatus();
}

absl::Status Membership::CheckClaim(const std::string& task, Member& member,
                                    absl::Time now) {
  if (member.state == State::kAlive) {
    member.last_claimed = now;
    return absl::AlreadyExistsError(absl::StrCat(
        "Another process is ", task, " already (incarnation ",
        absl::Hex(member.incarnation), "); it was heard of ",
        absl::FormatDuration(now - member.last_heard),
        " ago. Stop that process, or start this one as another task."));
  }
  if (member.state != State::kLost || now >= member.kept_until) {
    return absl::OkStatus();
  }
  return absl::AbortedError(
      absl::StrCat("Another process was ", task,
                   " until its connection was lost "
                   "(incarnation ",
                   absl::Hex(member.incarnation),
                   "), and may come back "
                   "for another ",
                   absl::FormatDuration(member.kept_until - now), "."));
}

absl::Status Membership::RecordHeartbeat(const std::string& task,
                                         uint64_t incarnation, absl::Time now) {
  Member* const member = FindAlive(task, incarnation);
  if (member == nullptr) {
    return absl::AbortedError(
        absl::StrCat("This incarnation of ", task,
                     " is not, or no longer, in the cluster. It must join."));
  }
  member->last_heard = std::max(member->last_heard, now);
  return absl::OkStatus();
}

void Membership::ExtendTimeouts(absl::Duration missed, absl::Time now) {
  for (auto& [task, member] : members_) {
    if (member.state != State::kAlive || member.last_heard >= now) continue;
    member.last_heard = std::min(now, member.last_heard + missed);
  }
}

bool Membership::Leave(const std::string& task, uint64_t incarnation) {
  const auto it = members_.find(task);
  if (it == members_.end() || it->second.incarnation != incarnation) {
    return false;
  }
  State& state = it->second.state;
  if (state != State::kAlive && state != State::kLost) return false;
  state = State::kLeft;
  return true;
}

bool Membership::NoteLeft(const std::string& task, uint64_t incarnation) {
  const auto it = members_.find(task);
  if (it == members_.end() || incarnation == 0) return false;
  if (it->second.state != State::kExpected) return false;
  it->second.state = State::kLeft;
  it->second.incarnation = incarnation;
  return true;
}

bool Membership::Lose(const std::string& task, uint64_t incarnation,
                      absl::Time now) {
  Member* const member = FindAlive(task, incarnation);
  if (member == nullptr) return false;
  const bool is_asked = timeout_ != absl::InfiniteDuration();
  const absl::Duration grace = is_asked ? timeout_ : kGrace;
  member->state = State::kLost;
  member->kept_until = absl::InfinitePast();
  if (now - member->last_claimed <= grace) {
    member->kept_until = (is_asked ? member->last_heard : now) + grace;
  }
  return true;
}

std::vector<std::string> Membership::Tick(absl::Time now) {
  std::vector<std::string> lost;
  for (auto& [task, member] : members_) {
    if (member.state != State::kAlive) continue;
    if (member.last_heard + timeout_ > now) continue;
    member.state = State::kLost;
    member.kept_until = absl::InfinitePast();
    lost.push_back(task);
  }
  return lost;
}

absl::Time Membership::NextTick() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [task, member] : members_) {
    if (member.state != State::kAlive) continue;
    next = std::min(next, member.last_heard + timeout_);
  }
  return next;
}

bool Membership::IsAlive(const std::string& task) const {
  const auto it = members_.find(task);
  return it != members_.end() && it->second.state == State::kAlive;
}

bool Membership::HasLeft(const std::string& task) const {
  const auto it = members_.find(task);
  return it != members_.end() && it->second.state == State::kLeft;
}

std::vector<std::string> Membership::FinishedJobs() const {
  std::vector<std::string> finished;
  for (const auto& [job, tasks] : tasks_of_job_) {
    if (std::all_of(tasks.begin(), tasks.end(), [&](const std::string& task) {
          return members_.at(task).state == State::kLeft;
        })) {
      finished.push_back(job);
    }
  }
  return finished;
}

Membership::Member* Membership::FindAlive(const std::string& task,
                                          uint64_t incarnation) {
  const auto it = members_.find(task);
  if (it == members_.end()) return nullptr;
  Member& member = it->second;
  if (member.state != State::kAlive || member.incarnation != incarnation) {
    return nullptr;
  }
  return &member;
}

}  // namespace weft
