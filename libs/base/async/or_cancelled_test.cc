#include "libs/base/async/or_cancelled.h"

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using Result = absl::StatusOr<int>;

class OrCancelledTest : public ::testing::Test {
 protected:
  absl::AnyInvocable<void(Result)> Callback() {
    return OrCancelled<Result>(
        cancellation_,
        [this, held = held_](Result result) { results_.push_back(result); });
  }

  const std::shared_ptr<Cancellation> cancellation_ =
      std::make_shared<Cancellation>();
  const std::shared_ptr<int> held_ = std::make_shared<int>(0);
  std::vector<Result> results_;
};

TEST_F(OrCancelledTest, ResultBeforeCancellationIsDelivered) {
  auto callback = Callback();
  callback(3);
  cancellation_->Cancel(absl::CancelledError("late"));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0].value(), 3);
}

TEST_F(OrCancelledTest, CancellationReleasesTheCallback) {
  auto callback = Callback();
  cancellation_->Cancel(absl::AbortedError("the session has ended"));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kAborted, "has ended"));
  EXPECT_EQ(held_.use_count(), 1);
  callback(3);
  EXPECT_EQ(results_.size(), 1u);
}

TEST_F(OrCancelledTest, AlreadyCancelledCallsBackAtOnce) {
  cancellation_->Cancel(absl::AbortedError("the session has ended"));
  auto callback = Callback();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kAborted));
  callback(3);
  EXPECT_EQ(results_.size(), 1u);
}

TEST_F(OrCancelledTest, ResultDeregistersFromTheCancellation) {
  Callback()(3);
  EXPECT_EQ(held_.use_count(), 1);
  EXPECT_EQ(cancellation_.use_count(), 1);
}

}  // namespace
}  // namespace weft
