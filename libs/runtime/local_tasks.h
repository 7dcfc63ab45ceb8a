// LocalTasks: the tasks of one process, so that its sessions and tasks reach
// them by a call instead of a message.
//
// Threads: all methods may be called from any thread. Observers are called one
// after the other, and may look tasks up, but not add or remove one; after
// Remove has returned, the removed one is not called any more.
#ifndef WEFT_LIBS_RUNTIME_LOCAL_TASKS_H_
#define WEFT_LIBS_RUNTIME_LOCAL_TASKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/coordinator.h"
#include "libs/protocol/master.h"
#include "libs/protocol/worker.h"

namespace weft {

// What the tasks of a cluster want to know of each other.
class PeerObserver {
 public:
  virtual ~PeerObserver() = default;
  virtual void PeerConnected(const std::string& task, uint64_t incarnation) = 0;
  virtual void PeerLost(const std::string& task, uint64_t incarnation,
                        const absl::Status& why) = 0;
};

struct LocalTask {
  std::string
      cluster;         // what its cluster spec says; the same for all its tasks
  std::string task;    // "/job:ps/replica:0/task:0"
  std::string target;  // "zmq://host:port"
  uint64_t incarnation = 0;
  std::shared_ptr<protocol::Master> master;
  std::shared_ptr<protocol::Worker> worker;
  // Null unless the task plays the coordinator.
  std::shared_ptr<protocol::Coordinator> coordinator;
  // Where a checkpoint writer keeps files; null for other tasks.
  std::shared_ptr<FileSystem> files;
  // Told of the others of its cluster. Outlives its membership.
  PeerObserver* observer = nullptr;
};

class LocalTasks {
 public:
  // How often to look again for one that will start in this process.
  static constexpr absl::Duration kLookAgain = absl::Milliseconds(20);

  // ALREADY_EXISTS when the process has this task of this cluster. The task and
  // the others of its cluster are told of each other.
  absl::Status Add(const LocalTask& task);
  // The others are told; OK when it is not there.
  void Remove(const LocalTask& task, const absl::Status& why);

  // Null when the process has no such task, or the task no such role.
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

#endif  // WEFT_LIBS_RUNTIME_LOCAL_TASKS_H_
