// Barrier: values that come in parts, in any order, and leave as wholes: each
// part belongs to a key, and once a key has all its components it can be taken;
// TensorFlow's Barrier.
//
// Keys leave in the order of their first insertion; those that one call has
// inserted first, in the order in which they became complete. Once a barrier is
// closed it takes no new keys, but the missing components of those it has.
//
// Nobody waits with a thread. Rules and error texts are TensorFlow's
// (core/kernels/barrier_ops.cc), but that an insertion is done whole or not at
// all.
//
// Threads: all methods may be called from any thread. Functions given run
// without a lock held, as a Queue's do.
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
#include "libs/base/cancellation.h"
#include "libs/resource/queue.h"
#include "libs/resource/resource.h"

namespace weft {

// Of the components: at least one, with as many shapes.
struct BarrierOptions {
  DataTypeVector types;
  std::vector<PartialShape> shapes;  // fully known
};

// Held by shared_ptr: who waits keeps it.
class Barrier : public Resource, public std::enable_shared_from_this<Barrier> {
 public:
  static constexpr absl::string_view kTypeName = "Barrier";

  Barrier(std::string name, BarrierOptions options);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const BarrierOptions& options() const { return options_; }
  // INVALID_ARGUMENT unless a node that asks for `wanted` may share this one.
  absl::Status CheckShared(const BarrierOptions& wanted) const;

  // Gives each key its component. INVALID_ARGUMENT where one has it already, or
  // the component is not what the barrier holds; CANCELLED when the barrier is
  // closed and a key is new.
  absl::Status Insert(const Cancellation& step,
                      absl::Span<const std::string> keys, size_t component,
                      std::vector<Tensor> values);

  // Takes `count` complete elements, once there are as many: each an int64 that
  // orders them, its key, and the components. With `or_fewer`, once the barrier
  // is closed, those that are there. OUT_OF_RANGE when there will never be
  // enough. `done` is called exactly once; `step` lives until then and ends the
  // call when it is cancelled. REQUIRES: count >= 0.
  void Take(Cancellation& step, int64_t count, bool or_fewer,
            Queue::Dequeued done);
  // Of what Take gives.
  const QueueOptions& element_options() const { return ready_->options(); }

  // With `cancel_pending_enqueues` what is not complete is dropped. CANCELLED
  // when it is closed already, unless only this one cancels.
  absl::Status Close(const Cancellation& step, bool cancel_pending_enqueues);

  int64_t ready_size() const { return ready_->size(); }
  int64_t incomplete_size() const;

 private:
  // A key and those of its components that have come.
  struct Incomplete {
    int64_t index = 0;  // counts the calls that have inserted new keys
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
  // The elements that are complete by it.
  std::vector<QueueElement> InsertAll(absl::Span<const std::string> keys,
                                      size_t component,
                                      std::vector<Tensor> values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckTake(int64_t& count, bool or_fewer) const;
  // Nothing will become ready any more: so nobody waits for it.
  void CloseReadyAtTheEnd();

  const std::string name_;
  const BarrierOptions options_;
  const std::shared_ptr<Queue> ready_;
  // Never cancelled: what was inserted gets into the queue.
  Cancellation never_;

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_index_ ABSL_GUARDED_BY(mutex_) =
      std::numeric_limits<int64_t>::min();
  std::map<std::string, Incomplete, std::less<>> incomplete_
      ABSL_GUARDED_BY(mutex_);
  // Elements that are about to be in the queue, or just got there.
  int64_t enqueuing_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_BARRIER_H_
