// StepExchange is the rendezvous of one step on one task. It passes values
// between the task's own devices, and to and from other tasks.
// TaskRuntime::Deliver inserts values from other tasks, perhaps before the step
// begins on this task.
//
// Small values for one task are held back until the thread that produces them
// has no more work at hand, and are then sent together. A large value is sent
// without waiting for other kernels. If a value is the last result of a
// partition, it is sent with the partition's answer.
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

// Maps the edges of a callable that lead to other tasks to the receiving tasks.
using RemoteEdges = absl::flat_hash_map<uint64_t, protocol::Worker*>;
// Maps edges from and to other tasks to tensor names such as "x:0".
using EdgeNames = absl::flat_hash_map<uint64_t, std::string>;

// Thread-safe. Exists as long as its step, which runs on this task or will
// begin later.
class StepExchange : public Rendezvous, public Outbox {
 public:
  // `quota` is the session's quota for values from other tasks; null if no such
  // values arrive.
  StepExchange(const protocol::WorkerSession& session, uint64_t step,
               std::shared_ptr<UnclaimedBytes> quota = nullptr)
      : session_(session), step_(step), quota_(std::move(quota)) {}
  ~StepExchange() override;

  // Enables Send to other tasks. Must be called before the first Send.
  // `remote_edges` must outlive the exchange's use.
  void BeginSending(const RemoteEdges* remote_edges) {
    remote_edges_ = remote_edges;
  }

  // Sets the edges on which values are received from other tasks. Must be
  // called before the first Receive. `edges` must outlive the exchange's use.
  void BeginReceiving(const EdgeNames* edges) { elsewhere_ = edges; }

  // Sets the rendezvous at which a partial run exchanges values with its
  // client. Must be called before the first Send and Receive.
  void BeginWithClient(std::shared_ptr<Rendezvous> client) {
    client_ = std::move(client);
  }

  absl::Status Send(const RendezvousKey& key, Tensor tensor,
                    bool is_dead) override;
  void Receive(const RendezvousKey& key, Receiver receiver) override;
  // Does not abort the client's rendezvous of a partial run: the caller that
  // aborts the step aborts that rendezvous, too.
  void Abort(absl::Status cause) override { local_.Abort(std::move(cause)); }

  // Methods of Outbox.
  void Flush() override;
  bool IsUrgent() const override {
    return is_urgent_.load(std::memory_order_relaxed);
  }
  // Removes and returns the values that are held back for `receiver`. The
  // caller must send them.
  std::vector<protocol::Push> TakeHeldFor(const protocol::Worker& receiver);

  // Releases the values that were sent: the step has failed, so they need not
  // arrive.
  void AbandonSent() const;

  // Delivers a value from another task to a Receive on this task. Returns
  // RESOURCE_EXHAUSTED if too many values have not been received, ABORTED if
  // the step was aborted before, INTERNAL if the edge has already delivered a
  // value. After an error the value is still in `push`, so that the caller can
  // free it.
  absl::Status Deliver(protocol::Push& push);

  // Returns the session's quota that undelivered values take, because the
  // caller is about to free these values.
  void ReleaseQuota();

  // For tests.
  int64_t num_meetings() const {
    return static_cast<int64_t>(local_.num_meetings());
  }

  // The bytes of the quota that are taken by values that were delivered and not
  // received yet.
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
  // Returns the task to which the edge leads; null if it leads to this task.
  protocol::Worker* ReceiverOf(uint64_t edge) const;
  // Holds the value back. Returns true if the held values should be sent now.
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
  size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of small held values
  std::atomic<bool> is_urgent_{false};             // a large value is held
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_STEP_EXCHANGE_H_
