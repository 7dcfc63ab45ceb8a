// StartTaskServer starts the server of a program that libs/estimator runs as a
// task.
#include "libs/estimator/task_server.h"

#include <utility>

#include "libs/base/status.h"
#include "libs/runtime/process/process.h"
#include "libs/server/server.h"

namespace weft::estimator {
namespace {

class RealTaskServer : public TaskServer {
 public:
  explicit RealTaskServer(Process* given)
      : own_process_(given == nullptr ? std::make_unique<Process>() : nullptr),
        process_(given == nullptr ? *own_process_ : *given) {}

  absl::Status Start(const TaskServerOptions& options) {
    ServerOptions server;
    server.job_name = options.job_name;
    server.task_index = options.task_index;
    server.insecure = options.insecure;
    server.metrics_port = options.metrics_port;
    server.process = &process_;
    server.heartbeat_interval = options.heartbeat_interval;
    server.stop_after_job = options.stop_after_job;
    ASSIGN_OR_RETURN(server_, Server::Create(options.cluster, server));
    return absl::OkStatus();
  }

  Process* process() override { return &process_; }

  bool IsStopRequested() const override { return server_->is_stop_requested(); }

  absl::Status Join(const std::function<bool()>& stop_requested) override {
    while (stop_requested &&
           !server_->AwaitStopped(process_.clock().Now() + kStopAskInterval)) {
      if (stop_requested()) return server_->Stop();
    }
    return server_->Join();
  }

  bool AwaitJob(const std::string& job, absl::Duration timeout) override {
    return server_->AwaitJob(job, process_.clock().Now() + timeout);
  }

  bool AwaitCoordinatorsEnd(absl::Duration timeout) override {
    return server_->LeaveAndAwaitCoordinatorsEnd(process_.clock().Now() +
                                                 timeout);
  }

  absl::Status Finish() override { return server_->Finish(); }

 private:
  const std::unique_ptr<Process> own_process_;
  Process& process_;
  std::unique_ptr<Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TaskServer>> StartTaskServer(
    const TaskServerOptions& options) {
  auto server = std::make_unique<RealTaskServer>(options.process);
  RETURN_IF_ERROR(server->Start(options));
  return server;
}

}  // namespace weft::estimator
