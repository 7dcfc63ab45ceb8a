#include "libs/server/server_metrics.h"

#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/pool_progress.h"
#include "libs/metrics/metrics_text.h"

namespace weft {
namespace {

double Number(uint64_t count) { return static_cast<double>(count); }
double Number(int64_t count) { return static_cast<double>(count); }
double Number(int count) { return count; }

// Returns how many have begun and not ended. The two numbers are read at
// different times, from counters without memory ordering.
double Difference(uint64_t begun, uint64_t ended) {
  return begun > ended ? Number(begun - ended) : 0;
}

// Names and meanings are those of Prometheus's client libraries.
void AddUsage(const ProcessUsage& usage, MetricsText& text) {
  text.AddCounter("process_cpu_seconds_total",
                  "Processor time of the process, in seconds.",
                  usage.cpu_seconds);
  text.AddGauge("process_start_time_seconds",
                "When the process started, in seconds since 1970.",
                usage.start_seconds);
  text.AddGauge("process_resident_memory_bytes",
                "Resident memory of the process.",
                Number(usage.resident_bytes));
  text.AddGauge("process_virtual_memory_bytes",
                "Virtual memory of the process.", Number(usage.virtual_bytes));
  text.AddGauge("process_threads", "Threads of the process.",
                Number(usage.threads));
  text.AddGauge("process_open_fds", "Open files and sockets.",
                Number(usage.open_fds));
  text.AddGauge("process_max_fds", "Limit of open files and sockets.",
                Number(usage.max_fds));
}

void AddPools(const Scheduler& scheduler, MetricsText& text) {
  const PoolProgress* const pools = PoolProgress::Of(scheduler);
  if (pools == nullptr) return;
  for (const auto& [pool, name] :
       {std::pair(Pool::kCompute, "compute"),
        std::pair(Pool::kControl, "control"), std::pair(Pool::kGraph, "graph"),
        std::pair(Pool::kBlocking, "blocking")}) {
    text.AddGauge("weft_ready_queue_length",
                  "Closures that wait for a thread of the pool.",
                  Number(pools->num_waiting(pool)), {{"pool", name}});
    text.AddGauge("weft_threads", "Threads of the pool.",
                  Number(pools->num_threads(pool)), {{"pool", name}});
  }
  text.AddCounter("weft_closures_total",
                  "Closures that threads of the pool have started.",
                  Number(pools->num_begun()), {{"pool", "compute"}});
}

void AddMemory(Process& process, MetricsText& text) {
  const BufferPoolStats stats = process.buffers().stats();
  text.AddGauge("weft_tensor_bytes", "Memory of tensors that is in use.",
                Number(stats.bytes_in_use));
  text.AddGauge("weft_tensor_kept_bytes",
                "Memory of tensors that is kept for reuse.",
                Number(stats.bytes_kept));
  text.AddGauge("weft_tensor_peak_bytes",
                "Peak of the memory of tensors in use.",
                Number(stats.peak_bytes_in_use));
  text.AddCounter("weft_tensor_allocations_total",
                  "Allocations of tensor buffers.", Number(stats.allocations));
  text.AddCounter(
      "weft_tensor_system_allocations_total",
      "Allocations of tensor buffers that needed memory of the system.",
      Number(stats.system_allocations));
  const int64_t bound = process.memory_bound();
  if (bound == std::numeric_limits<int64_t>::max()) return;  // it has none
  text.AddGauge("weft_memory_bound_bytes",
                "Memory that the process can use, as reported by the system.",
                Number(bound));
}

void AddTraffic(const bus::Traffic& traffic, MetricsText& text) {
  text.AddCounter("weft_sent_messages_total", "Messages to other processes.",
                  Number(traffic.sent.messages.value()));
  text.AddCounter("weft_sent_bytes_total", "Bytes of these messages.",
                  Number(traffic.sent.bytes.value()));
  text.AddCounter("weft_received_messages_total",
                  "Messages from other processes.",
                  Number(traffic.received.messages.value()));
  text.AddCounter("weft_received_bytes_total", "Bytes of these messages.",
                  Number(traffic.received.bytes.value()));
  const uint64_t closed = traffic.connections_closed.value();
  text.AddGauge("weft_connections", "Connections with other processes.",
                Difference(traffic.connections_opened.value(), closed));
  text.AddCounter("weft_connections_closed_total",
                  "Connections that have ended, for whatever reason.",
                  Number(closed));
}

// Reads the ended ones first: those that end meanwhile count as running, and
// none is missed.
double Running(const Histogram& ended, const Counter& begun) {
  const uint64_t count = ended.contents().count;
  return Difference(begun.value(), count);
}

void AddSteps(const RuntimeMetrics& metrics, MetricsText& text) {
  text.AddCounter("weft_steps_total",
                  "Steps that had a part on this task and have ended.",
                  Number(metrics.step_seconds.contents().count));
  text.AddCounter("weft_step_errors_total",
                  "Ended steps that failed or were cancelled.",
                  Number(metrics.step_errors.value()));
  text.AddHistogram(
      "weft_step_seconds",
      "Duration of the parts of steps on this task, including waits.",
      metrics.step_seconds);
  text.AddGauge("weft_running_steps", "Running steps with a part on this task.",
                Running(metrics.step_seconds, metrics.steps_begun));
}

void AddCheckpoints(const CheckpointMetrics& metrics, MetricsText& text) {
  text.AddHistogram("weft_save_seconds",
                    "Duration of writing this task's parts of checkpoints.",
                    metrics.save_seconds);
  text.AddCounter("weft_saved_bytes_total", "Bytes written to checkpoints.",
                  Number(metrics.saved_bytes.value()));
  text.AddCounter("weft_save_errors_total",
                  "Parts of checkpoints that could not be written.",
                  Number(metrics.save_errors.value()));
  text.AddHistogram("weft_restore_seconds",
                    "Duration of reading tensors from checkpoints.",
                    metrics.restore_seconds);
  text.AddCounter("weft_restored_bytes_total",
                  "Bytes of tensors read from checkpoints.",
                  Number(metrics.restored_bytes.value()));
  text.AddCounter("weft_restore_errors_total", "Failed reads from checkpoints.",
                  Number(metrics.restore_errors.value()));
}

void AddRuntime(const TaskRuntime& runtime, MetricsText& text) {
  const ResourceTotals totals = runtime.CountResources();
  text.AddGauge("weft_variables", "Variables on the task's devices.",
                Number(totals.variables));
  text.AddGauge("weft_variable_bytes", "Memory of the values of variables.",
                Number(totals.variable_bytes));
  text.AddGauge("weft_queues", "Queues on the task's devices.",
                Number(totals.queues));
  text.AddGauge("weft_queue_elements", "Elements in queues.",
                Number(totals.queue_elements));
  std::map<std::string, int64_t> waits = runtime.CountWaits();
  waits["_Recv"];  // so that the series always exists
  for (const auto& [op, count] : waits) {
    text.AddGauge("weft_waiting_nodes",
                  "Nodes of running steps that wait, by op: _Recv for a value, "
                  "the ops of queues for elements or free capacity.",
                  Number(count), {{"op", op}});
  }
  const StepTable::Size steps = runtime.steps();
  text.AddGauge("weft_unclaimed_bytes",
                "Values from other tasks that no node has received yet.",
                Number(steps.waiting_bytes));
  text.AddGauge(
      "weft_early_steps",
      "Steps whose values have arrived before they began on this task.",
      Number(steps.waiting));
  text.AddGauge("weft_registered_callables",
                "Callables that masters have registered on this task.",
                Number(runtime.num_registrations()));
}

void AddSessions(const Master& master, const SessionMetrics& metrics,
                 MetricsText& text) {
  text.AddGauge("weft_sessions", "Sessions that have this task as master.",
                Number(master.num_sessions()));
  text.AddCounter("weft_session_steps_total",
                  "Steps of those sessions that have ended.",
                  Number(metrics.step_seconds.contents().count));
  text.AddCounter("weft_session_step_errors_total",
                  "Ended steps that failed or were cancelled.",
                  Number(metrics.step_errors.value()));
  text.AddHistogram("weft_session_step_seconds",
                    "Duration of the steps of those sessions, on all tasks.",
                    metrics.step_seconds);
  text.AddGauge("weft_session_running_steps",
                "Running steps of those sessions.",
                Running(metrics.step_seconds, metrics.steps_begun));
}

void AddCoordinator(const Coordinator& coordinator, MetricsText& text) {
  using protocol::TaskState;
  std::map<TaskState, int> counts = coordinator.CountTasks();
  for (const auto& [state, name] : {std::pair(TaskState::kExpected, "expected"),
                                    std::pair(TaskState::kAlive, "alive"),
                                    std::pair(TaskState::kLost, "lost"),
                                    std::pair(TaskState::kLeft, "left")}) {
    text.AddGauge("weft_cluster_tasks",
                  "Tasks of the cluster by their state at the coordinator.",
                  Number(counts[state]), {{"state", name}});
  }
}

void AddFileServer(const FileServer& files, MetricsText& text) {
  text.AddGauge("weft_open_files", "Open files of clients.",
                Number(files.num_open_files()));
  text.AddCounter("weft_file_written_bytes_total",
                  "Bytes that clients have written to files.",
                  Number(files.written_bytes()));
  text.AddCounter("weft_file_read_bytes_total",
                  "Bytes that clients have read from files.",
                  Number(files.read_bytes()));
}

}  // namespace

std::string ServerMetricsText(const MeasuredServer& server) {
  MetricsText text(
      {{"job", server.job_name}, {"task", absl::StrCat(server.task_index)}});
  Process& process = *server.process;
  AddUsage(process.usage(), text);
  AddPools(process.scheduler(), text);
  AddMemory(process, text);
  AddTraffic(process.traffic(), text);
  text.AddGauge("weft_joined", "1 while the task has joined its coordinator.",
                server.link->joined() ? 1 : 0);
  if (server.task != nullptr) {
    AddSteps(*server.metrics->runtime, text);
    AddCheckpoints(server.metrics->runtime->checkpoints, text);
    AddRuntime(*server.task->runtime(), text);
    AddSessions(*server.task->master(), server.metrics->sessions, text);
  }
  if (server.coordinator != nullptr) AddCoordinator(*server.coordinator, text);
  if (server.file_server != nullptr) AddFileServer(*server.file_server, text);
  return text.ToString();
}

}  // namespace weft
