// WorkerTask makes this process a task of the job "worker" and connects
// sessions to it. For benchmarks whose workers are separate processes.
//
// Errors end the program, as in Check. Not thread-safe. Starts its own threads.
#ifndef WEFT_BENCHMARKS_COMMON_WORKER_TASK_H_
#define WEFT_BENCHMARKS_COMMON_WORKER_TASK_H_

#include <memory>
#include <string>

#include "libs/api/weft.h"

namespace weft::benchmarks {

class WorkerTask {
 public:
  // Starts the server of the task.
  WorkerTask(const ClusterSpec& cluster, int index);

  // Returns the device of the task, for example "/job:worker/task:1".
  const std::string& device() const { return device_; }
  Scheduler& scheduler() { return process_.scheduler(); }

  // Returns a session that uses the ps tasks and this task, as the sessions of
  // replicas do. The session must be destroyed before this object.
  std::unique_ptr<Session> Connect(const Scope& root,
                                   SessionOptions options = {});

 private:
  // Declared in this order, because members are destroyed in reverse order.
  const std::string device_;
  NullLogger logger_;
  Process process_;
  std::unique_ptr<Server> server_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_WORKER_TASK_H_
