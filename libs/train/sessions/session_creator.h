// SessionCreator creates the sessions of a MonitoredSession, the first one and
// replacements of lost ones. ChiefSessionCreator initializes or restores
// variables; WorkerSessionCreator waits until the chief has done so.
//
// Threads: only one call at a time is allowed. CreateSession blocks.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_SESSION_CREATOR_H_
#define WEFT_LIBS_TRAIN_SESSIONS_SESSION_CREATOR_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/sessions/scaffold.h"
#include "libs/train/sessions/session_manager.h"

namespace weft::train {

class SessionCreator {
 public:
  virtual ~SessionCreator() = default;

  // Adds the last nodes that sessions need to the graph. Called once, before
  // the first session.
  virtual absl::Status FinalizeGraph(const Scope& scope) = 0;
  virtual absl::StatusOr<std::unique_ptr<Session>> CreateSession() = 0;
  // Creates a session after the end of training, while other programs may still
  // train. Variables that are initialized keep their values.
  virtual absl::StatusOr<std::unique_ptr<Session>> Reconnect() {
    return CreateSession();
  }

  // Sets a function that returns true when training is to stop, which ends
  // waits for a session (CANCELLED). Must be called before FinalizeGraph. The
  // captures of the function must outlive the creation of the last session.
  void set_stop_requested(std::function<bool()> stop_requested) {
    stop_requested_ = std::move(stop_requested);
  }

 protected:
  bool IsStopRequested() const { return stop_requested_ && stop_requested_(); }

 private:
  std::function<bool()> stop_requested_;
};

struct SessionCreatorOptions {
  std::shared_ptr<Scaffold> scaffold;  // null: a new scaffold
  std::string master;                  // target; "": in this process
  SessionOptions config;
  // Only for ChiefSessionCreator: restores the newest checkpoint of the
  // directory, or the checkpoint with this path.
  std::string checkpoint_dir;
  std::string checkpoint_filename_with_path;
  // How long a worker waits for the chief to initialize the variables. Used
  // only by WorkerSessionCreator; the default is TensorFlow's.
  absl::Duration max_wait = absl::Minutes(30);
  SessionFactory session_factory = Session::Connect;
  absl::Duration log_interval = absl::Seconds(30);  // log interval of waits
  std::function<bool()> stop_requested;             // ends waits; may be null
  Scheduler* scheduler = nullptr;  // for waits; null: a new scheduler
  Logger* logger = nullptr;        // null: stderr
};

class ChiefSessionCreator : public SessionCreator {
 public:
  explicit ChiefSessionCreator(SessionCreatorOptions options);
  absl::Status FinalizeGraph(const Scope& scope) override;
  absl::StatusOr<std::unique_ptr<Session>> CreateSession() override;
  absl::StatusOr<std::unique_ptr<Session>> Reconnect() override;

 private:
  const SessionCreatorOptions options_;
  const std::shared_ptr<Scaffold> scaffold_;
  std::optional<SessionManager> manager_;
};

class WorkerSessionCreator : public SessionCreator {
 public:
  explicit WorkerSessionCreator(SessionCreatorOptions options);
  absl::Status FinalizeGraph(const Scope& scope) override;
  absl::StatusOr<std::unique_ptr<Session>> CreateSession() override;

 private:
  const SessionCreatorOptions options_;
  const std::shared_ptr<Scaffold> scaffold_;
  std::optional<SessionManager> manager_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_SESSION_CREATOR_H_
