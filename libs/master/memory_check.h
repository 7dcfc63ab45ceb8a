// MemoryCheck: whether the tasks of a callable have memory for the variables
// that its first run makes, each of them and all of one machine together. Asked
// before anything runs: the system gives more memory than it has and ends who
// writes to it, and a process knows nothing of what others are about to take.
//
// What tasks tell is of one moment. Who is told that there is room may find
// none, and then fails alone (ProcessOptions::memory_bound).
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
#include "libs/protocol/worker.h"

namespace weft {

class MemoryCheck : public std::enable_shared_from_this<MemoryCheck> {
 public:
  // For the call that registers on `task`: hears what it answers, and passes
  // on whether that failed.
  protocol::Worker::RegisterDone Hear(const std::string& task,
                                      protocol::Worker::Done done);

  // RESOURCE_EXHAUSTED where there is too little: it names the tasks, what they
  // need and what there is. To be asked when all have answered; a later answer
  // changes nothing that was said.
  absl::Status Check() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Of those that make variables; by name, so that errors repeat.
  using Tasks = std::map<std::string, protocol::NewVariables>;

  static absl::Status CheckTasks(const Tasks& tasks);
  // Of one machine.
  static absl::Status CheckMachine(const Tasks& tasks);

  mutable absl::Mutex mutex_;
  Tasks tasks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MEMORY_CHECK_H_
