// SessionFactory: what a case is replayed on. Behind it stands weft::Session,
// or in tests whatever plays its part.
#ifndef WEFT_TOOLS_CONFORMANCE_SESSION_FACTORY_H_
#define WEFT_TOOLS_CONFORMANCE_SESSION_FACTORY_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/tensor/tensor.h"
#include "tools/conformance/case.h"

namespace weft::conformance {

struct RunRequest {
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<std::string> fetches, targets;
  absl::Duration timeout = absl::InfiniteDuration();
};

struct Placement {
  std::string node;
  std::string device;
  std::string log_line;  // as TensorFlow prints it
};

class ReplaySession {
 public:
  virtual ~ReplaySession() = default;
  // May be called by several threads at once.
  virtual absl::StatusOr<std::vector<Tensor>> Run(
      const RunRequest& request) = 0;
  virtual absl::Status Extend(absl::string_view graph_def) = 0;
  virtual absl::Status Close() = 0;
  // Of all nodes so far, if the session keeps it.
  virtual std::vector<Placement> Placements() = 0;
};

class SessionFactory {
 public:
  virtual ~SessionFactory() = default;
  // `keep_placement` asks for Placements.
  virtual absl::StatusOr<std::unique_ptr<ReplaySession>> NewSession(
      const SessionSpec& spec, absl::string_view graph_def,
      bool keep_placement) = 0;
  // For what runs a session by itself: on a graph of the runner's own.
  virtual absl::StatusOr<std::unique_ptr<Session>> Connect(
      const Scope& scope) = 0;
  // Clears containers at a task of the cluster ("/job:ps/task:0").
  virtual absl::Status Reset(const std::string& task,
                             const std::vector<std::string>& containers) = 0;
  // Starts servers (job -> number of tasks), which live as long as what is
  // returned; its sessions connect to the task that their spec names.
  virtual absl::StatusOr<std::unique_ptr<SessionFactory>> StartCluster(
      const std::map<std::string, int>& jobs) = 0;
};

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_SESSION_FACTORY_H_
