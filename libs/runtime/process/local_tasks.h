// LocalTasks holds the tasks of one process, so that its sessions and tasks can
// call them directly instead of sending messages.
//
// Threads: all methods may be called from any thread. Observers are called one
// after the other, and may look up tasks, but not add or remove one; after
// Remove has returned, the removed observer is not called any more.
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
  // The text of its cluster spec; the same for all its tasks.
  std::string cluster;
  std::string task;    // "/job:ps/replica:0/task:0"
  std::string target;  // "zmq://host:port"
  uint64_t incarnation = 0;
  std::shared_ptr<protocol::Master> master;
  std::shared_ptr<protocol::Worker> worker;
  // Null unless the task hosts the coordinator.
  std::shared_ptr<protocol::Coordinator> coordinator;
  // Where a checkpoint writer stores files; null for other tasks.
  std::shared_ptr<FileSystem> files;
  // Notified of the other tasks of its cluster. Must outlive its membership.
  PeerObserver* observer = nullptr;
};

class LocalTasks {
 public:
  // How often to check again for a task that will start in this process.
  static constexpr absl::Duration kLookAgain = absl::Milliseconds(20);

  // ALREADY_EXISTS if the process has this task of this cluster. Notifies the
  // task and the others of its cluster of each other.
  absl::Status Add(const LocalTask& task);
  // Notifies the others; OK if the task is unknown.
  void Remove(const LocalTask& task, const absl::Status& why);

  // Returns null if the process has no such task, or the task no such role.
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
