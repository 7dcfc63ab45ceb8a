// TaskRuntimeOptions are the components and limits of a TaskRuntime.
// ResourceTotals are the totals over its devices.
//
// Threads: values; what they point to must outlive the runtime.
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
  // The container that an empty container name means: the task's job.
  std::string default_container;
  // Canonical name, "/job:ps/replica:0/task:0".
  std::string task = "/job:localhost/replica:0/task:0";
  // Of this task's own master.
  uint64_t incarnation = 0;
  // Null if there is no other task. Must outlive the runtime.
  protocol::WorkerDirectory* peers = nullptr;
  // Quotas (docs/operations/quotas.md): values from other tasks for the steps
  // of one session that were not received yet, and its registrations.
  int64_t max_unclaimed_bytes_per_session = int64_t{8} << 30;
  int64_t max_registrations_per_session = 65536;
  int64_t max_registered_bytes_per_session =
      std::numeric_limits<int64_t>::max();
  // Sessions of all masters together.
  int64_t max_sessions = std::numeric_limits<int64_t>::max();
  // How long sessions outlive the last connection to their master.
  absl::Duration master_lease = absl::Minutes(1);
  // The same for masters with monitored sessions while the task drains: long
  // enough to redial a connection that was cut. Others are not waited for then.
  absl::Duration drain_lease = absl::Seconds(2);
  // How long a task that another process also claims stays with the first
  // process after its last connection: if only the connection was cut, it
  // returns sooner.
  absl::Duration claim_grace = absl::Seconds(5);
  // Metrics of steps. Null: none.
  std::shared_ptr<RuntimeMetrics> metrics;
  // Called for each monitored session; the result is kept for as long as the
  // session exists (Process::ExpectSaves). Null: not called.
  std::function<std::shared_ptr<void>()> expect_saves;
  // Returns the memory available for more, called when a registration is about
  // to create large variables. Null: no master is informed of them.
  std::function<protocol::AvailableMemory()> available_memory;
};

// Totals of a task's devices, over all sessions, including resources of single
// kernels.
struct ResourceTotals {
  int64_t variables = 0;
  int64_t variable_bytes = 0;
  int64_t queues = 0;
  int64_t queue_elements = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TASK_RUNTIME_OPTIONS_H_
