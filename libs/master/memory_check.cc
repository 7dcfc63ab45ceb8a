#include "libs/master/memory_check.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "libs/base/saturated.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// An error names no more tasks than these.
constexpr size_t kMaxNamed = 16;

// "/job:ps/replica:0/task:1 needs 80 bytes (the largest: emb/part_1, 40)".
std::string DescribeNeed(const std::string& task,
                         const protocol::NewVariables& made) {
  const std::string need = absl::StrCat(task, " needs ", made.bytes, " bytes");
  if (made.largest.empty()) return need;
  return absl::StrCat(need, " (the largest: ", made.largest, ", ",
                      made.largest_bytes, ")");
}

std::string JoinSome(std::vector<std::string> items) {
  const size_t count = items.size();
  items.resize(std::min(count, kMaxNamed));
  std::string text = absl::StrJoin(items, "; ");
  if (count > kMaxNamed) {
    absl::StrAppend(&text, "; and ", count - kMaxNamed, " more");
  }
  return text;
}

absl::Status TooLittle(absl::string_view what, absl::string_view remedy) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "There is too little memory for the variables that this run makes: ",
      what, ". Nothing has run, and none was allocated. ", remedy,
      ", or make them smaller: fewer rows or columns, a smaller dtype, an "
      "optimizer with fewer slots."));
}

}  // namespace

protocol::Worker::RegisterDone MemoryCheck::Hear(const std::string& task,
                                                 protocol::Worker::Done done) {
  return [self = shared_from_this(), task, done = std::move(done)](
             absl::StatusOr<protocol::NewVariables> made) mutable {
    if (!made.ok()) return done(made.status());
    if (made->bytes > 0) {
      absl::MutexLock lock(&self->mutex_);
      self->tasks_.insert_or_assign(task, *std::move(made));
    }
    done(absl::OkStatus());
  };
}

absl::Status MemoryCheck::Check() const {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckTasks(tasks_));
  std::map<std::string, Tasks> machines;
  for (const auto& [task, made] : tasks_) {
    // If a task does not report its machine, it is assumed to be alone on it.
    const std::string& machine = made.available.machine;
    if (!machine.empty()) machines[machine].emplace(task, made);
  }
  for (const auto& [machine, tasks] : machines) {
    RETURN_IF_ERROR(CheckMachine(tasks));
  }
  return absl::OkStatus();
}

absl::Status MemoryCheck::CheckTasks(const Tasks& tasks) {
  std::vector<std::string> lacking;
  for (const auto& [task, made] : tasks) {
    if (made.bytes <= made.available.task) continue;
    lacking.push_back(absl::StrCat(DescribeNeed(task, made),
                                   " and has room for ", made.available.task));
  }
  if (lacking.empty()) return absl::OkStatus();
  return TooLittle(JoinSome(std::move(lacking)),
                   "Spread them over more parameter servers, or give these "
                   "more memory");
}

// Tasks check for themselves whether one task alone fits. Several have looked
// at different times, and one may be wrong: the largest reported value is used,
// because a wrong refusal would recur on every retry, and an accepted run is
// still limited by the bounds of its processes. Memory that these keep for
// later is their own.
absl::Status MemoryCheck::CheckMachine(const Tasks& tasks) {
  if (tasks.size() < 2) return absl::OkStatus();
  int64_t sum = 0;
  int64_t has = 0;
  std::vector<std::string> needs;
  for (const auto& [task, made] : tasks) {
    sum = SaturatedAdd(sum,
                       std::max<int64_t>(0, made.bytes - made.available.kept));
    has = std::max(has, made.available.machine_has);
    needs.push_back(DescribeNeed(task, made));
  }
  if (sum <= has) return absl::OkStatus();
  return TooLittle(
      absl::StrCat(JoinSome(std::move(needs)), "; these ", tasks.size(),
                   " share the memory of one machine: ", sum,
                   " bytes together, and it has room for ", has),
      "Spread them over parameter servers on more machines");
}

}  // namespace weft
