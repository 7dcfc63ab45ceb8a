// Barrier assembles values from components that are inserted in any order. Each
// component belongs to a key, and a key can be taken once it has all its
// components. It is TensorFlow's Barrier.
//
// Keys leave in the order of their first insertion. Keys that one call inserted
// first leave in the order in which they were completed. A closed barrier
// accepts no new keys, but still accepts the missing components of the keys
// that it has.
//
// Waiting calls hold no thread. Rules and error texts are TensorFlow's
// (core/kernels/barrier_ops.cc), except that an insertion is atomic.
//
// Threads: all methods may be called from any thread. Callbacks run without a
// lock held, as for Queue.
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

// Options of a barrier. There must be at least one component, and `shapes` must
// have the size of `types`.
struct BarrierOptions {
  DataTypeVector types;
  std::vector<PartialShape> shapes;  // fully known
};

// Must be held by shared_ptr: waiting calls keep it alive.
class Barrier : public Resource, public std::enable_shared_from_this<Barrier> {
 public:
  static constexpr absl::string_view kTypeName = "Barrier";

  Barrier(std::string name, BarrierOptions options);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const BarrierOptions& options() const { return options_; }
  // Returns INVALID_ARGUMENT unless a node that requests `wanted` may share
  // this barrier.
  absl::Status CheckShared(const BarrierOptions& wanted) const;

  // Gives each key its component. Returns INVALID_ARGUMENT if a key already has
  // it or if the component has the wrong type or shape, and CANCELLED if the
  // barrier is closed and a key is new.
  absl::Status Insert(const Cancellation& step,
                      absl::Span<const std::string> keys, size_t component,
                      std::vector<Tensor> values);

  // Takes `count` complete elements as soon as the barrier has them. An element
  // is an int64 that orders it, its key, and the components. With `or_fewer`, a
  // closed barrier returns the elements that it has. The result is OUT_OF_RANGE
  // if there will never be enough. `done` is called exactly once; `step` must
  // live until then and ends the call when it is cancelled. REQUIRES: count >=
  // 0.
  void Take(Cancellation& step, int64_t count, bool or_fewer,
            Queue::Dequeued done);
  // The options of the queue of elements that Take returns.
  const QueueOptions& element_options() const { return ready_->options(); }

  // With `cancel_pending_enqueues`, drops incomplete elements. Returns
  // CANCELLED if the barrier is already closed, unless this is the first call
  // that cancels.
  absl::Status Close(const Cancellation& step, bool cancel_pending_enqueues);

  int64_t ready_size() const { return ready_->size(); }
  int64_t incomplete_size() const;

 private:
  // A key and the components inserted for it so far.
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
  // Returns the elements that this insertion completes.
  std::vector<QueueElement> InsertAll(absl::Span<const std::string> keys,
                                      size_t component,
                                      std::vector<Tensor> values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckTake(int64_t& count, bool or_fewer) const;
  // Closes the queue of complete elements once no more can be completed.
  void CloseReadyAtTheEnd();

  const std::string name_;
  const BarrierOptions options_;
  const std::shared_ptr<Queue> ready_;
  // Is never cancelled, so that inserted elements always reach the queue.
  Cancellation never_;

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_index_ ABSL_GUARDED_BY(mutex_) =
      std::numeric_limits<int64_t>::min();
  std::map<std::string, Incomplete, std::less<>> incomplete_
      ABSL_GUARDED_BY(mutex_);
  // The number of elements being added, or just added, to the queue.
  int64_t enqueuing_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_BARRIER_H_
