// Tests datasets with background work while there is no memory for a closure:
// the call fails, and the process and the iterator continue.
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/clock.h"
#include "libs/base/exceptions.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/forwarding_scheduler.h"
#include "libs/kernels/data/background_work.h"
#include "libs/kernels/data/captured_function.h"
#include "libs/kernels/data/datasets/parallel_map.h"
#include "libs/kernels/data/testing/dataset_harness.h"

namespace weft {
namespace {

// RefusingScheduler fails to allocate one closure of a pool.
class RefusingScheduler : public ForwardingScheduler {
 public:
  using ForwardingScheduler::ForwardingScheduler;

  // Refuses the closure that is scheduled after `count` others of the pool.
  void RefuseAfter(Pool pool, int count) {
    pool_ = pool;
    left_ = count;
  }

  void Schedule(Pool pool, Closure closure) override {
    if (pool == pool_ && left_-- == 0) throw std::bad_alloc();
    ForwardingScheduler::Schedule(pool, std::move(closure));
  }

 private:
  std::atomic<Pool> pool_{Pool::kGraph};
  std::atomic<int> left_{-1};
};

// CountingEvents creates events that count their Set calls. Waiting for an
// event calls `during_wait` instead.
class CountingEvents : public ForwardingScheduler {
 public:
  using ForwardingScheduler::ForwardingScheduler;

  std::unique_ptr<Event> NewEvent() override {
    if (std::exchange(has_no_memory, false)) throw std::bad_alloc();
    return std::make_unique<CountingEvent>(*this);
  }

  bool has_no_memory = false;  // for the next event
  std::function<void()> during_wait;
  int times_set = 0;

 private:
  class CountingEvent : public Event {
   public:
    explicit CountingEvent(CountingEvents& events) : events_(events) {}
    void Set() override { ++events_.times_set; }
    bool IsSet() const override { return events_.times_set > 0; }
    bool WaitUntil(absl::Time) override {
      events_.during_wait();
      return true;
    }

   private:
    CountingEvents& events_;
  };
};

class RefusedClosuresTest : public testing::Test {
 protected:
  RefusedClosuresTest() { harness_.kernels().set_scheduler(scheduler_); }

  // Converts exceptions to errors as kernels do.
  absl::StatusOr<int64_t> Next(DatasetIterator& iterator) {
    return CatchExceptions([&]() -> absl::StatusOr<int64_t> {
      ASSIGN_OR_RETURN(const Tensor next, harness_.Next(iterator));
      return next.scalar<int64_t>();
    });
  }

  std::unique_ptr<DatasetIterator> Map(int64_t size) {
    const Tensor range = harness_.Range(size);
    ParallelMapOptions options;
    options.parallel_calls = 1;
    options.map = [](const IteratorContext&, DatasetElement element,
                     CapturedFunction::Done done) { done(std::move(element)); };
    return NewParallelMapIterator(*DatasetFrom(range), *harness_.Walk(range),
                                  std::move(options), harness_.Context());
  }
  absl::StatusOr<std::unique_ptr<DatasetIterator>> Prefetch(int64_t size) {
    ASSIGN_OR_RETURN(
        const Tensor dataset,
        harness_.Make("PrefetchDataset",
                      {harness_.Range(size), Tensor::Scalar(int64_t{1})},
                      DatasetHarness::Ints()));
    return harness_.Walk(dataset);
  }
  // Returns an Interleave over datasets of 0 to `size` - 1 elements.
  absl::StatusOr<std::unique_ptr<DatasetIterator>> Interleave(int64_t size) {
    harness_.functions().Add(
        "range", {DT_INT64}, {DT_VARIANT},
        [this](
            std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          return std::vector<Tensor>{harness_.Range(args[0].scalar<int64_t>())};
        });
    ASSIGN_OR_RETURN(
        const Tensor dataset,
        harness_.Make("ParallelInterleaveDatasetV2",
                      {harness_.Range(size), Tensor::Scalar(int64_t{2}),
                       Tensor::Scalar(int64_t{1}), Tensor::Scalar(int64_t{2})},
                      DatasetHarness::Ints(),
                      {{"f", DatasetHarness::Function("range")},
                       {"Targuments", DataTypeVector()}}));
    return harness_.Walk(dataset);
  }

  SystemClock clock_;
  const std::unique_ptr<Scheduler> threads_ = NewThreadScheduler(clock_);
  RefusingScheduler scheduler_{*threads_};
  DatasetHarness harness_;
};

TEST_F(RefusedClosuresTest, ParallelMapFailsTheCallThatCannotStart) {
  const auto walk = Map(3);
  scheduler_.RefuseAfter(Pool::kCompute, 1);
  EXPECT_EQ(Next(*walk).value_or(-1), 0);
  EXPECT_THAT(Next(*walk), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(Next(*walk).value_or(-1), 2);
  EXPECT_THAT(Next(*walk), StatusIs(absl::StatusCode::kOutOfRange));
}

// The signal may be destroyed before the step is cancelled.
TEST_F(RefusedClosuresTest, WaitThatCannotBeginLeavesNoCallback) {
  CountingEvents events(*threads_);
  Cancellation cancellation;
  absl::Mutex mutex;
  Signal signal;
  events.has_no_memory = true;
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(CatchExceptions([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                return signal.WaitFor(mutex, events, cancellation,
                                      [] { return false; });
              }),
              StatusIs(absl::StatusCode::kResourceExhausted));
  // The next wait shows whether the cancellation reaches the signal.
  events.during_wait = [&] {
    cancellation.Cancel(absl::CancelledError("over"));
  };
  signal.WaitFor(mutex, events, [&] { return cancellation.IsCancelled(); });
  EXPECT_EQ(events.times_set, 0);
}

TEST_F(RefusedClosuresTest, FailedThreadStartIsRetried) {
  std::vector<std::unique_ptr<DatasetIterator>> walks;
  walks.push_back(Map(1));
  ASSERT_OK_AND_ASSIGN(walks.emplace_back(), Prefetch(1));
  ASSERT_OK_AND_ASSIGN(walks.emplace_back(), Interleave(2));
  for (const auto& walk : walks) {
    scheduler_.RefuseAfter(Pool::kUnbounded, 0);
    EXPECT_THAT(Next(*walk), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(Next(*walk).value_or(-1), 0);
  }
}

// The thread that reads the input starts the thread that reads an element.
TEST_F(RefusedClosuresTest, InterleaveFailsIfNoReaderStarts) {
  ASSERT_OK_AND_ASSIGN(const auto walk, Interleave(3));
  scheduler_.RefuseAfter(Pool::kUnbounded, 1);
  EXPECT_THAT(Next(*walk), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace weft
