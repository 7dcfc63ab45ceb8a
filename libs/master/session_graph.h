// SessionGraph is the graph of one session at its master: its versions, and the
// placement of its nodes.
//
// Extensions are applied one after the other. All new nodes are placed in one
// call to the coordinator; an extension that cannot be placed leaves the graph
// at its old version. While an extension waits for the coordinator, callers see
// the previous version.
//
// Threads: all methods may be called from any thread. None blocks, but reading
// a large graph takes long.
#ifndef WEFT_LIBS_MASTER_SESSION_GRAPH_H_
#define WEFT_LIBS_MASTER_SESSION_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/graph.h"
#include "libs/graph/placement_graph.h"
#include "libs/master/async_mutex.h"
#include "libs/master/callable.h"
#include "libs/master/master.h"
#include "libs/master/open_calls.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/protocol/master/master.h"

namespace weft {

class SessionGraph {
 public:
  // `config` and `options` must outlive this object.
  SessionGraph(uint64_t session, const protocol::SessionConfig& config,
               const MasterOptions& options);

  using Extended =
      absl::AnyInvocable<void(absl::StatusOr<protocol::ExtensionResult>)>;

  // Adds nodes, on behalf of a call that keeps this object alive. If a client
  // that did not receive the answer sends the same extension again, it gets the
  // same answer. Errors: ABORTED if the extension is for another version;
  // DEADLINE_EXCEEDED; RESOURCE_EXHAUSTED; the coordinator's error; the cause
  // of the call's cancellation.
  void Extend(const OpenCalls::CallPtr& open,
              protocol::GraphExtension extension, absl::Time deadline,
              Extended done) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the part of this version that the callable needs.
  absl::StatusOr<PrunedCallable> Prune(const protocol::CallableSpec& spec)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the named resources that the graph shares, with their devices.
  std::vector<protocol::PlacedResource> declared() const;

 private:
  // An extension in progress. It has `answered` or `request` once it has the
  // lock.
  struct Extension {
    OpenCalls::CallPtr open;
    protocol::GraphExtension extension;
    absl::Time deadline;
    Extended done;
    // The earlier answer to this same extension.
    std::optional<protocol::ExtensionResult> answered;
    int first_id = 0;   // id of the first new node
    int64_t bytes = 0;  // bytes of the quota that the new nodes take
    // Freed on the graph pool, because it is large.
    std::shared_ptr<const protocol::PlacementRequest> request;
  };
  using ExtensionPtr = std::shared_ptr<Extension>;

  void ExtendLocked(ExtensionPtr pending) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the nodes, which are not visible yet. The graph is unchanged after an
  // error.
  absl::Status BeginExtension(Extension& pending) ABSL_LOCKS_EXCLUDED(mutex_);
  // Imports the nodes into the graph. After an error the caller must Undo.
  absl::Status Import(Extension& pending) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the nodes that an extension has added.
  void Undo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Checks the new nodes' ops. A client's _Retval could write its value
  // anywhere.
  absl::Status CheckOps() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const protocol::PlacementRequest> DescribeRequest()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls the coordinator.
  void Place(ExtensionPtr pending) ABSL_LOCKS_EXCLUDED(mutex_);
  // Handles the coordinator's answer. Runs on the graph pool, because it takes
  // long if the graph is large.
  void Placed(Extension& pending,
              absl::StatusOr<protocol::PlacementReply> reply)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the nodes part of the graph, or removes them.
  absl::StatusOr<protocol::ExtensionResult> EndExtension(
      const Extension& pending, absl::StatusOr<protocol::PlacementReply> reply)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Unlocks the extension lock, and then answers the call.
  void Answer(Extension& pending,
              absl::StatusOr<protocol::ExtensionResult> result);
  absl::Status SetDevices(const Extension& pending,
                          protocol::PlacementReply reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records the new nodes' shared resources: all of them, or none if it throws.
  void Declare(const Extension& pending) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Logs a line for each new node of a session that logs placement.
  void LogPlacement(const protocol::ExtensionResult& result) const;
  protocol::ExtensionResult DescribeFrom(int first_id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t session_;
  const protocol::SessionConfig& config_;
  const MasterOptions& options_;

  AsyncMutex extensions_;
  absl::Mutex mutex_;
  // Function calls are expanded in it, so that all of their nodes are placed.
  Graph graph_ ABSL_GUARDED_BY(mutex_);
  FunctionExpander expander_ ABSL_GUARDED_BY(mutex_);
  // The functions of this version, while an extension has the lock.
  std::shared_ptr<const FunctionLibrary> functions_ ABSL_GUARDED_BY(mutex_);
  // The number of nodes of this version. Later nodes belong to the extension
  // that has the lock.
  int num_nodes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // used part of the quota
  // The extension that made this version, and its result.
  size_t last_extension_ ABSL_GUARDED_BY(mutex_) = 0;  // its hash
  protocol::ExtensionResult last_result_ ABSL_GUARDED_BY(mutex_);

  // A separate lock: heartbeats report these, and must not wait for a graph to
  // be read.
  mutable absl::Mutex declared_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  std::vector<protocol::PlacedResource> declared_
      ABSL_GUARDED_BY(declared_mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_SESSION_GRAPH_H_
