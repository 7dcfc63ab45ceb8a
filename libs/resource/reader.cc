#include "libs/resource/reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "schemas/tf/reader_base.pb.h"

namespace weft {
namespace {

absl::Status CheckQueue(const Queue& queue) {
  const DataTypeVector& types = queue.options().types;
  if (types.size() != 1) {
    return absl::InvalidArgumentError("Expected single component queue");
  }
  if (types[0] == DT_STRING) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "Expected queue with single string component");
}

// The maximum number of records for which memory is reserved, because a call
// may request more records than exist.
constexpr size_t kReservedRecords = 1024;

// The maximum number of records that one call takes on the caller's thread,
// because a block may contain very many short lines.
constexpr size_t kMostAtOnce = 4096;

// The number of units without a record, in a row, after which a reader checks
// whether the queue repeats them. If several readers share a queue, one reader
// is unlikely to get this many such units by chance.
constexpr int64_t kMostFruitless = 1000;

bool MayBeReachedLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

std::string Describe(const tf::ReaderBaseState& state) {
  return absl::StrCat("work_started: ", state.work_started(),
                      " work_finished: ", state.work_finished(),
                      " num_records_produced: ", state.num_records_produced(),
                      " current_work: \"", absl::CEscape(state.current_work()),
                      "\"");
}

absl::Status CheckState(const tf::ReaderBaseState& state,
                        const std::string& title) {
  if (state.work_started() < 0 || state.work_finished() < 0 ||
      state.num_records_produced() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Unexpected negative value when restoring in ", title,
                     ": ", Describe(state)));
  }
  if (state.work_started() <= state.work_finished()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Inconsistent work started vs. finished when restoring in ",
                   title, ": ", Describe(state)));
}

}  // namespace

// Call is one read in progress.
struct Reader::Call {
  Context context;
  std::shared_ptr<Queue> queue;
  size_t count;
  ReadDone done;
  Records records;
};

Reader::Reader(std::string title, std::unique_ptr<RecordSource> source,
               bool can_save_state)
    : title_(std::move(title)),
      can_save_state_(can_save_state),
      source_(std::move(source)) {}

Reader::~Reader() = default;

std::string Reader::DebugString() const {
  absl::MutexLock lock(&mutex_);
  return absl::StrCat(title_, ": ", counts_.records_produced, " records of ",
                      counts_.work_started, " work units, the last '",
                      counts_.work, "'");
}

int64_t Reader::num_records_produced() const {
  absl::MutexLock lock(&mutex_);
  return counts_.records_produced;
}

int64_t Reader::num_work_units_completed() const {
  absl::MutexLock lock(&mutex_);
  return counts_.work_finished;
}

void Reader::ReadOne(const Context& context, std::shared_ptr<Queue> queue,
                     ReadDone done) {
  ReadUpTo(context, std::move(queue), 1, std::move(done));
}

void Reader::ReadUpTo(const Context& context, std::shared_ptr<Queue> queue,
                      int64_t count, ReadDone done) {
  const absl::Status status = CheckQueue(*queue);
  if (!status.ok()) return done(status);
  auto call = std::make_shared<Call>(Call{context,
                                          std::move(queue),
                                          static_cast<size_t>(count),
                                          std::move(done),
                                          {}});
  if (call->context.step.status().ok() && lock_.TryTake()) {
    const absl::StatusOr<bool> has_all = TakeAtOnce(*call);
    if (has_all.ok() && !*has_all) return Continue(call);
    return Finish(
        call, has_all.ok() ? call->context.step.status() : has_all.status());
  }
  lock_.Take(context.step,
             [self = shared_from_this(), call](const absl::Status& cause) {
               if (!cause.ok()) return call->done(cause);
               self->Continue(call);
             });
}

void Reader::Continue(const std::shared_ptr<Call>& call) {
  const bool has_work = work_ != Work::kNone || !unread_.empty() ||
                        !call->records.empty() || call->count == 0;
  if (has_work) {
    call->context.scheduler.Schedule(
        Pool::kBlocking,
        [self = shared_from_this(), call] { self->ReadOn(call); });
    return;
  }
  call->queue->Dequeue(call->context.step, 1, /*or_fewer=*/false,
                       [self = shared_from_this(), call](auto elements) {
                         self->GotElement(call, std::move(elements));
                       });
}

void Reader::GotElement(const std::shared_ptr<Call>& call,
                        absl::StatusOr<std::vector<QueueElement>> elements) {
  if (!elements.ok()) return FinishLater(call, elements.status());
  const Tensor& work = (*elements)[0][0];
  if (work.num_elements() != 1) {
    return FinishLater(call,
                       absl::InvalidArgumentError(
                           "Expected to dequeue a one-element string tensor"));
  }
  {
    absl::MutexLock lock(&mutex_);
    counts_.work = work.flat<std::string>()[0];
  }
  work_ = Work::kTaken;
  Continue(call);
}

void Reader::ReadOn(const std::shared_ptr<Call>& call) {
  const absl::StatusOr<bool> has_all = ReadSome(*call);
  if (!has_all.ok()) return Finish(call, has_all.status());
  if (!*has_all) return Continue(call);
  Finish(call, call->context.step.status());
}

absl::StatusOr<bool> Reader::TakeAtOnce(Call& call) {
  if (work_ == Work::kTaken) return false;  // its file must be opened first
  TakeUnread(call);
  const size_t most = std::min(call.count, kMostAtOnce);
  while (call.records.size() < most && work_ == Work::kStarted &&
         source_->HasNext()) {
    RETURN_IF_ERROR(ReadNext(call));
  }
  return call.records.size() == call.count;
}

absl::StatusOr<bool> Reader::ReadSome(Call& call) {
  TakeUnread(call);
  if (work_ == Work::kTaken) RETURN_IF_ERROR(StartWork(call));
  while (call.records.size() < call.count) {
    if (work_ == Work::kNone) {
      RETURN_IF_ERROR(CheckFruitless());
      return !call.records.empty();
    }
    RETURN_IF_ERROR(ReadNext(call));
  }
  return true;
}

absl::Status Reader::ReadNext(Call& call) {
  RETURN_IF_ERROR(call.context.step.status());
  ReaderRecord record;
  ASSIGN_OR_RETURN(const auto outcome,
                   source_->Read(record, call.context.step));
  if (outcome == RecordSource::Outcome::kNotYet) return absl::OkStatus();
  if (outcome != RecordSource::Outcome::kEnd) {
    has_record_ = true;
    call.records.push_back(std::move(record));
    absl::MutexLock lock(&mutex_);
    ++counts_.records_produced;
  }
  if (outcome != RecordSource::Outcome::kRecord) FinishWork();
  return absl::OkStatus();
}

void Reader::TakeUnread(Call& call) {
  call.records.reserve(std::min(call.count, kReservedRecords));
  while (call.records.size() < call.count && !unread_.empty()) {
    call.records.push_back(std::move(unread_.front()));
    unread_.pop_front();
  }
}

absl::Status Reader::StartWork(Call& call) {
  RETURN_IF_ERROR(call.context.step.status());
  std::string work;
  {
    absl::MutexLock lock(&mutex_);
    work = counts_.work;
  }
  const absl::Status status =
      source_->Start({call.context.files, call.context.allocator}, work);
  if (!status.ok()) {
    source_->Stop();
    if (!MayBeReachedLater(status)) work_ = Work::kNone;
    return status;
  }
  work_ = Work::kStarted;
  has_record_ = false;
  absl::MutexLock lock(&mutex_);
  ++counts_.work_started;
  return absl::OkStatus();
}

void Reader::FinishWork() {
  source_->Stop();
  work_ = Work::kNone;
  if (has_record_) {
    fruitless_ = Fruitless();
  } else {
    CountFruitless();
  }
  absl::MutexLock lock(&mutex_);
  counts_.work_finished = counts_.work_started;
}

void Reader::CountFruitless() {
  std::string work;
  {
    absl::MutexLock lock(&mutex_);
    work = counts_.work;
  }
  ++fruitless_.count;
  const int64_t times = ++fruitless_.units[work];
  if (times == 1) ++fruitless_.once;
  if (times == 2) --fruitless_.once;
}

absl::Status Reader::CheckFruitless() {
  if (fruitless_.count < kMostFruitless || fruitless_.once > 0) {
    return absl::OkStatus();
  }
  const Fruitless found = std::exchange(fruitless_, Fruitless());
  return absl::FailedPreconditionError(absl::StrCat(
      title_, " found no record in the last ", found.count,
      " files that its queue named: ", found.units.size(),
      " different ones, each at least twice, such as '",
      found.units.begin()->first,
      "'. Are they empty, or do they hold only lines or bytes that the reader "
      "skips?"));
}

void Reader::FinishLater(const std::shared_ptr<Call>& call,
                         const absl::Status& status) {
  call->context.scheduler.Schedule(Pool::kCompute,
                                   [self = shared_from_this(), call, status] {
                                     self->Finish(call, status);
                                   });
}

void Reader::Finish(const std::shared_ptr<Call>& call,
                    const absl::Status& status) {
  Records records = std::move(call->records);
  if (!status.ok() && !absl::IsDataLoss(status)) {
    unread_.insert(unread_.begin(), std::make_move_iterator(records.begin()),
                   std::make_move_iterator(records.end()));
  }
  lock_.End();
  if (!status.ok()) return call->done(status);
  call->done(std::move(records));
}

void Reader::InTurn(const Context& context, Change change, Done done) {
  struct Changing {
    Change change;
    Done done;
  };
  auto changing =
      std::make_shared<Changing>(Changing{std::move(change), std::move(done)});
  lock_.Take(context.step, [self = shared_from_this(), context,
                            changing](const absl::Status& cause) {
    if (!cause.ok()) return changing->done(cause);
    context.scheduler.Schedule(Pool::kBlocking, [self, context, changing] {
      absl::Status status = context.step.status();
      if (status.ok()) status = changing->change(*self);
      self->lock_.End();
      changing->done(status);
    });
  });
}

void Reader::Reset(const Context& context, Done done) {
  InTurn(
      context,
      [](Reader& reader) {
        reader.ResetNow();
        return absl::OkStatus();
      },
      std::move(done));
}

void Reader::ResetNow() {
  source_->Stop();
  work_ = Work::kNone;
  unread_.clear();
  fruitless_ = Fruitless();
  absl::MutexLock lock(&mutex_);
  counts_ = Counts();
}

void Reader::SerializeState(const Context& context, StateDone done) {
  auto state = std::make_shared<std::string>();
  InTurn(
      context,
      [state](Reader& reader) -> absl::Status {
        ASSIGN_OR_RETURN(*state, reader.StateNow());
        return absl::OkStatus();
      },
      [state, done = std::move(done)](const absl::Status& status) mutable {
        if (!status.ok()) return done(status);
        done(std::move(*state));
      });
}

absl::StatusOr<std::string> Reader::StateNow() const {
  if (!can_save_state_) {
    return absl::UnimplementedError("Reader SerializeState");
  }
  absl::MutexLock lock(&mutex_);
  tf::ReaderBaseState state;
  state.set_work_started(counts_.work_started);
  state.set_work_finished(counts_.work_finished);
  state.set_num_records_produced(counts_.records_produced);
  state.set_current_work(counts_.work);
  return state.SerializeAsString();
}

void Reader::RestoreState(const Context& context, std::string state,
                          Done done) {
  InTurn(
      context,
      [state = std::move(state)](Reader& reader) {
        absl::Status status = reader.RestoreNow(state);
        if (!status.ok()) reader.ResetNow();
        return status;
      },
      std::move(done));
}

absl::Status Reader::RestoreNow(const std::string& state) {
  if (!can_save_state_) {
    return absl::UnimplementedError("Reader RestoreState");
  }
  tf::ReaderBaseState parsed;
  if (!parsed.ParseFromString(state)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Could not parse state for ", title_, ": ", absl::CEscape(state)));
  }
  RETURN_IF_ERROR(CheckState(parsed, title_));
  ResetNow();
  absl::MutexLock lock(&mutex_);
  counts_ = {.work_started = parsed.work_started(),
             .work_finished = parsed.work_finished(),
             .records_produced = parsed.num_records_produced(),
             .work = parsed.current_work()};
  return absl::OkStatus();
}

}  // namespace weft
