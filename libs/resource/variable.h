// Variable is a tensor that outlives steps and is shared by everything that
// knows its name.
//
// A reader of the whole value takes a reference to it, so a read is consistent
// and never torn. A writer of all elements writes in place if the value is not
// held elsewhere; otherwise it writes to new memory and leaves the old value to
// its holders. A writer of some rows also writes in place, or in a private copy
// if the value is held. A large copy is made without the lock: readers and
// writers of all elements continue meanwhile, and other writers of rows wait
// for the copy. A reader of a part reads under the shared lock and takes no
// reference, so it forces no copy. A slow reader takes a ChunkSnapshot
// (chunk_snapshot.h), for which a writer of rows copies only the pages that
// hold these rows. Every writer checks, under the lock, that its step was not
// aborted: an aborted step changes no value later.
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
#include "libs/base/async/cancellation.h"
#include "libs/resource/resource.h"
#include "libs/resource/waiters.h"
#include "libs/tensor/tensor.h"

namespace weft {

class ChunkSnapshot;

// The action of a call that finds the variable's lock held.
enum class WhenLocked {
  kWait,
  // For threads that must not wait: the call returns an error and changes
  // nothing. Also used if a writer of rows would first have to copy a large
  // value.
  kGiveUp,
};

// Returns whether the error only says that the call gave up
// (WhenLocked::kGiveUp).
bool IsGivenUp(const absl::Status& status);

class Variable : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Var";

  // `name` is for error texts. `shape` is the declared shape.
  Variable(std::string name, DataType dtype, PartialShape shape);
  // Ends the calls that wait for a value, with ABORTED.
  ~Variable() override;

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;
  ResourceInfo info() const override;

  const std::string& name() const { return name_; }
  DataType dtype() const { return dtype_; }
  const PartialShape& declared_shape() const { return declared_shape_; }

  // Does not block.
  bool IsInitialized() const {
    return is_initialized_.load(std::memory_order_acquire);
  }
  // Calls `done` once the variable is initialized, at once if it is; or with
  // the cause when `step`, which must live until then, is cancelled; or with
  // ABORTED when the variable is destroyed. Holds no reference to the variable
  // meanwhile.
  void WhenInitialized(Cancellation& step, Waiters::Done done);
  // Increases by one with each change, so equal versions mean equal values.
  uint64_t version() const;
  // The number of bytes that writers of rows copied because a reader held the
  // value.
  uint64_t bytes_copied_on_write() const;

  // Returns the whole value, or FAILED_PRECONDITION "Attempting to use
  // uninitialized value NAME" before the first Assign.
  absl::StatusOr<Tensor> Read(WhenLocked when = WhenLocked::kWait) const;

  // Calls `read` with the value under the shared lock; `read` must not keep it.
  absl::Status ReadPart(
      absl::FunctionRef<absl::Status(const Tensor& value)> read,
      WhenLocked when = WhenLocked::kWait) const;

  // Replaces the value. Returns INVALID_ARGUMENT for another dtype.
  absl::Status Assign(const Cancellation& step, Tensor value) {
    return Assign(step, &value, WhenLocked::kWait);
  }
  // Like Assign; leaves the old value in `value`, for the caller to free, or
  // the new value after an error.
  absl::Status Assign(const Cancellation& step, Tensor* value, WhenLocked when);

  // Calls `update` under the lock. It must write all of `to`, which has the
  // type and shape of the value `from`. They are the same tensor if the value
  // is not held elsewhere, and share no memory otherwise: an update that reads
  // an element before it writes that element is correct in both cases. After an
  // error the value is as `update` left it in the first case, and unchanged in
  // the second; so updates should check their arguments first.
  absl::Status Update(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<absl::Status(const Tensor& from, Tensor& to)> update,
      WhenLocked when = WhenLocked::kWait);

  // For an update that changes only some rows (of the first dimension). It runs
  // in place, after a copy of the whole value if that is held elsewhere.
  // `for_each_row` calls its argument for each of these rows, valid or not. It
  // is called once after each snapshot, and while a snapshot is being read, for
  // which the pages of these rows are copied.
  using RowVisitor = absl::FunctionRef<void(int64_t row)>;
  absl::Status UpdateRows(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<void(RowVisitor)> for_each_row,
      absl::FunctionRef<absl::Status(Tensor& value)> update);

  // Like Update and UpdateRows, for several variables at once, with the values
  // in the given order. A variable must not appear twice.
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
  // Returns false if the lock is held and the caller does not wait.
  bool LockToRead(WhenLocked when) const
      ABSL_SHARED_TRYLOCK_FUNCTION(true, mutex_);
  bool LockToWrite(WhenLocked when) const
      ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, mutex_);
  // For snapshots: only writers that already wait go first. A mutex is not
  // fair: two threads that update a variable all the time could block a third
  // for seconds.
  void LockToReadFirst() const ABSL_SHARED_LOCK_FUNCTION(mutex_);
  void LockToWriteFirst() const ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_);
  // Locks all in order of address, or none: with kGiveUp, or if one appears
  // twice.
  static absl::Status LockAllToWrite(absl::Span<Variable* const> variables,
                                     WhenLocked when);
  static absl::Status LockAllToWriteFirst(
      absl::Span<Variable* const> variables);
  static void UnlockAll(absl::Span<Variable* const> variables);

  // The copy that a writer of rows makes without the lock.
  struct RowsCopy {
    Tensor from;
    uint64_t version = 0;  // the version of `from`
    Tensor copy;           // freed without the lock, too
  };
  // Returns whether a writer of rows must copy so much that it should not do so
  // under the lock.
  bool IsLargeAndHeld() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  static bool IsAnyLargeAndHeld(absl::Span<Variable* const> locked);
  // Like LockAllToWrite, but large values are then not held elsewhere, unless
  // other readers keep arriving. `copies` has one entry for each variable, to
  // be freed without the locks.
  static absl::Status LockAllToWriteRows(const Cancellation& step,
                                         Allocator& allocator,
                                         absl::Span<Variable* const> variables,
                                         WhenLocked when,
                                         absl::Span<RowsCopy> copies);
  // One attempt of LockAllToWriteRows, by the caller that holds all `copying_`.
  static absl::Status CopyAndLockAll(const Cancellation& step,
                                     Allocator& allocator,
                                     absl::Span<Variable* const> variables,
                                     absl::Span<RowsCopy> copies);
  // Returns what must be copied: empty if the value is not held elsewhere.
  RowsCopy BeginCopy() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the copy the value, unless the value has changed meanwhile.
  void TakeCopy(RowsCopy& copied) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The updates of the value since it was assigned, and since its last
  // snapshot.
  struct Updates {
    TensorShape shape;      // the value's
    bool of_all = false;    // an update wrote all of it
    int64_t row_bytes = 0;  // bytes of the first row update, in whole pages
  };
  Updates updates() const;
  // Returns whether the memory of `value_` is needed unchanged elsewhere.
  bool IsHeld() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Allocates memory for a new value if this one is held; else returns no
  // tensor.
  absl::StatusOr<Tensor> AllocateIfHeld(Allocator& allocator)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the memory that a snapshot preallocated for it; else returns no
  // tensor.
  Tensor TakeAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Implements Update; leaves in `other` what is to be freed without the lock.
  absl::Status UpdateLocked(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<absl::Status(const Tensor& from, Tensor& to)> update,
      Tensor& other) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `next` the value, and stores the old value in `next`.
  void Replace(Tensor& next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `value_` the only reference to its memory, and preserves those rows
  // for snapshots; leaves in `other` what is to be freed without the lock.
  absl::Status PrepareRows(Allocator& allocator,
                           absl::FunctionRef<void(RowVisitor)> for_each_row,
                           Tensor& other) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeWritable(Allocator& allocator, Tensor& other)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hands `value_` to the snapshots: it will not be written to any more.
  void GiveToSnapshots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteRows(absl::FunctionRef<void(RowVisitor)> for_each_row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Must be called before the rows of `value_` change.
  absl::Status PreserveRows(absl::FunctionRef<void(RowVisitor)> for_each_row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const DataType dtype_;
  const PartialShape declared_shape_;
  std::atomic<bool> is_initialized_{false};  // set with the first value
  // Held by a writer of rows while it makes a private copy, in order of address
  // like mutex_. Other writers then use that copy instead of making another.
  mutable absl::Mutex copying_;
  // Held by the caller that goes first, until it has the mutex. Other writers
  // wait for it meanwhile.
  mutable absl::Mutex first_ ABSL_ACQUIRED_AFTER(copying_);
  mutable std::atomic<int> num_first_{0};
  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(first_);
  Tensor value_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_copied_ ABSL_GUARDED_BY(mutex_) = 0;
  bool updated_whole_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t updated_row_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The snapshots that still read chunks from `value_`. They keep the variable
  // alive.
  std::vector<ChunkSnapshot*> snapshots_ ABSL_GUARDED_BY(mutex_);
  Waiters waiters_;  // callers waiting for the first value
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_VARIABLE_H_
