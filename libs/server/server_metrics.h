// The metrics of a server for Prometheus: of its process, of its task, and of
// its roles. docs/operations/metrics.md lists all of them.
#ifndef WEFT_LIBS_SERVER_SERVER_METRICS_H_
#define WEFT_LIBS_SERVER_SERVER_METRICS_H_

#include <memory>
#include <string>

#include "libs/checkpoint_writer/file_server.h"
#include "libs/coordinator/coordinator.h"
#include "libs/master/session_metrics.h"
#include "libs/runtime/process/process.h"
#include "libs/runtime/runtime_metrics.h"
#include "libs/server/coordinator_link.h"
#include "libs/server/task.h"

namespace weft {

// Metrics counted while steps run, of a task that exports them. Everything else
// is collected on request.
struct TaskMetrics {
  std::shared_ptr<RuntimeMetrics> runtime = std::make_shared<RuntimeMetrics>();
  SessionMetrics sessions;
};

// All must outlive the call.
struct MeasuredServer {
  Process* process = nullptr;  // never null
  std::string job_name;
  int task_index = 0;
  // Null for a task without devices.
  const Task* task = nullptr;
  const TaskMetrics* metrics = nullptr;   // never null
  const CoordinatorLink* link = nullptr;  // never null
  // Null unless the server hosts it.
  const Coordinator* coordinator = nullptr;
  const FileServer* file_server = nullptr;
};

// In the Prometheus format, all with the labels "job" and "task". Takes the
// locks of all its sources, one after the other, and reads files of /proc.
std::string ServerMetricsText(const MeasuredServer& server);

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_SERVER_METRICS_H_
