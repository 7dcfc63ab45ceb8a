#include "benchmarks/common/worker_task.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"

namespace weft::benchmarks {

WorkerTask::WorkerTask(const ClusterSpec& cluster, int index)
    : device_(absl::StrCat("/job:worker/task:", index)) {
  auto server = Server::Create(cluster, {.job_name = "worker",
                                         .task_index = index,
                                         .process = &process_,
                                         .logger = &logger_});
  Check(server.status());
  server_ = *std::move(server);
}

std::unique_ptr<Session> WorkerTask::Connect(const Scope& root,
                                             SessionOptions options) {
  options.device_filters = {"/job:ps", device_};
  options.process = &process_;
  auto session = Session::Connect(server_->target(), root, options);
  Check(session.status());
  return *std::move(session);
}

}  // namespace weft::benchmarks
