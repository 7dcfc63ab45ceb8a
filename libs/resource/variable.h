// Variable is a tensor that outlives steps. All nodes that know its name share
// it.
//
// A reader of the whole value takes a reference to its memory, so a read is
// consistent and never torn. A writer of all elements writes in place if nobody
// else holds a reference to the value. Otherwise it writes to new memory and
// leaves the old value to the holders. A writer of some rows also writes in
// place, or in a private copy if others hold the value. A large copy is made
// without the lock. Meanwhile readers and writers of all elements continue, and
// other writers of rows wait for the copy. A reader of a part reads under the
// shared lock and takes no reference, so it causes no copy. A slow reader takes
// a ChunkSnapshot (chunk_snapshot.h), for which a writer of rows copies only
// the pages that hold these rows. Every writer checks, under the lock, that its
// step was not aborted, so an aborted step changes no value after the abort.
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

// WhenLocked determines what a call does if another thread holds the variable's
// lock.
enum class WhenLocked {
  kWait,
  // The call returns an error and changes nothing. It is for threads that must
  // not wait. The call also gives up if a writer of rows would first have to
  // copy a large value.
  kGiveUp,
};

// Returns whether the error only says that the call gave up
// (WhenLocked::kGiveUp).
bool IsGivenUp(const absl::Status& status);

class Variable : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Var";

  // `name` is used in error texts. `shape` is the declared shape.
  Variable(std::string name, DataType dtype, PartialShape shape);
  // Ends the calls that wait for a value, with ABORTED.
  ~Variable() override;

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;
  ResourceInfo info() const override;

  const std::string& name() const { return name_; }
  DataType dtype() const { return dtype_; }
  const PartialShape& declared_shape() const { return declared_shape_; }

  // Returns whether the variable has a value. Does not block.
  bool IsInitialized() const {
    return is_initialized_.load(std::memory_order_acquire);
  }
  // Calls `done` with OK when the variable is initialized, or at once if it
  // already is. If `step` is cancelled before, calls `done` with the cause. If
  // the variable is destroyed before, calls `done` with ABORTED. `step` must
  // live until then. The wait does not keep the variable alive.
  void WhenInitialized(Cancellation& step, Waiters::Done done);
  // Returns a number that increases by one with each change. Equal versions
  // mean equal values.
  uint64_t version() const;
  // Returns the number of bytes that writers of rows copied because a reader
  // held the value.
  uint64_t bytes_copied_on_write() const;

  // Returns the whole value, or FAILED_PRECONDITION "Attempting to use
  // uninitialized value NAME" before the first Assign.
  absl::StatusOr<Tensor> Read(WhenLocked when = WhenLocked::kWait) const;

  // Calls `read` with the value under the shared lock. `read` must not keep a
  // reference to the value.
  absl::Status ReadPart(
      absl::FunctionRef<absl::Status(const Tensor& value)> read,
      WhenLocked when = WhenLocked::kWait) const;

  // Replaces the value. Returns INVALID_ARGUMENT if `value` has another dtype
  // than the variable.
  absl::Status Assign(const Cancellation& step, Tensor value) {
    return Assign(step, &value, WhenLocked::kWait);
  }
  // Replaces the value like the other Assign. On success it leaves the old
  // value in `value`, so that the caller frees it. After an error `value` is
  // unchanged.
  absl::Status Assign(const Cancellation& step, Tensor* value, WhenLocked when);

  // Calls `update` under the lock. `update` must write all elements of `to`,
  // which has the type and shape of the value `from`. `to` and `from` are the
  // same tensor if nobody else holds the value. Otherwise they share no memory.
  // An update that reads an element before it writes that element is correct in
  // both cases. If `update` fails, it has changed the value in the first case,
  // and the value is unchanged in the second. So an update should check its
  // arguments before it writes.
  absl::Status Update(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<absl::Status(const Tensor& from, Tensor& to)> update,
      WhenLocked when = WhenLocked::kWait);

  // Calls an update that changes only some rows (of the first dimension). The
  // update runs in place, or in a copy of the whole value if others hold the
  // value. `for_each_row` calls its argument for each of these rows, valid or
  // not. It is called once after each snapshot. It is also called while a
  // snapshot is being read, to copy the pages of these rows.
  using RowVisitor = absl::FunctionRef<void(int64_t row)>;
  absl::Status UpdateRows(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<void(RowVisitor)> for_each_row,
      absl::FunctionRef<absl::Status(Tensor& value)> update);

  // Do the same as Update and UpdateRows for several variables at once. The
  // values are in the given order. A variable must not appear twice.
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
  // Return false if another thread holds the lock and `when` is kGiveUp.
  bool LockToRead(WhenLocked when) const
      ABSL_SHARED_TRYLOCK_FUNCTION(true, mutex_);
  bool LockToWrite(WhenLocked when) const
      ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, mutex_);
  // Take the lock for snapshots; only writers that already wait go first. They
  // are needed because a mutex is not fair: two threads that update a variable
  // all the time could block a third thread for seconds.
  void LockToReadFirst() const ABSL_SHARED_LOCK_FUNCTION(mutex_);
  void LockToWriteFirst() const ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_);
  // Locks all variables in order of address. After an error, no variable is
  // locked: with kGiveUp if a lock is held, or if a variable appears twice.
  static absl::Status LockAllToWrite(absl::Span<Variable* const> variables,
                                     WhenLocked when);
  static absl::Status LockAllToWriteFirst(
      absl::Span<Variable* const> variables);
  static void UnlockAll(absl::Span<Variable* const> variables);

  // RowsCopy is the copy that a writer of rows makes without the lock.
  struct RowsCopy {
    Tensor from;
    uint64_t version = 0;  // the version of `from`
    Tensor copy;           // also freed without the lock
  };
  // Returns whether a writer of rows must copy so much that it should not do so
  // under the lock.
  bool IsLargeAndHeld() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  static bool IsAnyLargeAndHeld(absl::Span<Variable* const> locked);
  // Locks all variables like LockAllToWrite. Afterwards nobody else holds a
  // large value, unless other readers keep arriving. `copies` has one entry for
  // each variable, which the caller must free without the locks.
  static absl::Status LockAllToWriteRows(const Cancellation& step,
                                         Allocator& allocator,
                                         absl::Span<Variable* const> variables,
                                         WhenLocked when,
                                         absl::Span<RowsCopy> copies);
  // Makes one attempt of LockAllToWriteRows. The caller must hold `copying_` of
  // all variables.
  static absl::Status CopyAndLockAll(const Cancellation& step,
                                     Allocator& allocator,
                                     absl::Span<Variable* const> variables,
                                     absl::Span<RowsCopy> copies);
  // Returns the value that must be copied. The result is empty if nobody else
  // holds the value.
  RowsCopy BeginCopy() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Replaces the value by the copy, unless the value has changed since.
  void TakeCopy(RowsCopy& copied) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Updates describes the updates of the value since it was assigned and since
  // its last snapshot.
  struct Updates {
    TensorShape shape;      // of the value
    bool of_all = false;    // an update wrote all elements
    int64_t row_bytes = 0;  // bytes of the first row update, in whole pages
  };
  Updates updates() const;
  // Returns whether others need the memory of `value_` unchanged.
  bool IsHeld() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Allocates memory for a new value if others hold this one. Otherwise returns
  // an uninitialized tensor.
  absl::StatusOr<Tensor> AllocateIfHeld(Allocator& allocator)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the memory that a snapshot preallocated for the new value. Returns an
  // uninitialized tensor if there is no such memory.
  Tensor TakeAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Implements Update. Leaves in `other` the tensor that the caller must free
  // without the lock.
  absl::Status UpdateLocked(
      const Cancellation& step, Allocator& allocator,
      absl::FunctionRef<absl::Status(const Tensor& from, Tensor& to)> update,
      Tensor& other) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Replaces the value by `next`, and stores the old value in `next`.
  void Replace(Tensor& next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `value_` the only reference to its memory, and preserves the pages of
  // the rows for snapshots. Leaves in `other` the tensor that the caller must
  // free without the lock.
  absl::Status PrepareRows(Allocator& allocator,
                           absl::FunctionRef<void(RowVisitor)> for_each_row,
                           Tensor& other) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeWritable(Allocator& allocator, Tensor& other)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives `value_` to the snapshots. Afterwards nobody writes to this value.
  void GiveToSnapshots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteRows(absl::FunctionRef<void(RowVisitor)> for_each_row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Copies the pages of rows for snapshots. Must be called before the rows of
  // `value_` change.
  absl::Status PreserveRows(absl::FunctionRef<void(RowVisitor)> for_each_row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const DataType dtype_;
  const PartialShape declared_shape_;
  std::atomic<bool> is_initialized_{false};  // set with the first value
  // A writer of rows holds this lock while it makes a private copy, so that
  // other writers wait and then use that copy instead of making another. Like
  // mutex_, it is taken in order of address.
  mutable absl::Mutex copying_;
  // A caller of LockToReadFirst or LockToWriteFirst holds this lock until it
  // has mutex_. Other writers wait for it meanwhile.
  mutable absl::Mutex first_ ABSL_ACQUIRED_AFTER(copying_);
  mutable std::atomic<int> num_first_{0};
  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(first_);
  Tensor value_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_copied_ ABSL_GUARDED_BY(mutex_) = 0;
  bool updated_whole_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t updated_row_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The snapshots that still read chunks from `value_`. Each snapshot keeps the
  // variable alive.
  std::vector<ChunkSnapshot*> snapshots_ ABSL_GUARDED_BY(mutex_);
  Waiters waiters_;  // callers waiting for the first value
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_VARIABLE_H_
