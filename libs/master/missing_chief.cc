#include "libs/master/missing_chief.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/cluster/device_name.h"
#include "libs/master/coordinator_call.h"

namespace weft {
namespace {

// Returns the first task of the job; null: there is none.
const protocol::TaskStatus* FindFirst(const protocol::ClusterStatus& cluster,
                                      const std::string& job) {
  const protocol::TaskStatus* first = nullptr;
  int least = std::numeric_limits<int>::max();
  for (const protocol::TaskStatus& task : cluster.tasks) {
    const auto name = DeviceName::Parse(task.task);
    if (!name.ok() || name->job != job || !name->task) continue;
    if (*name->task >= least) continue;
    least = *name->task;
    first = &task;
  }
  return first;
}

const protocol::TaskStatus* FindChief(const protocol::ClusterStatus& cluster) {
  for (const char* job : {"chief", "master", "worker"}) {
    const auto* const first = FindFirst(cluster, job);
    if (first != nullptr) return first;
  }
  return nullptr;
}

std::string DescribeAbsence(protocol::TaskState state) {
  switch (state) {
    case protocol::TaskState::kAlive:
      return "";
    case protocol::TaskState::kExpected:
      return "has not joined";
    case protocol::TaskState::kLost:
      return "is lost";
    case protocol::TaskState::kLeft:
      break;
  }
  return "has left";
}

}  // namespace

std::string DescribeMissingChief(const protocol::ClusterStatus& cluster) {
  const protocol::TaskStatus* const chief = FindChief(cluster);
  if (chief == nullptr) return "";
  const std::string absence = DescribeAbsence(chief->state);
  const auto name = DeviceName::Parse(chief->task);
  if (absence.empty() || !name.ok()) return "";
  return absl::StrCat("the chief, ", *name->job, " ", *name->task, " (",
                      chief->task, "), ", absence);
}

void AskForMissingChief(
    const MasterOptions& options,
    absl::AnyInvocable<void(const std::string& missing)> done) {
  options.coordinator->GetCluster(
      {.only_states = true},
      options.scheduler->clock().Now() + kCoordinatorAnswerTime,
      [done = std::move(done)](
          const absl::StatusOr<protocol::ClusterStatus>& cluster) mutable {
        done(cluster.ok() ? DescribeMissingChief(*cluster) : "");
      });
}

}  // namespace weft
