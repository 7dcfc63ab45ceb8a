#include "tools/conformance/weft_session_factory.h"

#include <utility>

#include "libs/base/status.h"
#include "libs/graph/graph_def.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"

namespace weft::conformance {
namespace {

class WeftSession : public ReplaySession {
 public:
  WeftSession(Scope scope, std::unique_ptr<Session> session)
      : scope_(std::move(scope)), session_(std::move(session)) {}

  absl::StatusOr<std::vector<Tensor>> Run(const RunRequest& request) override {
    return session_->RunNamed(request.feeds, request.fetches, request.targets,
                              {.timeout = request.timeout});
  }

  absl::Status Extend(absl::string_view graph_def) override {
    RETURN_IF_ERROR(ImportGraphDef(graph_def, scope_.graph()));
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
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReplaySession>> WeftSessionFactory::NewSession(
    const SessionSpec& spec, absl::string_view graph_def, bool keep_placement) {
  Scope scope = Scope::Root();
  RETURN_IF_ERROR(ImportGraphDef(graph_def, scope.graph()));
  SessionOptions options;
  options.allow_soft_placement = spec.allow_soft_placement;
  options.log_device_placement = spec.log_device_placement || keep_placement;
  options.isolate_session_state = !target_.empty();
  options.operation_timeout = spec.operation_timeout;
  options.process = &process_;
  ASSIGN_OR_RETURN(auto session, Session::Connect(target_, scope, options));
  return std::make_unique<WeftSession>(std::move(scope), std::move(session));
}

}  // namespace weft::conformance
