// Rendezvous passes tensors between the producers and consumers in different
// partitions of a step.
//
// A key is {edge, frame, iteration}: `edge` was numbered by the partitioner and
// is the same in every step; frame and iteration are 0 outside loops. Each key
// is sent once and received once, in any order. A second send or receive is
// detected while the first is pending, and outside loops always. Completed keys
// of a loop are forgotten, so that a loop may run forever: a second value then
// finds no receiver, and is dropped with the step.
#ifndef WEFT_LIBS_RENDEZVOUS_RENDEZVOUS_H_
#define WEFT_LIBS_RENDEZVOUS_RENDEZVOUS_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct RendezvousKey {
  uint64_t edge = 0;
  uint64_t frame = 0;
  uint64_t iteration = 0;
  bool is_in_loop() const { return frame != 0; }
  friend bool operator==(const RendezvousKey&, const RendezvousKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const RendezvousKey& k) {
    return H::combine(std::move(h), k.edge, k.frame, k.iteration);
  }
};

// Thread-safe. Lives as long as its step.
class Rendezvous {
 public:
  using Receiver = absl::AnyInvocable<void(absl::Status, Tensor, bool is_dead)>;

  virtual ~Rendezvous() = default;

  // Passes the tensor to its receiver, now or when it arrives. A waiting
  // receiver runs on this thread. Returns the cause once aborted; INTERNAL if a
  // second send of the key is detected. Throws std::bad_alloc if memory is
  // exhausted; then the tensor was not sent.
  virtual absl::Status Send(const RendezvousKey& key, Tensor tensor,
                            bool is_dead) = 0;

  // Calls `receiver` exactly once: with the tensor, with the cause of the
  // abort, or with RESOURCE_EXHAUSTED if memory is exhausted. It may run before
  // the call returns.
  virtual void Receive(const RendezvousKey& key, Receiver receiver) = 0;

  // Ends every waiting and future Send and Receive with `cause` (an error). The
  // first cause is kept.
  virtual void Abort(absl::Status cause) = 0;
};

// A Rendezvous within one process.
class LocalRendezvous : public Rendezvous {
 public:
  LocalRendezvous() = default;
  ~LocalRendezvous() override;

  absl::Status Send(const RendezvousKey& key, Tensor tensor,
                    bool is_dead) override;
  void Receive(const RendezvousKey& key, Receiver receiver) override;
  void Abort(absl::Status cause) override;

  // As Send, for a thread that must not free large tensors: a tensor that is
  // not sent stays with the caller.
  enum class Sent { kYes, kAborted, kTwice };
  Sent SendOrKeep(const RendezvousKey& key, Tensor& tensor, bool is_dead);

  // For tests: the number of stored keys, including waiting values and
  // receivers.
  size_t num_meetings() const;

 private:
  struct Meeting {
    Tensor tensor;
    bool is_dead = false;
    bool sent = false;
    bool received = false;
    Receiver receiver;  // set while the receiver waits
  };

  using Meetings = absl::flat_hash_map<RendezvousKey, Meeting>;

  absl::Status ReserveMeeting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The value and the receiver of the key are both present.
  void Finish(Meetings::iterator meeting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  absl::Status aborted_ ABSL_GUARDED_BY(mutex_);
  Meetings meetings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RENDEZVOUS_RENDEZVOUS_H_
