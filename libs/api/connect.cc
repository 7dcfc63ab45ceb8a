// Implements Session::Connect for each kind of target. For "" it creates a Task
// in this process, with its own coordinator. "zmq://host:port" is a server: a
// server of this Process is called directly, any other over the bus.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/thread_scheduler.h"
#include "libs/base/status.h"
#include "libs/bus/address.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/coordinator/coordinator.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/master/master_client.h"
#include "libs/runtime/process/process.h"
#include "libs/server/task.h"
#include "libs/session/session.h"

namespace weft {
namespace {

// TensorFlow's name for the single task of an in-process session.
constexpr char kLocalTask[] = "/job:localhost/replica:0/task:0";

// Creates a Process for a session whose options have none.
absl::StatusOr<std::unique_ptr<Process>> NewProcess(
    const ProcessOptions& options) {
  auto process = std::make_unique<Process>(options);
  RETURN_IF_ERROR(ThreadsStatus(process->scheduler()));
  return process;
}

// InProcessTask is a task that exists as long as the session that created it,
// with private containers. It is a cluster of its own.
class InProcessTask {
 public:
  static absl::StatusOr<std::shared_ptr<InProcessTask>> Create(
      const SessionOptions& options) {
    std::unique_ptr<Process> own_process;
    if (options.process == nullptr) {
      ASSIGN_OR_RETURN(own_process, NewProcess({.client_functions =
                                                    options.client_functions}));
    }
    Process& process = options.process ? *options.process : *own_process;
    ASSIGN_OR_RETURN(auto gpus,
                     process.NewGpus(kLocalTask, CountOf("GPU", 0, options)));
    return std::make_shared<InProcessTask>(options, std::move(own_process),
                                           process, std::move(gpus));
  }

  InProcessTask(const SessionOptions& options,
                std::unique_ptr<Process> own_process, Process& process,
                std::vector<std::unique_ptr<Device>> gpus)
      : own_process_(std::move(own_process)),
        process_(process),
        incarnation_(process_.random().NextId()),
        logger_(NewConsoleLogger("session")),
        coordinator_({.scheduler = &process_.scheduler(),
                      .random = &process_.random(),
                      .cluster = Cluster(),
                      .task = kLocalTask,
                      .incarnation = incarnation_,
                      .heartbeat_interval = absl::InfiniteDuration(),
                      .heartbeat_timeout = absl::InfiniteDuration()}),
        task_({.process = &process_,
               .task = kLocalTask,
               .incarnation = incarnation_,
               .cpus = CountOf("CPU", 1, options),
               .gpus = std::move(gpus),
               .coordinator = &coordinator_,
               .logger = logger_.get(),
               .runtime = {.default_container = "localhost"},
               .master = {
                   .unknown_tensor_code = absl::StatusCode::kInvalidArgument,
                   .log_waits_after = options.log_waits_after}}) {
    Join();
  }

  Master& master() { return *task_.master(); }
  Process& process() { return process_; }

 private:
  static ClusterSpec Cluster() {
    return ClusterSpec{{"localhost", {"localhost:0"}}};
  }
  static int CountOf(const char* type, int otherwise,
                     const SessionOptions& options) {
    auto it = options.device_count.find(type);
    return it == options.device_count.end() ? otherwise : it->second;
  }

  // Joins the task's own coordinator, which answers at once.
  void Join() {
    coordinator_.Join({.task = kLocalTask,
                       .incarnation = incarnation_,
                       .cluster = Cluster().ToString(),
                       .devices = task_.runtime()->Devices()},
                      absl::InfiniteFuture(),
                      [](const absl::StatusOr<protocol::JoinReply>&) {});
  }

  const std::unique_ptr<Process> own_process_;
  Process& process_;
  const uint64_t incarnation_;
  const std::unique_ptr<Logger> logger_;
  Coordinator coordinator_;
  Task task_;
};

// RemoteMaster is a client connection to a server in another process. It exists
// as long as the session uses it.
class RemoteMaster {
 public:
  // `own_process` is null if the options have a process.
  RemoteMaster(const bus::Address& address, const SessionOptions& options,
               std::unique_ptr<Process> own_process)
      : own_process_(std::move(own_process)),
        process_(options.process ? *options.process : *own_process_),
        logger_(NewConsoleLogger("session")),
        client_(process_.transport(),
                {.address = address,
                 .self = {.incarnation = process_.random().NextId()},
                 .scheduler = &process_.scheduler(),
                 .allocator = &process_.buffers(),
                 .connect_timeout = options.connect_timeout,
                 .operation_timeout = options.operation_timeout,
                 .log_waits_after = options.log_waits_after,
                 .logger = logger_.get()}) {}

  protocol::MasterClient& client() { return client_; }
  Process& process() { return process_; }

 private:
  const std::unique_ptr<Process> own_process_;
  Process& process_;
  const std::unique_ptr<Logger> logger_;
  protocol::MasterClient client_;
};

// The result of reaching a target: its master, the scheduler for waiting runs,
// and this process's file system.
struct Reached {
  std::shared_ptr<protocol::Master> master;
  Process* process = nullptr;
};

// Wraps a master for a monitored session. While the result exists, draining
// checkpoint writers wait for the session.
std::shared_ptr<protocol::Master> ExpectingSaves(Reached reached) {
  struct Kept {
    std::shared_ptr<protocol::Master> master;
    std::shared_ptr<void> saves;
  };
  auto kept = std::make_shared<Kept>(
      Kept{std::move(reached.master), reached.process->ExpectSaves()});
  protocol::Master* const master = kept->master.get();
  return {std::move(kept), master};
}

absl::StatusOr<Reached> ReachInProcess(const SessionOptions& options) {
  for (const auto& [type, count] : options.device_count) {
    if (count < 0 || (type == "CPU" && count == 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "device_count requests ", count, " devices of type ", type, "."));
    }
  }
  ASSIGN_OR_RETURN(auto task, InProcessTask::Create(options));
  // Sessions refer to the master; this reference also keeps the task alive.
  return Reached{{task, &task->master()}, &task->process()};
}

absl::StatusOr<Reached> ReachServer(const std::string& target,
                                    const SessionOptions& options) {
  if (!absl::StartsWith(target, "zmq://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("The target \"", target,
                     "\" is not \"\" (a session in this process) and does not "
                     "begin with zmq:// (a server, \"zmq://host:port\")."));
  }
  ASSIGN_OR_RETURN(const bus::Address address, bus::Address::Parse(target));
  if (options.process != nullptr) {
    auto local = options.process->local_tasks().FindMaster(address.ToTarget());
    if (local) {
      return Reached{local, options.process};
    }
  }
  std::unique_ptr<Process> own_process;
  if (options.process == nullptr) {
    ASSIGN_OR_RETURN(own_process,
                     NewProcess({.peer_timeout = options.peer_timeout}));
  }
  auto remote =
      std::make_shared<RemoteMaster>(address, options, std::move(own_process));
  RETURN_IF_ERROR(remote->client().WaitForConnection());
  return Reached{{remote, &remote->client()}, &remote->process()};
}

absl::StatusOr<Reached> Reach(const std::string& target,
                              const SessionOptions& options) {
  if (!options.client_functions.empty() &&
      (!target.empty() || options.process != nullptr)) {
    return absl::InvalidArgumentError(
        "client_functions of a session are for a session in this process with "
        "a Process of its own. Give them to the Process "
        "(ProcessOptions::client_functions), or to the Server of the task that "
        "is to call them (ServerOptions::client_functions).");
  }
  return target.empty() ? ReachInProcess(options)
                        : ReachServer(target, options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Connect(
    const std::string& target, const Scope& scope,
    const SessionOptions& options) {
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(Reached reached, Reach(target, options));
  Process& process = *reached.process;
  if (options.is_monitored) reached.master = ExpectingSaves(reached);
  return Create(std::move(reached.master), process.scheduler(), scope, options,
                &process.file_system());
}

absl::Status Session::Reset(const std::string& target,
                            const std::vector<std::string>& containers,
                            const SessionOptions& options) {
  if (target.empty()) {
    return absl::InvalidArgumentError(
        "A session in this process ends with its variables, so there is "
        "nothing to reset: give the target of a server, \"zmq://host:port\".");
  }
  ASSIGN_OR_RETURN(Reached reached, ReachServer(target, options));
  return protocol::BlockingMaster(*reached.master, reached.process->scheduler())
      .Reset(containers, options.device_filters);
}

}  // namespace weft
