// Reader reads records from one work unit after another. Units are usually
// files, and their names come from a queue. It is TensorFlow's ReaderBase
// (core/framework/reader_base.cc), with its rules and error texts.
//
// Calls run one at a time, in FIFO order. Waiting calls hold no thread, and
// neither does a call that waits for a name. Files are read on Pool::kBlocking.
// Records that need no file access, such as further lines of a block that was
// read, are taken on the caller's thread.
//
// A call whose step is cancelled reads no records: a name that it took is read
// next, and so are records that it read but did not return. A unit that cannot
// be started is skipped, unless its file is temporarily unreachable
// (UNAVAILABLE, DEADLINE_EXCEEDED). If 1000 units in a row have no record, and
// each of them came at least twice, a read fails with FAILED_PRECONDITION: the
// queue would repeat them forever. A unit that fails later remains the current
// one until Reset. For a damaged unit (DATA_LOSS), the records that the call
// had already read are lost.
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

// RecordSource reads the records of a work unit for one kind of reader. One
// thread at a time uses it. Calls block, as files do, except a Read after
// HasNext returned true.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  enum class Outcome {
    kRecord,
    kLastRecord,  // the unit has no more, and this is known
    kEnd,         // the unit has no more
    kNotYet,      // call again: much had to be skipped, and the caller's step
                  // may have been cancelled meanwhile
  };

  // The file system, and the allocator for data that is held whole.
  struct Place {
    FileSystem& files;
    Allocator& allocator;
  };
  // Starts a work unit. The objects of `place` must live as long as it is read.
  virtual absl::Status Start(const Place& place, const std::string& work) = 0;
  // Reads the next record. An error leaves the unit unchanged, so a caller may
  // retry. A long read of one record ends with `step`.
  virtual absl::StatusOr<Outcome> Read(ReaderRecord& record,
                                       const Cancellation& step) = 0;
  // Returns whether the next Read returns a record without reading a file. That
  // Read may run on a compute thread.
  virtual bool HasNext() const { return false; }
  // Releases the current unit, if any.
  virtual void Stop() = 0;
};

// Must be held by shared_ptr: waiting calls keep it alive.
class Reader : public Resource, public std::enable_shared_from_this<Reader> {
 public:
  static constexpr absl::string_view kTypeName = "Reader";

  using Records = std::vector<ReaderRecord>;
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using ReadDone = absl::AnyInvocable<void(absl::StatusOr<Records>)>;
  using StateDone = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

  // The environment of a call. The step must live until the call is over, the
  // other objects longer than the reader.
  struct Context {
    Cancellation& step;
    Scheduler& scheduler;
    FileSystem& files;
    Allocator& allocator;
  };

  // `title` is for error texts: "TextLineReader 'node'". `can_save_state`: the
  // source has no state within a unit, so that counts and names suffice.
  Reader(std::string title, std::unique_ptr<RecordSource> source,
         bool can_save_state);
  ~Reader() override;

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  int64_t num_records_produced() const;
  int64_t num_work_units_completed() const;

  // For the remaining methods: `done` is called exactly once.

  // Reads the next record.
  void ReadOne(const Context& context, std::shared_ptr<Queue> queue,
               ReadDone done);
  // Reads between one and `count` records of one unit, or none if `count` is 0.
  // REQUIRES: count >= 0.
  void ReadUpTo(const Context& context, std::shared_ptr<Queue> queue,
                int64_t count, ReadDone done);

  // Drops the current unit and all counts.
  void Reset(const Context& context, Done done);
  // Reports UNIMPLEMENTED for readers that cannot save their state.
  void SerializeState(const Context& context, StateDone done);
  // Reports INVALID_ARGUMENT, and resets the reader, if `state` is malformed.
  void RestoreState(const Context& context, std::string state, Done done);

 private:
  struct Call;
  // The state of the current unit.
  enum class Work {
    kNone,
    kTaken,    // its name was taken from the queue
    kStarted,  // it is being read
  };

  struct Counts {
    int64_t work_started = 0;
    int64_t work_finished = 0;
    int64_t records_produced = 0;
    std::string work;  // the last unit that was started or taken
  };

  using Change = absl::AnyInvocable<absl::Status(Reader&)>;
  // Runs `change` on Pool::kBlocking when the call's turn comes, unless the
  // step is cancelled.
  void InTurn(const Context& context, Change change, Done done);

  // For the call that has the turn, in the order in which a call passes through
  // these methods.
  void Continue(const std::shared_ptr<Call>& call);
  // Takes the records that are available. Returns whether the call has enough.
  absl::StatusOr<bool> TakeAtOnce(Call& call);
  void GotElement(const std::shared_ptr<Call>& call,
                  absl::StatusOr<std::vector<QueueElement>> elements);
  void ReadOn(const std::shared_ptr<Call>& call);
  void Finish(const std::shared_ptr<Call>& call, const absl::Status& status);
  // Finishes the call on another thread. Used where the next call may end at
  // once: each would end the next one deeper in the stack.
  void FinishLater(const std::shared_ptr<Call>& call,
                   const absl::Status& status);
  // Returns whether the call has enough records; otherwise it needs another
  // unit.
  absl::StatusOr<bool> ReadSome(Call& call);
  // Reads the next record, if the unit has one. REQUIRES: a unit is being read.
  absl::Status ReadNext(Call& call);
  absl::Status StartWork(Call& call);
  void FinishWork();
  // The units without a record since the last unit that had some.
  struct Fruitless {
    std::map<std::string, int64_t> units;  // how often each came
    int64_t count = 0;                     // the sum of `units`
    int64_t once = 0;                      // units that came once
  };
  void CountFruitless();
  // Returns FAILED_PRECONDITION if the same units are repeated forever, and
  // then restarts the count.
  absl::Status CheckFruitless();
  void TakeUnread(Call& call);
  void ResetNow();
  absl::Status RestoreNow(const std::string& state);
  absl::StatusOr<std::string> StateNow() const;

  const std::string title_;
  const bool can_save_state_;
  AsyncFifoLock lock_;

  // Used only by the call that has the turn:
  const std::unique_ptr<RecordSource> source_;
  Work work_ = Work::kNone;
  std::deque<ReaderRecord> unread_;  // left by a cancelled step
  bool has_record_ = false;          // of the current unit
  Fruitless fruitless_;

  mutable absl::Mutex mutex_;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_READER_H_
