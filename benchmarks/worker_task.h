// WorkerTask: this process as a task of a cluster's job "worker", and sessions
// to it, for benchmarks whose workers are processes of their own.
//
// Trouble ends the program, as Check does. Threads: one at a time; it starts
// some of its own.
#ifndef WEFT_BENCHMARKS_WORKER_TASK_H_
#define WEFT_BENCHMARKS_WORKER_TASK_H_

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

  // A session that sees the ps and this task, as replicas' do. It ends before
  // this.
  std::unique_ptr<Session> Connect(const Scope& root,
                                   SessionOptions options = {});

 private:
  // Destroyed last to first.
  const std::string device_;
  NullLogger logger_;
  Process process_;
  std::unique_ptr<Server> server_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_WORKER_TASK_H_
