// Reader: records of one work unit after the other, usually of files, whose
// names it takes from a queue; TensorFlow's ReaderBase (core/framework/
// reader_base.cc), whose rules and error texts these are.
//
// One call at a time goes on, in the order in which they came; the others wait
// without a thread, as does a call that waits for a name. Files are read on
// Pool::kBlocking; records that are there without reading one, as the next
// lines of a block that was read, the caller's thread takes at once.
//
// A call of a step that is cancelled has read nothing: a name that it had taken
// is the next to be read, and so are records that nobody got. A unit that can't
// be begun is passed over, unless its file can't be reached now (UNAVAILABLE,
// DEADLINE_EXCEEDED). Where 1000 units in a row had no record, each of those at
// least twice, a read fails with FAILED_PRECONDITION: the queue would name them
// for ever. One that fails later stays the one at hand until a Reset;
// of a damaged one (DATA_LOSS) what the call had read already is gone.
//
// Threads: all methods may be called from any thread. Functions given run
// without a lock held, on the caller's thread, on one of Pool::kBlocking or
// kCompute, or on that of the cancellation.
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
#include "libs/base/cancellation.h"
#include "libs/base/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/resource/queue.h"
#include "libs/resource/resource.h"
#include "libs/resource/turns.h"
#include "libs/tensor/buffer.h"

namespace weft {

struct ReaderRecord {
  std::string key, value;
};

// What one kind of reader does with a work unit. Used by one thread at a time;
// calls block, as files do, but for a Read of which HasNext was true.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  enum class Outcome {
    kRecord,
    kLastRecord,  // the unit has no more, and it is known
    kEnd,         // the unit had no more
    kNotYet,      // to be asked again: there is much to be passed over, and
                  // whoever asks may have been cancelled meanwhile
  };

  // Where it finds files, and memory for what it holds whole.
  struct Place {
    FileSystem& files;
    Allocator& allocator;
  };
  // Begins with a work unit. What `place` names lives as long as it is read.
  virtual absl::Status Start(const Place& place, const std::string& work) = 0;
  // The next record. An error leaves the unit as it is: who asks again tries
  // again. What takes long for one record ends with `step`.
  virtual absl::StatusOr<Outcome> Read(ReaderRecord& record,
                                       const Cancellation& step) = 0;
  // Whether the next Read gives a record, and without reading a file: that one
  // may be called on a thread that computes.
  virtual bool HasNext() const { return false; }
  // Lets go of the unit, if there is one.
  virtual void Stop() = 0;
};

// Held by shared_ptr: who waits keeps it.
class Reader : public Resource, public std::enable_shared_from_this<Reader> {
 public:
  static constexpr absl::string_view kTypeName = "Reader";

  using Records = std::vector<ReaderRecord>;
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using ReadDone = absl::AnyInvocable<void(absl::StatusOr<Records>)>;
  using StateDone = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

  // What a call runs with; the step lives until it is over, the others longer
  // than the reader.
  struct Context {
    Cancellation& step;
    Scheduler& scheduler;
    FileSystem& files;
    Allocator& allocator;
  };

  // `title` is for error texts: "TextLineReader 'node'". `can_save_state`: the
  // source has no state within a unit, so that counts and names are all.
  Reader(std::string title, std::unique_ptr<RecordSource> source,
         bool can_save_state);
  ~Reader() override;

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  int64_t num_records_produced() const;
  int64_t num_work_units_completed() const;

  // For the rest: `done` is called exactly once.

  // The next record.
  void ReadOne(const Context& context, std::shared_ptr<Queue> queue,
               ReadDone done);
  // At least one record, and up to `count` of one unit: those that are left of
  // it where that is fewer. None where `count` is 0. REQUIRES: count >= 0.
  void ReadUpTo(const Context& context, std::shared_ptr<Queue> queue,
                int64_t count, ReadDone done);

  // Forgets the unit it is at, and all counts.
  void Reset(const Context& context, Done done);
  // UNIMPLEMENTED for those that can't save their state.
  void SerializeState(const Context& context, StateDone done);
  // INVALID_ARGUMENT, and a Reset, where `state` is none.
  void RestoreState(const Context& context, std::string state, Done done);

 private:
  struct Call;
  // The unit at hand.
  enum class Work {
    kNone,
    kTaken,    // its name was taken from the queue
    kStarted,  // and it is being read
  };

  struct Counts {
    int64_t work_started = 0;
    int64_t work_finished = 0;
    int64_t records_produced = 0;
    std::string work;  // the last unit that was started or taken
  };

  using Change = absl::AnyInvocable<absl::Status(Reader&)>;
  // Runs `change` on Pool::kBlocking in its turn, unless the step is cancelled.
  void InTurn(const Context& context, Change change, Done done);

  // For whoever has the turn, in the order in which a call passes through them.
  void Continue(const std::shared_ptr<Call>& call);
  // Takes what is there; whether that is all it wants.
  absl::StatusOr<bool> TakeAtOnce(Call& call);
  void GotElement(const std::shared_ptr<Call>& call,
                  absl::StatusOr<std::vector<QueueElement>> elements);
  void ReadOn(const std::shared_ptr<Call>& call);
  void Finish(const std::shared_ptr<Call>& call, const absl::Status& status);
  // From where the next call may end as soon: each would end the next one
  // deeper in the stack.
  void FinishLater(const std::shared_ptr<Call>& call,
                   const absl::Status& status);
  // Whether the call has what it wants, or else needs another unit.
  absl::StatusOr<bool> ReadSome(Call& call);
  // The next record, if the unit has one. REQUIRES: a unit that is read.
  absl::Status ReadNext(Call& call);
  absl::Status StartWork(Call& call);
  void FinishWork();
  // Units without a record, since the last one that had some.
  struct Fruitless {
    std::map<std::string, int64_t> units;  // how often each came
    int64_t count = 0;                     // the sum of these
    int64_t once = 0;                      // units that came once
  };
  void CountFruitless();
  // FAILED_PRECONDITION where the same units come for ever; then it counts
  // anew.
  absl::Status CheckFruitless();
  void TakeUnread(Call& call);
  void ResetNow();
  absl::Status RestoreNow(const std::string& state);
  absl::StatusOr<std::string> StateNow() const;

  const std::string title_;
  const bool can_save_state_;
  Turns turns_;

  // Whoever has the turn alone:
  const std::unique_ptr<RecordSource> source_;
  Work work_ = Work::kNone;
  std::deque<ReaderRecord> unread_;  // which a cancelled step has left
  bool has_record_ = false;          // of the unit at hand
  Fruitless fruitless_;

  mutable absl::Mutex mutex_;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_READER_H_
