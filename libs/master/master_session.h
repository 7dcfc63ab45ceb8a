// MasterSession: one session as its master sees it: the placed graph, the
// callables made of it, the steps that run.
//
// Threads: all methods may be called from any thread. Extensions of one session
// take place one after the other; while one waits for the coordinator, runs and
// new callables see the version before it.
#ifndef WEFT_LIBS_MASTER_MASTER_SESSION_H_
#define WEFT_LIBS_MASTER_MASTER_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/graph/graph.h"
#include "libs/graph/placement_graph.h"
#include "libs/master/callable.h"
#include "libs/master/master.h"
#include "libs/master/session_quotas.h"
#include "libs/master/step_counter.h"
#include "libs/master/step_watch.h"
#include "libs/master/turns.h"
#include "libs/protocol/coordinator.h"
#include "libs/protocol/master.h"

namespace weft {

class MasterSession : public std::enable_shared_from_this<MasterSession> {
 public:
  // Tells nobody yet: a task learns of the session with the first partition
  // that it gets.
  MasterSession(uint64_t id, const protocol::SessionConfig& config,
                const MasterOptions& options, StepCounter& steps,
                StepWatch& watch);
  ~MasterSession();

  absl::StatusOr<protocol::ExtensionResult> Extend(
      const protocol::GraphExtension& extension);
  absl::StatusOr<uint64_t> MakeCallable(const protocol::CallableSpec& spec);
  void RunCallable(uint64_t callable, const protocol::CallableRun& run,
                   protocol::Master::Done done);
  // Null when unknown.
  std::shared_ptr<const protocol::CallableSpec> FindSpec(
      uint64_t callable) const;
  void ReleaseCallable(uint64_t callable);

  // The named resources that its graph shares, and where.
  std::vector<protocol::PlacedResource> declared() const;

  // Its oldest step, if that is below `number`.
  std::optional<SlowStep> FindSlow(uint64_t number) const;

  // Refuses further runs, cancels those that run with `cause`, waits for them
  // and tells the workers to forget the session. Once is enough.
  void Close(const absl::Status& cause);

  class Step;

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
      ABSL_LOCKS_EXCLUDED(graph_mutex_);
  // Adds the nodes, for nobody to see yet.
  absl::StatusOr<Growth> BeginGrowth(const protocol::GraphExtension& extension)
      ABSL_LOCKS_EXCLUDED(graph_mutex_);
  // Asks the coordinator. Blocks.
  absl::StatusOr<protocol::PlacementReply> Place(
      const protocol::PlacementRequest& request, absl::Time deadline) const
      ABSL_LOCKS_EXCLUDED(graph_mutex_);
  // Makes the nodes part of the graph, or takes them out again.
  absl::StatusOr<protocol::ExtensionResult> EndGrowth(
      const protocol::GraphExtension& extension, const Growth& growth,
      absl::StatusOr<protocol::PlacementReply> reply)
      ABSL_LOCKS_EXCLUDED(graph_mutex_);
  absl::Status SetDevices(const Growth& growth, protocol::PlacementReply reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mutex_);
  // Remembers what the new nodes share.
  void Declare(const PlacementGraph& placed, int first_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mutex_);
  protocol::ExtensionResult DescribeFrom(int first_id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mutex_);
  absl::Status CheckCallables() const;
  absl::StatusOr<std::shared_ptr<Callable>> Compile(
      const protocol::CallableSpec& spec) ABSL_LOCKS_EXCLUDED(graph_mutex_);
  absl::StatusOr<PrunedCallable> Prune(const protocol::CallableSpec& spec)
      ABSL_LOCKS_EXCLUDED(graph_mutex_);
  // Tells tasks of the session that do not know of it yet. Blocks.
  absl::Status OpenOn(const Callable& callable);
  absl::Status Register(const Callable& callable);
  void Deregister(const Callable& callable);
  // When a call to other tasks that begins now is given up.
  absl::Time CallDeadline() const;
  void ForgetOnTasks();
  void ForgetOn(protocol::Worker& worker, absl::Time deadline,
                protocol::Worker::Done done);

  // Null, with the reason in `status`, when there is no such callable or the
  // session is closed.
  std::unique_ptr<Step> BeginStep(uint64_t callable, absl::Status* status);
  absl::Status TakeFeeds(absl::Span<const Tensor> feeds, Step& step);
  void EndStep(std::unique_ptr<Step> step, absl::Status status);
  absl::Time Deadline(absl::Duration timeout) const;

  const protocol::WorkerSession id_;
  const protocol::SessionConfig config_;
  const MasterOptions& options_;  // the master's, which outlives its sessions
  StepCounter& steps_;            // likewise
  StepWatch& watch_;              // likewise

  Turns extensions_;
  FedBytes fed_;
  absl::Mutex graph_mutex_;
  Graph graph_ ABSL_GUARDED_BY(graph_mutex_);
  // Of this version; those after them belong to the extension whose turn it is.
  int num_nodes_ ABSL_GUARDED_BY(graph_mutex_) = 0;
  int64_t version_ ABSL_GUARDED_BY(graph_mutex_) = 0;
  int64_t graph_bytes_ ABSL_GUARDED_BY(graph_mutex_) = 0;
  // The extension that made this version, and what came of it: a client whose
  // answer was lost sends it again.
  size_t last_extension_ ABSL_GUARDED_BY(graph_mutex_) = 0;  // its hash
  protocol::ExtensionResult last_result_ ABSL_GUARDED_BY(graph_mutex_);

  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(graph_mutex_);
  // What its graph shares with other sessions.
  std::vector<protocol::PlacedResource> declared_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_callable_ ABSL_GUARDED_BY(mutex_) = 1;
  // Tasks that know of the session, and those that may, having been told.
  absl::btree_set<std::string> open_on_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<std::string> told_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, std::shared_ptr<const Callable>> callables_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Step*> running_ ABSL_GUARDED_BY(mutex_);
  // Steps that ended, to be used again.
  std::vector<std::unique_ptr<Step>> idle_steps_ ABSL_GUARDED_BY(mutex_);
  // Set by the last step to end once the session is closed.
  Event* all_ended_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MASTER_SESSION_H_
