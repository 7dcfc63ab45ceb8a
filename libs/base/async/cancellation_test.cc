#include "libs/base/async/cancellation.h"

#include <atomic>
#include <thread>
#include <vector>

#include "libs/base/test_matchers.h"

namespace weft {
namespace {

TEST(CancellationTest, StartsUncancelled) {
  Cancellation cancellation;
  EXPECT_FALSE(cancellation.IsCancelled());
  EXPECT_OK(cancellation.status());
}

TEST(CancellationTest, FirstCauseWins) {
  Cancellation cancellation;
  cancellation.Cancel(absl::AbortedError("first"));
  cancellation.Cancel(absl::InternalError("second"));
  EXPECT_TRUE(cancellation.IsCancelled());
  EXPECT_THAT(cancellation.status(),
              StatusIs(absl::StatusCode::kAborted, "first"));
}

TEST(CancellationTest, CallbacksRunOnceInOrderWithTheCause) {
  Cancellation cancellation;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(cancellation.Register([&order, i](const absl::Status& cause) {
      EXPECT_EQ(cause.message(), "enough");
      order.push_back(i);
    }),
              0u);
  }
  cancellation.Cancel(absl::CancelledError("enough"));
  cancellation.Cancel(absl::CancelledError("more"));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(CancellationTest, RegisterAfterCancelReturnsZero) {
  Cancellation cancellation;
  cancellation.Cancel(absl::CancelledError("enough"));
  bool ran = false;
  EXPECT_EQ(cancellation.Register([&](const absl::Status&) { ran = true; }),
            0u);
  EXPECT_FALSE(ran);
}

TEST(CancellationTest, DeregisteredCallbackNeverRuns) {
  Cancellation cancellation;
  bool ran = false;
  const auto token =
      cancellation.Register([&](const absl::Status&) { ran = true; });
  EXPECT_TRUE(cancellation.Deregister(token));
  EXPECT_FALSE(cancellation.Deregister(token));
  cancellation.Cancel(absl::CancelledError(""));
  EXPECT_FALSE(ran);
}

TEST(CancellationTest, CallbackMayDeregisterItselfAndOthers) {
  Cancellation cancellation;
  Cancellation::Token first = 0, second = 0;
  bool second_ran = false;
  bool removed_first = true, removed_second = false;
  first = cancellation.Register([&](const absl::Status&) {
    removed_first = cancellation.Deregister(first);
    removed_second = cancellation.Deregister(second);
  });
  second =
      cancellation.Register([&](const absl::Status&) { second_ran = true; });
  cancellation.Cancel(absl::CancelledError(""));
  EXPECT_FALSE(removed_first);
  EXPECT_TRUE(removed_second);
  EXPECT_FALSE(second_ran);
}

TEST(CancellationTest, CallbackMayUseTheCancellation) {
  Cancellation cancellation;
  cancellation.Register([&](const absl::Status&) {
    EXPECT_TRUE(cancellation.IsCancelled());
    EXPECT_EQ(cancellation.status().message(), "enough");
    EXPECT_EQ(cancellation.Register([](const absl::Status&) {}), 0u);
    cancellation.Cancel(absl::InternalError("again"));
  });
  cancellation.Cancel(absl::CancelledError("enough"));
}

// After Deregister has returned, the caller may destroy the objects that the
// callback uses.
TEST(CancellationTest, DeregisterRacesWithCancel) {
  for (int round = 0; round < 300; ++round) {
    Cancellation cancellation;
    auto target = std::make_unique<int>(0);
    const auto token = cancellation.Register(
        [used = target.get()](const absl::Status&) { ++*used; });
    std::thread canceller(
        [&] { cancellation.Cancel(absl::CancelledError("")); });
    const bool never_ran = cancellation.Deregister(token);
    EXPECT_EQ(*target, never_ran ? 0 : 1);
    target.reset();
    canceller.join();
  }
}

TEST(CancellationTest, RegisterRacesWithCancel) {
  for (int round = 0; round < 300; ++round) {
    Cancellation cancellation;
    std::atomic<int> runs{0};
    std::thread canceller(
        [&] { cancellation.Cancel(absl::CancelledError("")); });
    int registered = 0;
    for (int i = 0; i < 10; ++i) {
      if (cancellation.Register([&](const absl::Status&) { ++runs; }) != 0) {
        ++registered;
      }
    }
    canceller.join();
    EXPECT_EQ(runs, registered);
  }
}

TEST(CancellationTest, ConcurrentCancelsKeepOneCause) {
  Cancellation cancellation;
  std::atomic<int> runs{0};
  cancellation.Register([&](const absl::Status&) { ++runs; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(
        [&, i] { cancellation.Cancel(absl::AbortedError(std::to_string(i))); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(cancellation.status(), StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace weft
