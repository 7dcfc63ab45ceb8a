// MasterSession: one session as its master sees it: its graph, the callables
// made of it, the steps that run.
//
// Threads: all methods may be called from any thread.
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
#include "libs/master/callable.h"
#include "libs/master/master.h"
#include "libs/master/session_graph.h"
#include "libs/master/session_quotas.h"
#include "libs/master/step_counter.h"
#include "libs/master/step_watch.h"
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
  std::vector<protocol::PlacedResource> declared() const {
    return graph_.declared();
  }

  // Its oldest step, if that is below `number`.
  std::optional<SlowStep> FindSlow(uint64_t number) const;

  // Refuses further runs, cancels those that run with `cause`, waits for them
  // and tells the workers to forget the session. Once is enough.
  void Close(const absl::Status& cause);

  class Step;

 private:
  absl::Status CheckCallables() const;
  absl::StatusOr<std::shared_ptr<Callable>> Compile(
      const protocol::CallableSpec& spec);
  // Tells tasks of the session that do not know of it yet. Blocks.
  absl::Status OpenOn(const Callable& callable);
  absl::Status Register(const Callable& callable);
  void Deregister(const Callable& callable);
  // When a call to other tasks that begins now is given up.
  absl::Time CallDeadline() const;
  void ForgetOnTasks();

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

  SessionGraph graph_;
  FedBytes fed_;

  mutable absl::Mutex mutex_;
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
