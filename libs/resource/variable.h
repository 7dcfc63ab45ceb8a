// Variable: a tensor that outlives steps, shared by everything that knows its
// name.
//
// A reader of the whole value takes a reference to it, so a read is one moment
// of the variable and is never torn. A writer of all elements writes in place
// when nobody else holds the value, and into new memory otherwise, which leaves
// the old to who holds it. A writer of some rows does so in place too, and in a
// private copy otherwise, which it makes without the lock where it is large:
// readers and writers of all elements go on meanwhile, other writers of rows
// wait for the copy. A reader of a part reads under the shared lock and takes
// no reference, so that it forces no copy. A reader that takes long takes a
// ChunkSnapshot (chunk_snapshot.h), of which a writer of rows copies no more
// than the pages that they lie in. Every writer asks, under the lock, whether
// its step has been aborted: nothing of an aborted step lands later.
//
// Threads: all methods may be called from any thread. Locks of several
// variables are taken in order of address (UpdateAll).
#ifndef WEFT_LIBS_RESOURCE_VARIABLE_H_
#define WEFT_LIBS_RESOURCE_VARIABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "libs/base/cancellation.h"
#include "libs/resource/resource.h"
#include "libs/resource/waiters.h"
#include "libs/tensor/tensor.h"

namespace weft {

class ChunkSnapshot;

// What to do where a variable's lock is held by somebody else.
enum class WhenLocked {
  kWait,
  // On a thread that must not wait: an error, with all as it was; also where a
  // writer of rows would have to copy a large value first.
  kGiveUp,
};

// Whether an error only says that one gave up (WhenLocked::kGiveUp).
bool IsGivenUp(const absl::Status& status);

class Variable : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Var";

  // `name` is for error texts. `shape` is what was declared.
  Variable(std::string name, DataType dtype, PartialShape shape);
  // Whoever waits for a value is told: ABORTED.
  ~Variable() override;

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;
  ResourceInfo info() const override;

  const std::string& name() const { return name_; }
  DataType dtype() const { return dtype_; }
  const PartialShape& declared_shape() const { return declared_shape_; }

  // Waits for nobody.
  bool IsInitialized() const {
    return is_initialized_.load(std::memory_order_acquire);
  }
  // Calls `done` once it is initialised, at once where it is; or with the cause
  // when `step`, which lives until then, is cancelled; or ABORTED when the
  // variable goes. Holds no reference to the variable meanwhile.
  void WhenInitialized(Cancellation& step, Waiters::Done done);
  // Grows by one with each change, so equal versions mean equal values.
  uint64_t version() const;
  // Bytes that writers of rows had to copy because a reader held the value.
  uint64_t bytes_copied_on_write() const;

  // The whole value. FAILED_PRECONDITION "Attempting to use uninitialized
  // value NAME" before the first Assign.
  absl::StatusOr<Tensor> Read(WhenLocked when = WhenLocked::kWait) const;

  // Calls `read` with the value under the shared lock; `read` must not keep it.
  absl::Status ReadPart(
      absl::FunctionRef<absl::Status(const Tensor& value)> read,
      WhenLocked when = WhenLocked::kWait) const;

  // Replaces the value. INVALID_ARGUMENT when the dtype is another.
  absl::Status Assign(const Cancellation& step, Tensor value) {
    return Assign(step, &value, WhenLocked::kWait);
  }
  // The same; leaves the old value in `value`, for the caller to free, and
  // after an error the new one.
  absl::Status Assign(const Cancellation& step, Tensor* value, WhenLocked when);

  // Calls `update` under the lock: it writes all of `to`, which has the type
  // and shape of `from`, the value. They are one tensor where nobody else holds
  // the value, and share no memory otherwise: an update that reads an element
  // before it writes that one is right for both. After an error the value is as
  // `update` left it in the first case, unchanged in the second; so updates
  // check their arguments first.
  absl::Status Update(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<absl::Status(const Tensor& from, Tensor& to)> update,
      WhenLocked when = WhenLocked::kWait);

  // For an update that changes only some rows (of the first dimension), in
  // place, after a copy of the whole where somebody else holds the value:
  // `for_each_row` calls what it is given for each of them, valid or not. It is
  // asked once after each snapshot, and while somebody reads one, for whom
  // those rows' pages are copied.
  using RowVisitor = absl::FunctionRef<void(int64_t row)>;
  absl::Status UpdateRows(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<void(RowVisitor)> for_each_row,
      absl::FunctionRef<absl::Status(Tensor& value)> update);

  // The same as Update and UpdateRows for several variables at once, values in
  // the order given. One variable must not appear twice.
  struct FromTo {
    const Tensor* from;
    Tensor* to;
  };
  static absl::Status UpdateAll(
      const Cancellation& step, Allocator& allocator,
      absl::Span<Variable* const> variables,
      absl::FunctionRef<absl::Status(absl::Span<const FromTo> values)> update,
      WhenLocked when = WhenLocked::kWait);
  static absl::Status UpdateAllRows(
      const Cancellation& step, Allocator& allocator,
      absl::Span<Variable* const> variables,
      absl::FunctionRef<void(RowVisitor)> for_each_row,
      absl::FunctionRef<absl::Status(absl::Span<Tensor* const> values)> update,
      WhenLocked when = WhenLocked::kWait);

 private:
  friend class ChunkSnapshot;

  absl::Status Uninitialized() const;
  absl::Status GivenUp() const;
  // False: somebody holds the lock, and the caller does not wait.
  bool LockToRead(WhenLocked when) const
      ABSL_SHARED_TRYLOCK_FUNCTION(true, mutex_);
  bool LockToWrite(WhenLocked when) const
      ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, mutex_);
  // For snapshots: of all who lock to write, only those that wait already come
  // before. A mutex is not fair: two threads that update a variable all the
  // time would keep a third from it for seconds.
  void LockToReadFirst() const ABSL_SHARED_LOCK_FUNCTION(mutex_);
  void LockToWriteFirst() const ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_);
  // Locks them in order of address, or none: kGiveUp, or one appears twice.
  static absl::Status LockAllToWrite(absl::Span<Variable* const> variables,
                                     WhenLocked when);
  static absl::Status LockAllToWriteFirst(
      absl::Span<Variable* const> variables);
  static void UnlockAll(absl::Span<Variable* const> variables);

  // What a writer of rows has copied without the lock, or is about to.
  struct RowsCopy {
    Tensor from;
    uint64_t version = 0;  // of which `from` is the value
    Tensor copy;           // freed without the lock, too
  };
  // Whether a writer of rows has to copy so much that it should not do so under
  // the lock.
  bool IsLargeAndHeld() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  static bool IsAnyLargeAndHeld(absl::Span<Variable* const> locked);
  // As LockAllToWrite, but what is large then is held by nobody, unless others
  // come all the time. `copies`: one for each, to be freed without the locks.
  static absl::Status LockAllToWriteRows(const Cancellation& step,
                                         Allocator& allocator,
                                         absl::Span<Variable* const> variables,
                                         WhenLocked when,
                                         absl::Span<RowsCopy> copies);
  // One try of that, by whoever has all of their copying_.
  static absl::Status CopyAndLockAll(const Cancellation& step,
                                     Allocator& allocator,
                                     absl::Span<Variable* const> variables,
                                     absl::Span<RowsCopy> copies);
  // What is to be copied: nothing where nobody holds it.
  RowsCopy BeginCopy() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The copy is the value, unless that is another by now.
  void TakeCopy(RowsCopy& copied) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // What updates have done to the value since it was assigned, and since its
  // last snapshot.
  struct Updates {
    TensorShape shape;      // the value's
    bool of_all = false;    // one wrote all of it
    int64_t row_bytes = 0;  // what the first one of rows wrote, in whole pages
  };
  Updates updates() const;
  // Whether somebody needs the memory of `value_` as it is.
  bool IsHeld() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Memory for a new value where this one is held; else no tensor.
  absl::StatusOr<Tensor> AllocateIfHeld(Allocator& allocator)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a snapshot has ready for that; else no tensor.
  Tensor TakeAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What Update does; leaves in `other` what is freed without the lock.
  absl::Status UpdateLocked(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<absl::Status(const Tensor& from, Tensor& to)> update,
      Tensor& other) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `value_` has become `next`, which gets the old one.
  void Replace(Tensor& next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `value_` the only reference to its memory, and keeps those rows for
  // snapshots; leaves in `other` what is freed without the lock.
  absl::Status PrepareRows(Allocator& allocator,
                           absl::FunctionRef<void(RowVisitor)> for_each_row,
                           Tensor& other) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeWritable(Allocator& allocator, Tensor& other)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nobody will write `value_` any more.
  void GiveToSnapshots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteRows(absl::FunctionRef<void(RowVisitor)> for_each_row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Before the rows of `value_` change.
  absl::Status PreserveRows(absl::FunctionRef<void(RowVisitor)> for_each_row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const DataType dtype_;
  const PartialShape declared_shape_;
  std::atomic<bool> is_initialized_{false};  // set with the first value
  // Held by a writer of rows while it copies the value for itself, in order of
  // address like mutex_: others find the copy instead of making one, too.
  mutable absl::Mutex copying_;
  // Held by who goes first, until it has the mutex; others who are to write
  // wait for that as long as somebody is about to.
  mutable absl::Mutex first_ ABSL_ACQUIRED_AFTER(copying_);
  mutable std::atomic<int> num_first_{0};
  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(first_);
  Tensor value_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_copied_ ABSL_GUARDED_BY(mutex_) = 0;
  bool updated_whole_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t updated_row_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those that still read chunks from `value_`. They keep the variable alive.
  std::vector<ChunkSnapshot*> snapshots_ ABSL_GUARDED_BY(mutex_);
  Waiters waiters_;  // for the first value
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_VARIABLE_H_
