// BoundedTask is a task for untrusted graphs: a master, a coordinator and a
// runtime in this process, without sockets. The task has one CPU with little
// memory, and an initially empty file system in memory.
//
// Threads: those of its Process, which must outlive the task.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_BOUNDED_TASK_H_
#define WEFT_INTEGRATION_TESTS_TESTING_BOUNDED_TASK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "libs/coordinator/coordinator.h"
#include "libs/fs/memory_file_system.h"
#include "libs/master/master.h"
#include "libs/protocol/worker/worker.h"
#include "libs/runtime/process/process.h"
#include "libs/runtime/task_runtime.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft {

class BoundedTask : private protocol::WorkerDirectory {
 public:
  // Kernels cannot allocate a tensor of more than `tensor_bytes`, or more than
  // `bytes` in total. The total also bounds endless graphs.
  BoundedTask(Process& process, size_t tensor_bytes, size_t bytes);

  Master& master() { return master_; }
  Scheduler& scheduler() { return process_.scheduler(); }

 private:
  protocol::Worker* Find(const std::string& task) override;
  std::vector<std::string> Tasks() const override;

  Process& process_;
  SmallAllocator memory_;
  MemoryFileSystem files_;
  Coordinator coordinator_;
  TaskRuntime runtime_;
  Master master_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_BOUNDED_TASK_H_
