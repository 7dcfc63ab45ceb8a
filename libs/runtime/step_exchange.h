// StepExchange is the rendezvous of one step on one task: between its own
// devices, and to and from other tasks. TaskRuntime::Deliver inserts values of
// other tasks, perhaps before the step begins here.
//
// Small values for one task are held until the thread that produces them has no
// more work at hand, and are sent together. A large value waits for no other
// kernel; one that ends the partition is sent with its answer.
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
#include "libs/protocol/worker/worker.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/runtime/unclaimed_bytes.h"

namespace weft {

// The edges of a callable to other tasks, with the receiving task.
using RemoteEdges = absl::flat_hash_map<uint64_t, protocol::Worker*>;
// The tensor names of edges from and to other tasks: "x:0".
using EdgeNames = absl::flat_hash_map<uint64_t, std::string>;

// Thread-safe. Lives as long as its step, here or in the future.
class StepExchange : public Rendezvous, public Outbox {
 public:
  // `quota` is the session's, for values from other tasks; null: there are
  // none.
  StepExchange(const protocol::WorkerSession& session, uint64_t step,
               std::shared_ptr<UnclaimedBytes> quota = nullptr)
      : session_(session), step_(step), quota_(std::move(quota)) {}
  ~StepExchange() override;

  // Enables Send to other tasks. Must be called before the first Send;
  // `remote_edges` must outlive the use of the exchange.
  void BeginSending(const RemoteEdges* remote_edges) {
    remote_edges_ = remote_edges;
  }

  // Sets the edges with an end on another task, from which their values are
  // received. Must be called before the first Receive; `edges` must outlive the
  // use of the exchange.
  void BeginReceiving(const EdgeNames* edges) { elsewhere_ = edges; }

  // Sets the rendezvous of a partial run with its client. Must be called before
  // the first Send and Receive.
  void BeginWithClient(std::shared_ptr<Rendezvous> client) {
    client_ = std::move(client);
  }

  absl::Status Send(const RendezvousKey& key, Tensor tensor,
                    bool is_dead) override;
  void Receive(const RendezvousKey& key, Receiver receiver) override;
  // Does not abort the rendezvous with a partial run's client: the caller who
  // aborts the step does that.
  void Abort(absl::Status cause) override { local_.Abort(std::move(cause)); }

  // Outbox.
  void Flush() override;
  bool IsUrgent() const override {
    return is_urgent_.load(std::memory_order_relaxed);
  }
  // Takes what would be flushed to this task, for the caller to send.
  std::vector<protocol::Push> TakeHeldFor(const protocol::Worker& receiver);

  // The step has failed: its sent values need not arrive.
  void AbandonSent() const;

  // Delivers a value of another task to a Receive here. RESOURCE_EXHAUSTED if
  // too many values have not been received, ABORTED if the step was aborted
  // before, INTERNAL if the edge has already delivered a value. After an error
  // the value is still in `push`, for the caller to free.
  absl::Status Deliver(protocol::Push& push);

  // The waiting values are about to be freed, and no longer count.
  void ReleaseQuota();

  // For tests.
  int64_t num_meetings() const {
    return static_cast<int64_t>(local_.num_meetings());
  }

  // The part of the quota taken by values delivered and not received yet.
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
  // The task that the edge goes to; null if it is local.
  protocol::Worker* ReceiverOf(uint64_t edge) const;
  // Returns true if enough is held to be sent now.
  bool Hold(protocol::Worker* receiver, protocol::Push push)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const protocol::WorkerSession session_;
  const uint64_t step_;
  void GiveBack(int64_t bytes);

  const RemoteEdges* remote_edges_ = nullptr;
  const EdgeNames* elsewhere_ = nullptr;
  std::shared_ptr<Rendezvous> client_;  // null except for a partial run
  const std::shared_ptr<UnclaimedBytes> quota_;
  std::atomic<int64_t> unclaimed_{0};
  LocalRendezvous local_;
  absl::Mutex mutex_;
  HeldList held_ ABSL_GUARDED_BY(mutex_);          // one per receiver
  size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of small values
  std::atomic<bool> is_urgent_{false};             // a large one is held
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_STEP_EXCHANGE_H_
