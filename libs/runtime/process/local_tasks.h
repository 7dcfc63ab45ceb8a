// LocalTasks holds the tasks of one process, so that the sessions and tasks of
// the process can call them directly instead of sending messages.
//
// Threads: all methods may be called from any thread. Observers are called one
// at a time. They may look up tasks, but must not add or remove any. After
// Remove has returned, the observer of the removed task is not called any more.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_LOCAL_TASKS_H_
#define WEFT_LIBS_RUNTIME_PROCESS_LOCAL_TASKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/protocol/master/master.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

// PeerObserver notifies a task of the other tasks of its cluster.
class PeerObserver {
 public:
  virtual ~PeerObserver() = default;
  virtual void PeerConnected(const std::string& task, uint64_t incarnation) = 0;
  virtual void PeerLost(const std::string& task, uint64_t incarnation,
                        const absl::Status& why) = 0;
};

struct LocalTask {
  // The text of the cluster spec. All tasks of a cluster have the same text.
  std::string cluster;
  std::string task;    // "/job:ps/replica:0/task:0"
  std::string target;  // "zmq://host:port"
  uint64_t incarnation = 0;
  std::shared_ptr<protocol::Master> master;
  std::shared_ptr<protocol::Worker> worker;
  // Null unless the task hosts the coordinator.
  std::shared_ptr<protocol::Coordinator> coordinator;
  // The file system in which a checkpoint writer stores files; null for other
  // tasks.
  std::shared_ptr<FileSystem> files;
  // Notified when other tasks of the cluster are added or removed. Must outlive
  // the task's membership.
  PeerObserver* observer = nullptr;
};

class LocalTasks {
 public:
  // How often to check again whether a task has started that is expected to
  // start in this process.
  static constexpr absl::Duration kLookAgain = absl::Milliseconds(20);

  // Adds the task, and notifies it and the other tasks of its cluster of each
  // other. Returns ALREADY_EXISTS if the process already has this task of this
  // cluster.
  absl::Status Add(const LocalTask& task);
  // Removes the task, and notifies the other tasks of its cluster. Has no
  // effect if the task is unknown.
  void Remove(const LocalTask& task, const absl::Status& why);

  // These return null if the process does not have the task, or if the task
  // does not have the role.
  std::shared_ptr<protocol::Worker> FindWorker(const std::string& cluster,
                                               const std::string& task) const;
  std::shared_ptr<protocol::Master> FindMaster(const std::string& target) const;
  std::shared_ptr<FileSystem> FindFiles(const std::string& target) const;
  std::shared_ptr<protocol::Coordinator> FindCoordinator(
      const std::string& cluster) const;

 private:
  mutable absl::Mutex mutex_;
  std::vector<LocalTask> tasks_ ABSL_GUARDED_BY(mutex_);
  // Held while observers are called, so that Remove can wait for them.
  absl::Mutex telling_ ABSL_ACQUIRED_BEFORE(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_LOCAL_TASKS_H_
