// Replaces //libs/api, which defines sessions and servers in a higher layer, in
// tests that only build graphs. Starting a session or a server fails.
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
