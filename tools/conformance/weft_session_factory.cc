#include "tools/conformance/weft_session_factory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/logging.h"
#include "libs/base/status.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/cluster/device_name.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/scope.h"
#include "libs/server/server.h"
#include "libs/session/session.h"

namespace weft::conformance {
namespace {

// Places nodes that request no device on the GPU, beginning with node `first`.
void PutOnGpu(Graph& graph, int first) {
  for (const Node* node : graph.nodes().subspan(first)) {
    if (node->requested_device().empty()) {
      graph.set_requested_device(node, "/device:GPU:0");
    }
  }
}

class WeftSession : public ReplaySession {
 public:
  WeftSession(Scope scope, std::unique_ptr<Session> session, bool on_gpu)
      : scope_(std::move(scope)),
        session_(std::move(session)),
        on_gpu_(on_gpu) {}

  absl::StatusOr<std::vector<Tensor>> Run(const RunRequest& request) override {
    return session_->RunNamed(request.feeds, request.fetches, request.targets,
                              {.timeout = request.timeout});
  }

  absl::Status Extend(absl::string_view graph_def) override {
    const int first = scope_.graph().num_nodes();
    RETURN_IF_ERROR(ImportGraphDef(graph_def, scope_.graph()));
    if (on_gpu_) PutOnGpu(scope_.graph(), first);
    return session_->Extend();
  }

  absl::Status Close() override { return session_->Close(); }

  std::vector<Placement> Placements() override {
    std::vector<Placement> result;
    for (const protocol::NodePlacement& node : session_->Placement()) {
      result.push_back({node.name, node.device, node.ToString()});
    }
    return result;
  }

 private:
  const Scope scope_;
  const std::unique_ptr<Session> session_;
  const bool on_gpu_;
};

SessionOptions OptionsOf(const SessionSpec& spec, bool keep_placement,
                         const GraphOptions& graph_options, Process& process) {
  SessionOptions options;
  options.allow_soft_placement = spec.allow_soft_placement;
  options.log_device_placement = spec.log_device_placement || keep_placement;
  options.operation_timeout = spec.operation_timeout;
  options.graph_options = graph_options;
  options.process = &process;
  return options;
}

absl::StatusOr<std::unique_ptr<ReplaySession>> Open(
    const std::string& target, absl::string_view graph_def,
    const SessionOptions& options) {
  Scope scope = Scope::Root();
  RETURN_IF_ERROR(ImportGraphDef(graph_def, scope.graph()));
  const bool on_gpu = target.empty() && options.device_count.contains("GPU");
  if (on_gpu) PutOnGpu(scope.graph(), 0);
  ASSIGN_OR_RETURN(auto session, Session::Connect(target, scope, options));
  return std::make_unique<WeftSession>(std::move(scope), std::move(session),
                                       on_gpu);
}

// The servers of one case. They share a Process that is not the client's, so
// that clients connect over sockets.
class Cluster : public SessionFactory {
 public:
  Cluster(Process& client, const GraphOptions& graph_options)
      : client_(client), graph_options_(graph_options) {}

  absl::Status Start(const std::map<std::string, int>& jobs) {
    ClusterSpec spec;
    for (const auto& [job, num_tasks] : jobs) {
      for (int i = 0; i < num_tasks; ++i) {
        RETURN_IF_ERROR(spec.AddTask(job, i, "localhost:0"));
      }
    }
    for (const auto& [job, num_tasks] : jobs) {
      for (int i = 0; i < num_tasks; ++i) {
        ASSIGN_OR_RETURN(servers_[TaskName(job, i)],
                         Server::Create(spec, {.job_name = job,
                                               .task_index = i,
                                               .process = &process_,
                                               .logger = &logger_}));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<ReplaySession>> NewSession(
      const SessionSpec& spec, absl::string_view graph_def,
      bool keep_placement) override {
    // If the spec names no task, the session is in this process and does not
    // use the cluster.
    std::string target;
    if (!spec.task.empty()) {
      ASSIGN_OR_RETURN(target, TargetOf(spec.task));
    }
    return Open(target, graph_def,
                OptionsOf(spec, keep_placement, graph_options_, client_));
  }

  absl::StatusOr<std::unique_ptr<Session>> Connect(
      const Scope& scope) override {
    return Session::Connect(/*target=*/"", scope,
                            OptionsOf({}, false, graph_options_, client_));
  }

  absl::Status Reset(const std::string& task,
                     const std::vector<std::string>& containers) override {
    ASSIGN_OR_RETURN(const std::string target, TargetOf(task));
    return Session::Reset(target, containers, {.process = &client_});
  }

  absl::StatusOr<std::unique_ptr<SessionFactory>> StartCluster(
      const std::map<std::string, int>&) override {
    return absl::FailedPreconditionError("the case already has its cluster");
  }

 private:
  absl::StatusOr<std::string> TargetOf(const std::string& task) const {
    ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(task));
    name.replica = 0;
    auto it = servers_.find(name.ToString());
    if (it != servers_.end()) return it->second->target();
    return absl::NotFoundError(
        absl::StrCat("the case's cluster has no task ", task));
  }

  Process& client_;
  const GraphOptions graph_options_;
  NullLogger logger_;
  Process process_;
  std::map<std::string, std::unique_ptr<Server>> servers_;
};

}  // namespace

WeftSessionFactory WeftSessionFactory::OnGpu(Process& process) {
  WeftSessionFactory factory(process, /*target=*/"");
  factory.on_gpu_ = true;
  return factory;
}

absl::StatusOr<std::unique_ptr<ReplaySession>> WeftSessionFactory::NewSession(
    const SessionSpec& spec, absl::string_view graph_def, bool keep_placement) {
  SessionOptions options =
      OptionsOf(spec, keep_placement, graph_options_, process_);
  options.isolate_session_state = !target_.empty();
  if (on_gpu_) {
    options.device_count["GPU"] = 1;
    options.allow_soft_placement = true;
  }
  return Open(target_, graph_def, options);
}

absl::StatusOr<std::unique_ptr<Session>> WeftSessionFactory::Connect(
    const Scope& scope) {
  SessionOptions options =
      OptionsOf({}, /*keep_placement=*/false, graph_options_, process_);
  options.isolate_session_state = !target_.empty();
  return Session::Connect(target_, scope, options);
}

absl::Status WeftSessionFactory::Reset(
    const std::string& task, const std::vector<std::string>& containers) {
  if (!task.empty()) {
    return absl::NotFoundError(
        absl::StrCat("the case has no cluster with a task ", task));
  }
  return Session::Reset(target_, containers, {.process = &process_});
}

absl::StatusOr<std::unique_ptr<SessionFactory>>
WeftSessionFactory::StartCluster(const std::map<std::string, int>& jobs) {
  auto cluster = std::make_unique<Cluster>(process_, graph_options_);
  RETURN_IF_ERROR(cluster->Start(jobs));
  return cluster;
}

}  // namespace weft::conformance
