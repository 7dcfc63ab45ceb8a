// SessionFactory creates the sessions on which a case is replayed. They use
// weft::Session, or are fakes in tests.
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
  std::string log_line;  // the line that TensorFlow prints
};

class ReplaySession {
 public:
  virtual ~ReplaySession() = default;
  // May be called by several threads concurrently.
  virtual absl::StatusOr<std::vector<Tensor>> Run(
      const RunRequest& request) = 0;
  virtual absl::Status Extend(absl::string_view graph_def) = 0;
  virtual absl::Status Close() = 0;
  // Returns the placements of all nodes so far, if the session records them.
  virtual std::vector<Placement> Placements() = 0;
};

class SessionFactory {
 public:
  virtual ~SessionFactory() = default;
  // Creates a session. If `keep_placement` is set, the session records
  // Placements.
  virtual absl::StatusOr<std::unique_ptr<ReplaySession>> NewSession(
      const SessionSpec& spec, absl::string_view graph_def,
      bool keep_placement) = 0;
  // Connects a session for checks that use it directly, with their own graph.
  virtual absl::StatusOr<std::unique_ptr<Session>> Connect(
      const Scope& scope) = 0;
  // Clears containers at a task of the cluster, for example "/job:ps/task:0".
  virtual absl::Status Reset(const std::string& task,
                             const std::vector<std::string>& containers) = 0;
  // Starts servers, which live as long as the result. `jobs` maps each job to
  // its number of tasks. Sessions of the result connect to the task named in
  // their spec.
  virtual absl::StatusOr<std::unique_ptr<SessionFactory>> StartCluster(
      const std::map<std::string, int>& jobs) = 0;
};

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_SESSION_FACTORY_H_
