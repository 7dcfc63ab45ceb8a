// SessionGraph: the graph of one session at its master: its versions, and where
// its nodes are placed.
//
// It grows by extensions, which take place one after the other. All new nodes
// are placed in one call to the coordinator; an extension that can't be placed
// leaves the graph at its old version. While one waits for the coordinator,
// callers see the version before it.
//
// Threads: all methods may be called from any thread; Extend blocks.
#ifndef WEFT_LIBS_MASTER_SESSION_GRAPH_H_
#define WEFT_LIBS_MASTER_SESSION_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/graph/graph.h"
#include "libs/graph/placement_graph.h"
#include "libs/master/callable.h"
#include "libs/master/master.h"
#include "libs/master/turns.h"
#include "libs/protocol/coordinator.h"
#include "libs/protocol/master.h"

namespace weft {

class SessionGraph {
 public:
  // `config` and `options` outlive it.
  SessionGraph(uint64_t session, const protocol::SessionConfig& config,
               const MasterOptions& options);

  // Adds nodes. The same extension again, sent by a client that has not got the
  // answer, is answered again. Errors: ABORTED when it is for another version;
  // DEADLINE_EXCEEDED; RESOURCE_EXHAUSTED; what the coordinator says.
  absl::StatusOr<protocol::ExtensionResult> Extend(
      const protocol::GraphExtension& extension, absl::Time deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // What this version needs for it.
  absl::StatusOr<PrunedCallable> Prune(const protocol::CallableSpec& spec)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The named resources that it shares, and where.
  std::vector<protocol::PlacedResource> declared() const;

 private:
  // An extension whose turn it is: its new nodes, from `first_id` on, and what
  // the coordinator is asked; or what was answered already.
  struct Growth {
    std::optional<protocol::ExtensionResult> answered;
    int first_id = 0;
    protocol::PlacementRequest request;
  };
  absl::StatusOr<protocol::ExtensionResult> ExtendInTurn(
      const protocol::GraphExtension& extension, absl::Time deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the nodes, for nobody to see yet.
  absl::StatusOr<Growth> BeginGrowth(const protocol::GraphExtension& extension)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks the coordinator. Blocks.
  absl::StatusOr<protocol::PlacementReply> Place(
      const protocol::PlacementRequest& request, absl::Time deadline) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the nodes part of the graph, or takes them out again.
  absl::StatusOr<protocol::ExtensionResult> EndGrowth(
      const protocol::GraphExtension& extension, const Growth& growth,
      absl::StatusOr<protocol::PlacementReply> reply)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SetDevices(const Growth& growth, protocol::PlacementReply reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Remembers what the new nodes share.
  void Declare(const PlacementGraph& placed, int first_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  protocol::ExtensionResult DescribeFrom(int first_id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t session_;
  const protocol::SessionConfig& config_;
  const MasterOptions& options_;

  Turns extensions_;
  absl::Mutex mutex_;
  Graph graph_ ABSL_GUARDED_BY(mutex_);
  // Of this version; those after them belong to the extension whose turn it is.
  int num_nodes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // serialised
  // The extension that made this version, and what came of it.
  size_t last_extension_ ABSL_GUARDED_BY(mutex_) = 0;  // its hash
  protocol::ExtensionResult last_result_ ABSL_GUARDED_BY(mutex_);

  // Its own lock: heartbeats tell of these, and wait for no graph to be read.
  mutable absl::Mutex declared_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  std::vector<protocol::PlacedResource> declared_
      ABSL_GUARDED_BY(declared_mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_SESSION_GRAPH_H_
