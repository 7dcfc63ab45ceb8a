// Data sets that work in the background where there is no memory for a closure:
// the call fails, the process goes on, and so does the walk.
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/exceptions.h"
#include "libs/base/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/forwarding_scheduler.h"
#include "libs/kernels/data/captured_function.h"
#include "libs/kernels/data/parallel_map.h"
#include "libs/kernels/data/testing/dataset_harness.h"

namespace weft {
namespace {

// Has no memory for one closure of a pool.
class RefusingScheduler : public ForwardingScheduler {
 public:
  using ForwardingScheduler::ForwardingScheduler;

  // The closure that is scheduled after `count` others of the pool.
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

class RefusedClosuresTest : public testing::Test {
 protected:
  RefusedClosuresTest() { harness_.kernels().set_scheduler(scheduler_); }

  // What a kernel makes of an exception.
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
  // Ranges of 0 to `size` - 1 elements.
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

TEST_F(RefusedClosuresTest, ThreadsThatCannotStartAreAskedForAgain) {
  std::vector<std::unique_ptr<DatasetIterator>> walks;
  walks.push_back(Map(1));
  ASSERT_OK_AND_ASSIGN(walks.emplace_back(), Prefetch(1));
  ASSERT_OK_AND_ASSIGN(walks.emplace_back(), Interleave(2));
  for (const auto& walk : walks) {
    scheduler_.RefuseAfter(Pool::kOwnThread, 0);
    EXPECT_THAT(Next(*walk), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(Next(*walk).value_or(-1), 0);
  }
}

// The thread that takes the input asks for the one that reads.
TEST_F(RefusedClosuresTest, InterleaveFailsWhereNoReaderCanStart) {
  ASSERT_OK_AND_ASSIGN(const auto walk, Interleave(3));
  scheduler_.RefuseAfter(Pool::kOwnThread, 1);
  EXPECT_THAT(Next(*walk), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace weft
