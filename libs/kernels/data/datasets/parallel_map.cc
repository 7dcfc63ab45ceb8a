#include "libs/kernels/data/datasets/parallel_map.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/kernels/data/background_work.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_result.h"

namespace weft {
namespace {

// The maximum number of concurrent calls and results; larger numbers of
// parallel calls are reduced to it.
constexpr int64_t kMaxCalls = int64_t{1} << 14;

// A thread takes elements from the input and starts calls while there is room
// for their results; calls run on the compute pool.
class ParallelMapIterator : public DatasetIterator {
 public:
  ParallelMapIterator(DatasetPtr owner, std::unique_ptr<DatasetIterator> input,
                      ParallelMapOptions options, size_t capacity,
                      const IteratorContext& context)
      : owner_(std::move(owner)),
        input_(std::move(input)),
        options_(std::move(options)),
        capacity_(capacity),
        charge_(context.allocator()),
        background_(context) {}

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* element) override {
    absl::MutexLock lock(&mutex_);
    StartFeeding();
    RETURN_IF_ERROR(changed_.WaitFor(mutex_, context.scheduler(),
                                     context.cancellation(), [this] {
                                       mutex_.AssertHeld();
                                       return Next() || HasEnded();
                                     }));
    const auto next = FindNext();
    if (next == calls_.end()) {
      RETURN_IF_ERROR(std::exchange(feed_error_, absl::OkStatus()));
      return false;
    }
    const CallPtr call = *next;
    calls_.erase(next);
    charge_.Remove();
    if (call->is_end) {
      input_has_ended_ = true;
      calls_.clear();
      return false;
    }
    StartFeeding();
    return call->result.MoveTo(element);
  }

  bool IsReady() const override {
    absl::MutexLock lock(&mutex_);
    return FindNext() != calls_.end() || HasEnded();
  }

  absl::Status Save(IteratorContext& context,
                    IteratorStateWriter writer) override {
    absl::MutexLock lock(&mutex_);
    const absl::Cleanup resumed = [this] { Resume(); };
    RETURN_IF_ERROR(Pause(context));
    RETURN_IF_ERROR(feed_error_);
    std::deque<ElementResult> results;
    bool ends = input_has_ended_;
    for (const CallPtr& call : calls_) {
      ends = ends || call->is_end;
      if (call->is_end) break;
      results.push_back(call->result);
    }
    writer.Write("has_ended", int64_t{ends});
    WriteResults(writer, "results", results);
    return input_->Save(context, writer.Within("input"));
  }

  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override {
    absl::MutexLock lock(&mutex_);
    const absl::Cleanup resumed = [this] { Resume(); };
    RETURN_IF_ERROR(Pause(context));
    ASSIGN_OR_RETURN(const bool ended, reader.ReadBool("has_ended"));
    std::deque<ElementResult> results;
    RETURN_IF_ERROR(ReadResults(reader, "results", owner_->element(), results));
    RETURN_IF_ERROR(input_->Restore(context, reader.Within("input")));
    input_has_ended_ = ended;
    feed_error_ = absl::OkStatus();
    calls_.clear();
    charge_.Remove(charge_.count());
    for (ElementResult& result : results) {
      RETURN_IF_ERROR(charge_.Add(result.element));
      calls_.push_back(
          std::make_shared<Call>(Call{std::move(result), true, false}));
    }
    return absl::OkStatus();
  }

 private:
  struct Call {
    ElementResult result;
    bool is_done = false;
    bool is_end = false;
  };
  using CallPtr = std::shared_ptr<Call>;
  using Calls = std::deque<CallPtr>;

  // Ends a call once: with its results, or with an error if it is destroyed
  // first. REQUIRES: mutex_ is not held.
  class CallEnd {
   public:
    CallEnd(ParallelMapIterator& iterator, CallPtr call)
        : running_(iterator.background_.Begin()),
          iterator_(&iterator),
          call_(std::move(call)) {}
    CallEnd(CallEnd&&) = default;
    ~CallEnd() {
      if (call_ == nullptr) return;
      (*this)(StatusWithoutThrowing(CapturedFunction::DroppedCall));
    }

    void operator()(absl::StatusOr<DatasetElement> results) {
      iterator_->EndCall(*std::exchange(call_, nullptr), std::move(results));
      running_.reset();
    }

   private:
    BackgroundWork::Running running_;  // keeps the iterator alive
    ParallelMapIterator* iterator_;
    CallPtr call_;
  };

  // The call whose result is returned next.
  Calls::const_iterator FindNext() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    const auto end = options_.keeps_order && !calls_.empty()
                         ? calls_.begin() + 1
                         : calls_.end();
    const auto found = std::find_if(
        calls_.begin(), end, [](const CallPtr& call) { return call->is_done; });
    return found == end ? calls_.end() : found;
  }
  bool Next() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return FindNext() != calls_.end();
  }
  // Returns whether no result follows, or the error of a lost element is next.
  bool HasEnded() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return calls_.empty() && !is_feeding_ &&
           (input_has_ended_ || !feed_error_.ok());
  }
  bool MayFeed() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return calls_.size() < capacity_ && !input_has_ended_ && feed_error_.ok() &&
           !is_paused_ && !background_.IsCancelled();
  }

  void StartFeeding() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_feeding_ || !MayFeed()) return;
    background_.Start(Pool::kUnbounded, [this] { Feed(); });
    is_feeding_ = true;  // unless Start threw; Feed waits for the lock
  }

  // Waits until no call is running, or the step is cancelled: a function may
  // wait for an event that cannot happen during a save.
  absl::Status Pause(IteratorContext& context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    is_paused_ = true;
    return changed_.WaitFor(
        mutex_, context.scheduler(), context.cancellation(), [this] {
          mutex_.AssertHeld();
          return !is_feeding_ &&
                 std::all_of(calls_.begin(), calls_.end(),
                             [](const CallPtr& call) { return call->is_done; });
        });
  }
  // Must be called on every path after a Pause.
  void Resume() {
    mutex_.AssertHeld();
    is_paused_ = false;
  }

  void Feed() {
    absl::MutexLock lock(&mutex_);
    while (MayFeed()) {
      mutex_.Unlock();
      absl::Status fed = CatchExceptions([this] { return FeedOne(); });
      mutex_.Lock();
      if (!fed.ok()) feed_error_ = std::move(fed);
    }
    is_feeding_ = false;
    changed_.Notify();
  }

  // Takes an element from the input and starts its call. An exception loses the
  // element.
  absl::Status FeedOne() ABSL_LOCKS_EXCLUDED(mutex_) {
    DatasetElement element;
    const absl::StatusOr<bool> has = CatchExceptions(
        [&] { return input_->GetNext(background_.context(), &element); });
    const auto call = std::make_shared<Call>();
    {
      absl::MutexLock lock(&mutex_);
      if (has.ok() && !*has) {
        input_has_ended_ = true;
        return absl::OkStatus();
      }
      calls_.push_back(call);
      if (!has.ok()) {
        // The input's own error: only a function's OUT_OF_RANGE may be the end.
        End(*call, has.status());
        return absl::OkStatus();
      }
    }
    StartCall(call, std::move(element));
    return absl::OkStatus();
  }

  void StartCall(const CallPtr& call, DatasetElement element)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::Status started = CatchExceptions([&] {
      background_.Start(Pool::kCompute,
                        [this, end = CallEnd(*this, call),
                         element = std::move(element)]() mutable {
                          // An exception destroys `done`, which ends the call.
                          CatchExceptions([&] {
                            options_.map(background_.context(),
                                         std::move(element), std::move(end));
                            return absl::OkStatus();
                          }).IgnoreError();
                        });
      return absl::OkStatus();
    });
    if (started.ok()) return;
    absl::MutexLock lock(&mutex_);
    // If the closure was created, its destruction has ended the call.
    if (!call->is_done) End(*call, started);
  }

  void EndCall(Call& call, absl::StatusOr<DatasetElement> results) {
    absl::MutexLock lock(&mutex_);
    if (results.ok()) call.result.element = *std::move(results);
    absl::Status status = results.status();
    if (absl::IsOutOfRange(status)) {
      call.is_end = options_.ends_out_of_range;
      status = absl::InvalidArgumentError(absl::StrCat(
          "Function invocation produced OutOfRangeError: ", status.message()));
    }
    End(call, std::move(status));
  }
  void End(Call& call, absl::Status status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (status.ok()) {
      status = CatchExceptions([&] {
        mutex_.AssertHeld();
        return charge_.Add(call.result.element);
      });
    }
    if (!status.ok()) {
      call.result.element.clear();
      charge_.AddBytes(0).IgnoreError();  // an error is consumed as well
    }
    call.result.status = std::move(status);
    call.is_done = true;
    changed_.Notify();
  }

  const DatasetPtr owner_;
  const std::unique_ptr<DatasetIterator> input_;
  const ParallelMapOptions options_;
  const size_t capacity_;

  mutable absl::Mutex mutex_;
  Signal changed_;
  Calls calls_ ABSL_GUARDED_BY(mutex_);           // in the order of the input
  ElementCharge charge_ ABSL_GUARDED_BY(mutex_);  // for the results in calls_
  bool input_has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  // The error of an element that was lost after those in calls_. Feeding stops
  // until the consumer has taken it.
  absl::Status feed_error_ ABSL_GUARDED_BY(mutex_);
  bool is_feeding_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_paused_ ABSL_GUARDED_BY(mutex_) = false;

  BackgroundWork background_;  // the last member
};

}  // namespace

std::unique_ptr<DatasetIterator> NewParallelMapIterator(
    DatasetPtr owner, std::unique_ptr<DatasetIterator> input,
    ParallelMapOptions options, const IteratorContext& context) {
  const int64_t capacity = options.parallel_calls == kAutotune
                               ? context.scheduler().num_compute_threads()
                               : options.parallel_calls;
  return std::make_unique<ParallelMapIterator>(
      std::move(owner), std::move(input), std::move(options),
      static_cast<size_t>(std::min(capacity, kMaxCalls)), context);
}

absl::Status CheckParallelCalls(int64_t parallel_calls) {
  if (parallel_calls > 0 || parallel_calls == kAutotune) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "num_parallel_calls must be greater than zero, but is ", parallel_calls));
}

absl::StatusOr<bool> KeepsOrder(const DatasetOp& op) {
  if (op.attrs.contains("deterministic")) {
    ASSIGN_OR_RETURN(const std::string deterministic,
                     op.Attr<std::string>("deterministic"));
    if (deterministic == "true" || deterministic == "default") return true;
    if (deterministic == "false") return false;
    return absl::InvalidArgumentError(
        absl::StrCat("deterministic must be true, false or default, not '",
                     deterministic, "'"));
  }
  ASSIGN_OR_RETURN(const bool sloppy, op.Attr<bool>("sloppy"));
  return !sloppy;
}

}  // namespace weft
