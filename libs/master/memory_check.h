// MemoryCheck checks whether the tasks of a callable have memory for the
// variables that its first run creates, each task and all tasks of one machine
// together. This is done before anything runs: the system overcommits memory
// and kills a process that writes to it, and a process does not know what
// others are about to allocate.
//
// The reports of tasks are snapshots. A task may run out of memory after a
// successful check, and then fails alone (ProcessOptions::memory_bound).
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_MASTER_MEMORY_CHECK_H_
#define WEFT_LIBS_MASTER_MEMORY_CHECK_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

class MemoryCheck : public std::enable_shared_from_this<MemoryCheck> {
 public:
  // Wraps the callback of the registration on `task`: records the answer, and
  // passes on its status.
  protocol::Worker::RegisterDone Hear(const std::string& task,
                                      protocol::Worker::Done done);

  // Returns RESOURCE_EXHAUSTED if there is too little: it names the tasks, what
  // they need and what is available. Must be called when all tasks have
  // answered; a later answer does not change the result.
  absl::Status Check() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The tasks that create variables; by name, so that errors are deterministic.
  using Tasks = std::map<std::string, protocol::NewVariables>;

  static absl::Status CheckTasks(const Tasks& tasks);
  // Checks the tasks of one machine.
  static absl::Status CheckMachine(const Tasks& tasks);

  mutable absl::Mutex mutex_;
  Tasks tasks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MEMORY_CHECK_H_
