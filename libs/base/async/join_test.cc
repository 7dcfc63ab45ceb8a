#include "libs/base/async/join.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::absl::StatusCode;

TEST(JoinTest, EndPartReturnsTrueForTheLastPart) {
  Join join;
  join.Begin(2);
  join.AddPart();
  EXPECT_FALSE(join.EndPart());
  EXPECT_FALSE(join.EndPart());
  EXPECT_TRUE(join.EndPart());
  EXPECT_OK(join.TakeError());
}

TEST(JoinTest, ReportsTheFirstErrorOfItsParts) {
  Join join;
  join.Begin(3);
  EXPECT_FALSE(join.EndPart());
  EXPECT_FALSE(join.EndPart(absl::AbortedError("first")));
  EXPECT_TRUE(join.EndPart(absl::InternalError("second")));
  EXPECT_THAT(join.TakeError(), StatusIs(StatusCode::kAborted, "first"));
}

// A part that is cancelled because of another part's error reports that
// cancellation; the user must see the original error.
TEST(JoinTest, RootCauseIsReportedBeforeDerivedErrors) {
  const absl::Status derived = MarkDerived(absl::AbortedError("told to end"));
  Join join;
  join.Begin(3);
  EXPECT_FALSE(join.EndPart(derived));
  EXPECT_FALSE(join.EndPart(absl::InternalError("the cause")));
  EXPECT_TRUE(join.EndPart(derived));
  EXPECT_THAT(join.TakeError(), StatusIs(StatusCode::kInternal, "the cause"));
}

TEST(JoinTest, ReusedJoinStartsWithoutError) {
  Join join;
  join.Begin(1);
  join.AddError(absl::AbortedError("of the first step"));
  EXPECT_TRUE(join.EndPart());
  EXPECT_THAT(join.TakeError(), StatusIs(StatusCode::kAborted));
  join.Begin(2);
  EXPECT_FALSE(join.EndPart());
  EXPECT_TRUE(join.EndPart());
  EXPECT_OK(join.TakeError());
}

TEST(JoinCallsTest, CallsDoneOnceWithTheErrorOfManyThreads) {
  constexpr int kCalls = 1000;
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.compute_threads = 4});
  std::atomic<int> times = 0;
  absl::Status status;
  const auto finish = JoinCalls(kCalls, [&](absl::Status error) {
    ++times;
    status = std::move(error);
  });
  for (int i = 0; i < kCalls; ++i) {
    scheduler->Schedule(Pool::kCompute, [finish, i] {
      finish(i == kCalls / 2 ? absl::DataLossError("one of them")
                             : absl::OkStatus());
    });
  }
  scheduler.reset();  // runs all closures
  EXPECT_EQ(times, 1);
  EXPECT_THAT(status, StatusIs(StatusCode::kDataLoss, "one of them"));
}

// When the last callback is destroyed, `done` and its captures are destroyed as
// well.
TEST(JoinCallsTest, DoneIsReleasedWithTheLastCallback) {
  bool is_gone = false;
  std::optional<absl::Status> result;
  {
    const auto finish = JoinCalls(
        1, [&result, gone = absl::MakeCleanup([&is_gone] { is_gone = true; })](
               absl::Status status) { result = std::move(status); });
    finish(absl::OkStatus());
    ASSERT_TRUE(result.has_value());
    EXPECT_OK(*result);
  }
  EXPECT_TRUE(is_gone);
}

}  // namespace
}  // namespace weft
