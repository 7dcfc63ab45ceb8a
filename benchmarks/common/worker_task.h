// WorkerTask makes this process a task of a cluster's job "worker", and
// connects sessions to it, for benchmarks whose workers are separate processes.
//
// Errors end the program, as Check does. Threads: one at a time; it starts its
// own threads.
#ifndef WEFT_BENCHMARKS_COMMON_WORKER_TASK_H_
#define WEFT_BENCHMARKS_COMMON_WORKER_TASK_H_

#include <memory>
#include <string>

#include "libs/api/weft.h"

namespace weft::benchmarks {

class WorkerTask {
 public:
  // Starts the task's server.
  WorkerTask(const ClusterSpec& cluster, int index);

  // "/job:worker/task:1"
  const std::string& device() const { return device_; }
  Scheduler& scheduler() { return process_.scheduler(); }

  // Returns a session that sees the ps tasks and this task, as replicas'
  // sessions do. It must end before this.
  std::unique_ptr<Session> Connect(const Scope& root,
                                   SessionOptions options = {});

 private:
  // Destroyed in reverse order.
  const std::string device_;
  NullLogger logger_;
  Process process_;
  std::unique_ptr<Server> server_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_WORKER_TASK_H_
