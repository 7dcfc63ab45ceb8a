// Barrier assembles values from components that are inserted in any order. Each
// component belongs to a key, and a key can be taken once it has all its
// components. Barrier corresponds to TensorFlow's Barrier.
//
// Keys are taken in the order of their first insertion. Keys that were first
// inserted by the same call are taken in the order in which they were
// completed. A closed barrier accepts no new keys, but it still accepts missing
// components of incomplete keys.
//
// Waiting calls hold no thread. Rules and error texts are TensorFlow's
// (core/kernels/barrier_ops.cc), except that an insertion is atomic.
//
// Threads: all methods may be called from any thread. As for Queue, callbacks
// run without a lock held.
#ifndef WEFT_LIBS_RESOURCE_BARRIER_H_
#define WEFT_LIBS_RESOURCE_BARRIER_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/resource/queue.h"
#include "libs/resource/resource.h"

namespace weft {

// BarrierOptions are the options of a barrier. There must be at least one
// component, and `shapes` must have the same size as `types`.
struct BarrierOptions {
  DataTypeVector types;
  std::vector<PartialShape> shapes;  // fully known
};

// A Barrier must be owned by a shared_ptr, because waiting calls keep it alive.
class Barrier : public Resource, public std::enable_shared_from_this<Barrier> {
 public:
  static constexpr absl::string_view kTypeName = "Barrier";

  Barrier(std::string name, BarrierOptions options);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const BarrierOptions& options() const { return options_; }
  // Returns OK if a node that requests `wanted` may share this barrier, else
  // INVALID_ARGUMENT.
  absl::Status CheckShared(const BarrierOptions& wanted) const;

  // Inserts a value of one component for each key. Returns INVALID_ARGUMENT if
  // a key already has this component, or if a value has the wrong type or
  // shape. Returns CANCELLED if the barrier is closed and a key is new.
  absl::Status Insert(const Cancellation& step,
                      absl::Span<const std::string> keys, size_t component,
                      std::vector<Tensor> values);

  // Takes `count` complete elements as soon as the barrier has them. An element
  // consists of its index, an int64 that determines the order; its key; and its
  // components. With `or_fewer`, a closed barrier returns the elements that it
  // has. The result is OUT_OF_RANGE if the barrier can never have enough
  // elements. `done` is called exactly once. `step` must live until then; if it
  // is cancelled, the call ends. REQUIRES: count >= 0.
  void Take(Cancellation& step, int64_t count, bool or_fewer,
            Queue::Dequeued done);
  // Returns the options of the queue of complete elements, from which Take
  // takes.
  const QueueOptions& element_options() const { return ready_->options(); }

  // Closes the barrier to new keys. With `cancel_pending_enqueues`, also drops
  // incomplete elements. Returns CANCELLED if the barrier is already closed,
  // unless this is the first call with `cancel_pending_enqueues`.
  absl::Status Close(const Cancellation& step, bool cancel_pending_enqueues);

  int64_t ready_size() const { return ready_->size(); }
  int64_t incomplete_size() const;

 private:
  // Incomplete holds the components that were inserted for a key so far.
  struct Incomplete {
    int64_t index = 0;  // number of the call that inserted the key
    std::vector<Tensor> components;
    std::vector<bool> has;
  };

  absl::Status CheckComponent(size_t component,
                              absl::Span<const Tensor> values) const;
  absl::Status CheckOpen(size_t num_keys) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckKeys(absl::Span<const std::string> keys,
                         size_t component) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Inserts the values and returns the elements that they complete.
  std::vector<QueueElement> InsertAll(absl::Span<const std::string> keys,
                                      size_t component,
                                      std::vector<Tensor> values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckTake(int64_t& count, bool or_fewer) const;
  // Closes the queue of complete elements if no further element can be
  // completed.
  void CloseReadyAtTheEnd();

  const std::string name_;
  const BarrierOptions options_;
  const std::shared_ptr<Queue> ready_;
  // A Cancellation that is never cancelled, so that completed elements always
  // reach the queue.
  Cancellation never_;

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_index_ ABSL_GUARDED_BY(mutex_) =
      std::numeric_limits<int64_t>::min();
  std::map<std::string, Incomplete, std::less<>> incomplete_
      ABSL_GUARDED_BY(mutex_);
  // The number of completed elements that a call has not finished adding to the
  // queue.
  int64_t enqueuing_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_BARRIER_H_
