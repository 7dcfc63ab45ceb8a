#include "libs/runtime/process/local_tasks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

bool IsSame(const LocalTask& a, const LocalTask& b) {
  return a.cluster == b.cluster && a.task == b.task;
}

}  // namespace

absl::Status LocalTasks::Add(const LocalTask& task) {
  absl::MutexLock telling(&telling_);
  std::vector<LocalTask> others;
  {
    absl::MutexLock lock(&mutex_);
    for (const LocalTask& other : tasks_) {
      if (IsSame(other, task)) {
        return absl::AlreadyExistsError(
            absl::StrCat("This process already has a server for ", task.task,
                         " of the cluster ", task.cluster, "."));
      }
      if (other.cluster == task.cluster) others.push_back(other);
    }
    tasks_.push_back(task);
  }
  for (const LocalTask& other : others) {
    other.observer->PeerConnected(task.task, task.incarnation);
    task.observer->PeerConnected(other.task, other.incarnation);
  }
  return absl::OkStatus();
}

void LocalTasks::Remove(const LocalTask& task, const absl::Status& why) {
  absl::MutexLock telling(&telling_);
  std::vector<LocalTask> others;
  {
    absl::MutexLock lock(&mutex_);
    auto it =
        std::find_if(tasks_.begin(), tasks_.end(), [&](const LocalTask& other) {
          return IsSame(other, task) && other.incarnation == task.incarnation;
        });
    if (it == tasks_.end()) return;
    tasks_.erase(it);
    for (const LocalTask& other : tasks_) {
      if (other.cluster == task.cluster) others.push_back(other);
    }
  }
  for (const LocalTask& other : others) {
    other.observer->PeerLost(task.task, task.incarnation, why);
  }
}

std::shared_ptr<protocol::Worker> LocalTasks::FindWorker(
    const std::string& cluster, const std::string& task) const {
  absl::ReaderMutexLock lock(&mutex_);
  for (const LocalTask& known : tasks_) {
    if (known.task == task && known.cluster == cluster) return known.worker;
  }
  return nullptr;
}

std::shared_ptr<protocol::Master> LocalTasks::FindMaster(
    const std::string& target) const {
  absl::ReaderMutexLock lock(&mutex_);
  for (const LocalTask& known : tasks_) {
    if (known.target == target) return known.master;
  }
  return nullptr;
}

std::shared_ptr<FileSystem> LocalTasks::FindFiles(
    const std::string& target) const {
  absl::ReaderMutexLock lock(&mutex_);
  for (const LocalTask& known : tasks_) {
    if (known.target == target) return known.files;
  }
  return nullptr;
}

std::shared_ptr<protocol::Coordinator> LocalTasks::FindCoordinator(
    const std::string& cluster) const {
  absl::ReaderMutexLock lock(&mutex_);
  for (const LocalTask& known : tasks_) {
    if (known.coordinator && known.cluster == cluster) return known.coordinator;
  }
  return nullptr;
}

}  // namespace weft
