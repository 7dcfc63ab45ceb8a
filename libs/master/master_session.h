// MasterSession: one session as its master sees it: the placed graph, the
// callables made of it, the steps that run.
//
// Threads: all methods may be called from any thread; extensions and new
// callables of one session wait for each other, runs wait for neither.
#ifndef WEFT_LIBS_MASTER_MASTER_SESSION_H_
#define WEFT_LIBS_MASTER_MASTER_SESSION_H_

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/graph/graph.h"
#include "libs/master/callable.h"
#include "libs/master/master.h"
#include "libs/protocol/master.h"

namespace weft {

class MasterSession : public std::enable_shared_from_this<MasterSession> {
 public:
  // Announces the session to every worker.
  static absl::StatusOr<std::shared_ptr<MasterSession>> Create(
      uint64_t id, const protocol::SessionConfig& config,
      const MasterOptions& options);

  absl::StatusOr<protocol::ExtensionResult> Extend(
      const protocol::GraphExtension& extension);
  absl::StatusOr<uint64_t> MakeCallable(const protocol::CallableSpec& spec);
  void RunCallable(uint64_t callable, const protocol::CallableRun& run,
                   protocol::Master::Done done);
  void ReleaseCallable(uint64_t callable);

  // Refuses further runs, cancels those that run, waits for them and tells the
  // workers to forget the session. Once is enough.
  void Close();

  class Step;

 private:
  MasterSession(uint64_t id, const protocol::SessionConfig& config,
                const MasterOptions& options);

  absl::Status PlaceFrom(int first_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mutex_);
  protocol::ExtensionResult DescribeFrom(int first_id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mutex_);
  absl::Status Register(const Callable& callable);
  void Deregister(const Callable& callable);

  // Null, with the reason in `status`, when there is no such callable or the
  // session is closed.
  std::unique_ptr<Step> BeginStep(uint64_t callable, absl::Status* status);
  void EndStep(std::unique_ptr<Step> step, absl::Status status);
  absl::Time Deadline(absl::Duration timeout) const;

  const uint64_t id_;
  const protocol::SessionConfig config_;
  const MasterOptions& options_;  // the master's, which outlives its sessions

  absl::Mutex graph_mutex_;
  Graph graph_ ABSL_GUARDED_BY(graph_mutex_);
  int64_t version_ ABSL_GUARDED_BY(graph_mutex_) = 0;

  absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(graph_mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_callable_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_step_ ABSL_GUARDED_BY(mutex_) = 1;
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
