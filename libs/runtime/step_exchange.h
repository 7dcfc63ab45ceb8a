// StepExchange: the rendezvous of one step on one task: between its own
// devices, and to and from other tasks. Values from others are put in by
// TaskRuntime::Deliver, perhaps before the step begins here.
//
// Small values for one task wait for each other until the thread that makes
// them has no more to do at once, and travel together. A large value waits for
// no other kernel; one that the partition ends with travels with its answer.
#ifndef WEFT_LIBS_RUNTIME_STEP_EXCHANGE_H_
#define WEFT_LIBS_RUNTIME_STEP_EXCHANGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "libs/executor/executor.h"
#include "libs/passes/prune.h"
#include "libs/protocol/worker.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/runtime/unclaimed_bytes.h"

namespace weft {

// Which edges of a callable go to other tasks, and to whom.
using RemoteEdges = absl::flat_hash_map<uint64_t, protocol::Worker*>;
// What those from and to other tasks carry: "x:0".
using EdgeNames = absl::flat_hash_map<uint64_t, std::string>;

// Thread-safe. Lives as long as its step, here or yet to come.
class StepExchange : public Rendezvous, public Outbox {
 public:
  // `quota` is the session's, of what comes from other tasks; null: none does.
  StepExchange(const protocol::WorkerSession& session, uint64_t step,
               std::shared_ptr<UnclaimedBytes> quota = nullptr)
      : session_(session), step_(step), quota_(std::move(quota)) {}
  ~StepExchange() override;

  // What Send sends away. Before the first Send; outlives the exchange's use.
  void BeginSending(const RemoteEdges* remote_edges) {
    remote_edges_ = remote_edges;
  }

  // Which edges have an end elsewhere: what is received of those comes from
  // other tasks. Before the first Receive; outlives the exchange's use.
  void BeginReceiving(const EdgeNames* edges) { elsewhere_ = edges; }

  // Where a partial run meets its client. Before the first Send and Receive.
  void BeginWithClient(std::shared_ptr<Rendezvous> client) {
    client_ = std::move(client);
  }

  absl::Status Send(const RendezvousKey& key, Tensor tensor,
                    bool is_dead) override;
  void Receive(const RendezvousKey& key, Receiver receiver) override;
  // Not of what waits for the client of a partial run: who aborts the step ends
  // that.
  void Abort(absl::Status cause) override { local_.Abort(std::move(cause)); }

  // Outbox.
  void Flush() override;
  bool IsUrgent() const override {
    return is_urgent_.load(std::memory_order_relaxed);
  }
  // What would be flushed to this task is the caller's to send.
  std::vector<protocol::Push> TakeHeldFor(const protocol::Worker& receiver);

  // The step has failed: what was sent away need not arrive.
  void AbandonSent() const;

  // A value from another task, for a Receive here. RESOURCE_EXHAUSTED when too
  // many have not been received, ABORTED when the step was aborted before,
  // INTERNAL when the edge has brought a value before. After an error the value
  // is still in `push`, for the caller to free.
  absl::Status Deliver(protocol::Push& push);

  // What waits here is about to be freed, and counts no more.
  void ReleaseQuota();

  // For tests.
  int64_t num_meetings() const {
    return static_cast<int64_t>(local_.num_meetings());
  }

  // What was delivered and not received yet takes of the quota.
  int64_t unclaimed_bytes() const {
    return unclaimed_.load(std::memory_order_relaxed);
  }

 private:
  struct Held {
    protocol::Worker* receiver;
    std::vector<protocol::Push> pushes;
  };
  using HeldList = absl::InlinedVector<Held, 2>;

  bool IsToClient(uint64_t edge) const {
    return client_ != nullptr && edge >= kFirstClientEdge;
  }
  absl::Status DeliverLocally(const RendezvousKey& key, protocol::Push& push);
  // The task that the edge goes to; null when it stays here.
  protocol::Worker* ReceiverOf(uint64_t edge) const;
  // True when enough is held to be sent now.
  bool Hold(protocol::Worker* receiver, protocol::Push push)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const protocol::WorkerSession session_;
  const uint64_t step_;
  void GiveBack(int64_t bytes);

  const RemoteEdges* remote_edges_ = nullptr;
  const EdgeNames* elsewhere_ = nullptr;
  std::shared_ptr<Rendezvous> client_;  // null but for a partial run
  const std::shared_ptr<UnclaimedBytes> quota_;
  std::atomic<int64_t> unclaimed_{0};
  LocalRendezvous local_;
  absl::Mutex mutex_;
  HeldList held_ ABSL_GUARDED_BY(mutex_);          // one for each receiver
  size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of small values
  std::atomic<bool> is_urgent_{false};             // a large one is held
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_STEP_EXCHANGE_H_
