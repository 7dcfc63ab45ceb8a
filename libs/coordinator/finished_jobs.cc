#include "libs/coordinator/finished_jobs.h"

#include <algorithm>
#include <utility>

namespace weft {

namespace {

// Returns the number of the job's finish; 0 before the first finish.
int64_t NumberOf(const std::map<std::string, int64_t>& numbers,
                 const std::string& job) {
  const auto it = numbers.find(job);
  return it == numbers.end() ? 0 : it->second;
}

}  // namespace

bool FinishedJobs::Heard::IsNew(const std::string& job, int64_t number) const {
  return NumberOf(before, job) < number;
}

int64_t FinishedJobs::Heard::FirstOf(const std::string& job) {
  const int64_t joined = NumberOf(at_join, job);
  const int64_t next = NumberOf(before, job) + 1;
  return first.try_emplace(job, std::max(joined, next)).first->second;
}

void FinishedJobs::Heard::EndWithFirst(const std::string& job) {
  before[job] = FirstOf(job);
}

bool FinishedJobs::Update(const Membership& members) {
  std::vector<std::string> finished = members.FinishedJobs();
  for (const std::string& job : finished) CountFinish(job, members);
  if (finished == finished_) return false;
  finished_ = std::move(finished);
  return true;
}

void FinishedJobs::CountFinish(const std::string& job,
                               const Membership& members) {
  Finishes& last = finishes_[job];
  const std::vector<std::string>& tasks = members.tasks_of_job().at(job);
  const auto incarnation_of = [&](const std::string& task) {
    return members.members().at(task).incarnation;
  };
  const bool is_another =
      std::all_of(tasks.begin(), tasks.end(), [&](const std::string& task) {
        const auto before = last.incarnations.find(task);
        return before == last.incarnations.end() ||
               before->second != incarnation_of(task);
      });
  if (!is_another) return;
  ++last.number;
  last.incarnations.clear();
  for (const std::string& task : tasks) {
    last.incarnations[task] = incarnation_of(task);
  }
  for (const auto& [task, member] : members.members()) {
    if (member.state != Membership::State::kLeft) continue;
    heard_[task].EndWithFirst(job);
  }
}

void FinishedJobs::OnTaskJoined(const std::string& task) {
  Heard& heard = heard_[task];
  heard.first.clear();
  for (const auto& [job, finishes] : finishes_) {
    heard.at_join[job] = finishes.number;
  }
}

// FirstOf will set the same numbers again when they are needed.
void FinishedJobs::OnTaskRejoined(const std::string& task) {
  heard_[task].first.clear();
}

void FinishedJobs::TaskLeft(const std::string& task) {
  Heard& heard = heard_[task];
  for (const auto& [job, finishes] : finishes_) {
    if (!heard.IsNew(job, finishes.number)) continue;
    heard.EndWithFirst(job);
  }
}

void FinishedJobs::NoteTaskNotified(
    const std::string& task, const std::vector<protocol::LeftTask>& left) {
  std::map<std::string, uint64_t> known;
  for (const protocol::LeftTask& gone : left) {
    known[gone.task] = gone.incarnation;
  }
  for (const auto& [job, finishes] : finishes_) {
    // The known processes and the processes of the finish are both sorted by
    // task.
    if (!std::includes(known.begin(), known.end(),
                       finishes.incarnations.begin(),
                       finishes.incarnations.end())) {
      continue;
    }
    heard_[task].before[job] = finishes.number;
  }
}

std::vector<std::string> FinishedJobs::FinishedJobsFor(
    const std::string& task) {
  Heard& heard = heard_[task];
  std::vector<std::string> news;
  for (const auto& [job, finishes] : finishes_) {
    if (!heard.IsNew(job, finishes.number)) continue;
    const bool is_finished =
        std::binary_search(finished_.begin(), finished_.end(), job);
    if (!is_finished && heard.first.contains(job)) continue;
    heard.FirstOf(job);
    news.push_back(job);
  }
  return news;
}

}  // namespace weft
