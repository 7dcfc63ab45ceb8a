#include "libs/master/device_catalogue.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/master/call_group.h"

namespace weft {
namespace {

constexpr absl::Duration kLogInterval = absl::Seconds(10);

absl::StatusOr<std::vector<DeviceName>> ParseFilters(
    const std::vector<std::string>& filters) {
  std::vector<DeviceName> result;
  for (const std::string& filter : filters) {
    absl::StatusOr<DeviceName> name = DeviceName::Parse(filter);
    if (!name.ok()) return Annotate(name.status(), "device_filters");
    result.push_back(*std::move(name));
  }
  return result;
}

bool Passes(const std::vector<DeviceName>& filters, const DeviceName& name) {
  return filters.empty() || std::any_of(filters.begin(), filters.end(),
                                        [&](const DeviceName& filter) {
                                          return filter.IsCompatibleWith(name);
                                        });
}

// What the tasks answer, by their position.
class Answers {
 public:
  explicit Answers(size_t num_tasks) : devices_(num_tasks) {}

  void Set(size_t i, std::vector<DeviceAttributes> devices) {
    absl::MutexLock lock(&mutex_);
    devices_[i] = std::move(devices);
  }
  std::string Missing(const std::vector<std::string>& tasks) const {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> missing;
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (!devices_[i]) missing.push_back(tasks[i]);
    }
    return absl::StrJoin(missing, ", ");
  }
  std::vector<DeviceAttributes> TakeAll() {
    absl::MutexLock lock(&mutex_);
    std::vector<DeviceAttributes> result;
    for (auto& devices : devices_) {
      for (DeviceAttributes& device : *devices) {
        result.push_back(std::move(device));
      }
    }
    return result;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::optional<std::vector<DeviceAttributes>>> devices_
      ABSL_GUARDED_BY(mutex_);
};

std::shared_ptr<Answers> Ask(const CatalogueOptions& options,
                             const std::vector<std::string>& tasks,
                             absl::Time deadline, CallGroup& group) {
  auto answers = std::make_shared<Answers>(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    options.directory->Find(tasks[i])->GetStatus(
        deadline,
        [i, answers, done = group.Add()](
            absl::StatusOr<std::vector<DeviceAttributes>> devices) mutable {
          if (devices.ok()) answers->Set(i, *std::move(devices));
          done(devices.status());
        });
  }
  return answers;
}

void WaitAndLog(const CatalogueOptions& options, CallGroup& group,
                const Answers& answers, const std::vector<std::string>& tasks) {
  const Clock& clock = options.scheduler->clock();
  while (!group.WaitUntil(clock.Now() + kLogInterval)) {
    if (options.logger == nullptr) continue;
    options.logger->Info(absl::StrCat("Still waiting for a response from ",
                                      answers.Missing(tasks)));
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FilterTasks(
    const CatalogueOptions& options, const std::vector<std::string>& filters) {
  ASSIGN_OR_RETURN(const std::vector<DeviceName> parsed, ParseFilters(filters));
  std::vector<std::string> result;
  for (const std::string& task : options.directory->Tasks()) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
    if (task == options.own_task || Passes(parsed, name)) {
      result.push_back(task);
    }
  }
  return result;
}

absl::StatusOr<std::vector<DeviceAttributes>> GatherDevices(
    const CatalogueOptions& options, const std::vector<std::string>& filters,
    absl::Time deadline) {
  ASSIGN_OR_RETURN(const std::vector<DeviceName> parsed, ParseFilters(filters));
  ASSIGN_OR_RETURN(const std::vector<std::string> tasks,
                   FilterTasks(options, filters));
  CallGroup group(*options.scheduler);
  const auto answers = Ask(options, tasks, deadline, group);
  WaitAndLog(options, group, *answers, tasks);
  if (absl::Status status = group.Wait(); !status.ok()) {
    return absl::Status(
        status.code(),
        absl::StrCat("No response from ", answers->Missing(tasks),
                     ". Start these tasks, or leave them out with "
                     "device_filters: ",
                     status.message()));
  }
  std::vector<DeviceAttributes> result;
  for (DeviceAttributes& device : answers->TakeAll()) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(device.name));
    const bool is_own = name.TaskOnly().ToString() == options.own_task;
    if (is_own || Passes(parsed, name)) result.push_back(std::move(device));
  }
  return result;
}

}  // namespace weft
