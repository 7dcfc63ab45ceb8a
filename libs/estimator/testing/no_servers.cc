// Stands in for //libs/api, which defines sessions and servers and is above
// this module. Tests that link this file build graphs and run nothing.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "libs/estimator/task_server.h"
#include "libs/session/session.h"

namespace weft {

absl::StatusOr<std::unique_ptr<Session>> Session::Connect(
    const std::string& target, const Scope&, const SessionOptions&) {
  return absl::UnimplementedError("no session in this test: '" + target + "'");
}

namespace estimator {

absl::StatusOr<std::unique_ptr<TaskServer>> StartTaskServer(
    const TaskServerOptions&) {
  return absl::UnimplementedError("no server in this test");
}

}  // namespace estimator
}  // namespace weft
