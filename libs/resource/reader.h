// Reader reads records from one work unit after another. Units are usually
// files, and their names come from a queue. Reader corresponds to TensorFlow's
// ReaderBase (core/framework/reader_base.cc) and has its rules and error texts.
//
// Calls run one at a time, in FIFO order. Waiting calls do not block a thread,
// and neither does a call that waits for the name of a unit. Files are read on
// Pool::kBlocking. Records that need no file access, such as further lines of a
// block that was already read, are taken on the caller's thread.
//
// A call whose step is cancelled loses no records: the next call continues with
// a name that the cancelled call took, and with records that it read but did
// not return. A unit that cannot be started is skipped, unless its file is
// temporarily unreachable (UNAVAILABLE, DEADLINE_EXCEEDED). If 1000 units in a
// row have no record, and each of them came at least twice, a read fails with
// FAILED_PRECONDITION, because the queue would repeat them forever. A unit that
// fails later remains the current unit until Reset. If a unit is damaged
// (DATA_LOSS), the records that the call had already read are lost.
//
// Threads: all methods may be called from any thread. Callbacks run without a
// lock held, on the thread of the caller, of Pool::kBlocking or kCompute, or of
// the cancellation.
#ifndef WEFT_LIBS_RESOURCE_READER_H_
#define WEFT_LIBS_RESOURCE_READER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/resource/async_fifo_lock.h"
#include "libs/resource/queue.h"
#include "libs/resource/resource.h"
#include "libs/tensor/buffer.h"

namespace weft {

struct ReaderRecord {
  std::string key, value;
};

// RecordSource reads the records of a work unit for one kind of reader. Only
// one thread at a time uses it. Calls block, because files do. Only a Read
// after HasNext returned true does not block.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  enum class Outcome {
    kRecord,
    kLastRecord,  // no further record follows
    kEnd,         // no further record
    kNotYet,      // call again: much had to be skipped, and the caller's step
                  // may have been cancelled meanwhile
  };

  // Place has the file system, and the allocator for data that is held whole.
  struct Place {
    FileSystem& files;
    Allocator& allocator;
  };
  // Starts a work unit. The objects of `place` must live until the unit is
  // stopped.
  virtual absl::Status Start(const Place& place, const std::string& work) = 0;
  // Reads the next record. An error leaves the unit unchanged, so that the
  // caller may retry. A long read of one record ends when `step` is cancelled.
  virtual absl::StatusOr<Outcome> Read(ReaderRecord& record,
                                       const Cancellation& step) = 0;
  // Returns whether the next Read returns a record without reading a file. Such
  // a Read may run on a compute thread.
  virtual bool HasNext() const { return false; }
  // Releases the current unit, if there is one.
  virtual void Stop() = 0;
};

// A Reader must be owned by a shared_ptr, because waiting calls keep it alive.
class Reader : public Resource, public std::enable_shared_from_this<Reader> {
 public:
  static constexpr absl::string_view kTypeName = "Reader";

  using Records = std::vector<ReaderRecord>;
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using ReadDone = absl::AnyInvocable<void(absl::StatusOr<Records>)>;
  using StateDone = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

  // Context is the environment of a call. The step must live until the call is
  // over. The other objects must outlive the reader.
  struct Context {
    Cancellation& step;
    Scheduler& scheduler;
    FileSystem& files;
    Allocator& allocator;
  };

  // `title` is used in error texts, such as "TextLineReader 'node'".
  // `can_save_state` states that the source has no state within a unit, so that
  // counts and names suffice to restore the reader.
  Reader(std::string title, std::unique_ptr<RecordSource> source,
         bool can_save_state);
  ~Reader() override;

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  int64_t num_records_produced() const;
  int64_t num_work_units_completed() const;

  // The remaining methods call `done` exactly once.

  // Reads the next record.
  void ReadOne(const Context& context, std::shared_ptr<Queue> queue,
               ReadDone done);
  // Reads between one and `count` records of one unit. Reads no records if
  // `count` is 0. REQUIRES: count >= 0.
  void ReadUpTo(const Context& context, std::shared_ptr<Queue> queue,
                int64_t count, ReadDone done);

  // Drops the current unit and all counts.
  void Reset(const Context& context, Done done);
  // Calls `done` with the state of the reader, or with UNIMPLEMENTED if the
  // reader cannot save its state.
  void SerializeState(const Context& context, StateDone done);
  // Restores the state. If `state` is malformed, resets the reader and calls
  // `done` with INVALID_ARGUMENT.
  void RestoreState(const Context& context, std::string state, Done done);

 private:
  struct Call;
  // The state of the current unit.
  enum class Work {
    kNone,
    kTaken,    // its name was taken from the queue
    kStarted,  // the unit is being read
  };

  struct Counts {
    int64_t work_started = 0;
    int64_t work_finished = 0;
    int64_t records_produced = 0;
    std::string work;  // the last unit that was started or taken
  };

  using Change = absl::AnyInvocable<absl::Status(Reader&)>;
  // Runs `change` on Pool::kBlocking when it is the call's turn, unless the
  // step is cancelled before.
  void InTurn(const Context& context, Change change, Done done);

  // The following methods are for the call that has the turn, and are in the
  // order in which a call passes through them.
  void Continue(const std::shared_ptr<Call>& call);
  // Takes the records that need no file access. Returns whether the call has
  // enough records.
  absl::StatusOr<bool> TakeAtOnce(Call& call);
  void GotElement(const std::shared_ptr<Call>& call,
                  absl::StatusOr<std::vector<QueueElement>> elements);
  void ReadOn(const std::shared_ptr<Call>& call);
  void Finish(const std::shared_ptr<Call>& call, const absl::Status& status);
  // Finishes the call on another thread. If the next call may end at once,
  // finishing it on this thread would recurse, once for each waiting call.
  void FinishLater(const std::shared_ptr<Call>& call,
                   const absl::Status& status);
  // Reads records, which may block. Returns whether the call has enough
  // records. If not, it needs another unit.
  absl::StatusOr<bool> ReadSome(Call& call);
  // Reads the next record, if the unit has one. REQUIRES: a unit is being read.
  absl::Status ReadNext(Call& call);
  absl::Status StartWork(Call& call);
  void FinishWork();
  // Fruitless counts the units without a record since the last unit that had a
  // record.
  struct Fruitless {
    std::map<std::string, int64_t> units;  // how often each unit came
    int64_t count = 0;                     // the sum of `units`
    int64_t once = 0;                      // number of units that came once
  };
  void CountFruitless();
  // Returns FAILED_PRECONDITION if the queue seems to repeat the same units
  // without a record forever, and then restarts the count.
  absl::Status CheckFruitless();
  void TakeUnread(Call& call);
  void ResetNow();
  absl::Status RestoreNow(const std::string& state);
  absl::StatusOr<std::string> StateNow() const;

  const std::string title_;
  const bool can_save_state_;
  AsyncFifoLock lock_;

  // Only the call that has the turn uses these members:
  const std::unique_ptr<RecordSource> source_;
  Work work_ = Work::kNone;
  std::deque<ReaderRecord> unread_;  // left by a cancelled step
  bool has_record_ = false;          // whether the current unit had one
  Fruitless fruitless_;

  mutable absl::Mutex mutex_;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_READER_H_
