// TaskRuntimeOptions are the components and limits of a TaskRuntime.
// ResourceTotals are totals over the resources of its devices.
//
// Threads: both are plain values. The objects to which they point must outlive
// the runtime.
#ifndef WEFT_LIBS_RUNTIME_TASK_RUNTIME_OPTIONS_H_
#define WEFT_LIBS_RUNTIME_TASK_RUNTIME_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/protocol/worker/worker.h"
#include "libs/runtime/runtime_metrics.h"

namespace weft {

struct TaskRuntimeOptions {
  const KernelRegistry* kernels = nullptr;  // never null
  Scheduler* scheduler = nullptr;           // never null
  Random* random = nullptr;                 // never null
  FileSystem* file_system = nullptr;        // never null
  // The container for which an empty container name stands: the task's job.
  std::string default_container;
  // The task's canonical name.
  std::string task = "/job:localhost/replica:0/task:0";
  // The incarnation of this task's own master.
  uint64_t incarnation = 0;
  // The other tasks of the cluster; null if there are none. Must outlive the
  // runtime.
  protocol::WorkerDirectory* peers = nullptr;
  // Quotas of one session (docs/operations/quotas.md): the bytes of values that
  // have arrived from other tasks and that no step has received, and the
  // registrations.
  int64_t max_unclaimed_bytes_per_session = int64_t{8} << 30;
  int64_t max_registrations_per_session = 65536;
  int64_t max_registered_bytes_per_session =
      std::numeric_limits<int64_t>::max();
  // The maximum number of sessions of all masters together.
  int64_t max_sessions = std::numeric_limits<int64_t>::max();
  // How long sessions are kept after the last connection to their master is
  // lost.
  absl::Duration master_lease = absl::Minutes(1);
  // The lease of a master with monitored sessions while the task drains. It is
  // long enough to reconnect after a connection was cut. Sessions of other
  // masters end at once.
  absl::Duration drain_lease = absl::Seconds(2);
  // If another process claims the task of a lost process, the lost process
  // keeps the task for this long after its last connection. If only its
  // connection was cut, it reconnects sooner.
  absl::Duration claim_grace = absl::Seconds(5);
  // The metrics of steps; null if none are recorded.
  std::shared_ptr<RuntimeMetrics> metrics;
  // Called for each monitored session; the result is kept while the session
  // exists (Process::ExpectSaves). Null: not called.
  std::function<std::shared_ptr<void>()> expect_saves;
  // Returns the memory that is still available. Called when a registration is
  // about to create large variables. Null: masters do not get this information.
  std::function<protocol::AvailableMemory()> available_memory;
};

// ResourceTotals are totals over a task's devices and all sessions, including
// resources that belong to a single kernel.
struct ResourceTotals {
  int64_t variables = 0;
  int64_t variable_bytes = 0;
  int64_t queues = 0;
  int64_t queue_elements = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TASK_RUNTIME_OPTIONS_H_
