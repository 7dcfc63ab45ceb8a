#include "libs/resource/gradient_accumulator.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

// The number of gradients, so that a test sees what was taken.
class CountingSum : public GradientSum {
 public:
  absl::Status Check(absl::Span<const Tensor>,
                     absl::Span<const Tensor>) const override {
    return absl::OkStatus();
  }
  absl::Status Add(absl::Span<const Tensor>, bool) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<Tensor>> Take(int64_t count) override {
    return std::vector<Tensor>{Tensor::Scalar(count)};
  }
};

class GradientAccumulatorTest : public testing::Test {
 protected:
  using Answer = std::optional<absl::StatusOr<std::vector<Tensor>>>;

  // `answer` is set once, with what the take came to.
  void Take(Cancellation& step, int64_t num_required, Answer& answer) {
    accumulator_->Take(step, num_required, [&](auto taken) {
      ASSERT_FALSE(answer.has_value());
      answer = std::move(taken);
    });
  }
  absl::Status Apply() { return accumulator_->Apply(step_, 0, {}); }

  Cancellation step_;
  std::shared_ptr<GradientAccumulator> accumulator_ =
      std::make_shared<GradientAccumulator>("a", GradientAccumulatorOptions(),
                                            std::make_unique<CountingSum>());
};

TEST_F(GradientAccumulatorTest, ATakeWaitsForEnough) {
  Answer answer;
  Take(step_, 2, answer);
  ASSERT_OK(Apply());
  EXPECT_FALSE(answer.has_value());
  ASSERT_OK(Apply());
  ASSERT_TRUE(answer.has_value());
  ASSERT_OK(*answer);
  EXPECT_EQ((**answer)[0].scalar<int64_t>(), 2);
  EXPECT_EQ(accumulator_->num_accumulated(), 0);
}

TEST_F(GradientAccumulatorTest, ACancelledTakeTakesNothing) {
  Cancellation other;
  Answer first, second;
  Take(other, 3, first);
  Take(step_, 1, second);
  ASSERT_OK(Apply());
  EXPECT_FALSE(second.has_value());  // its turn has not come
  other.Cancel(absl::AbortedError("the step is over"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->status(), absl::AbortedError("the step is over"));
  ASSERT_TRUE(second.has_value());
  EXPECT_OK(*second);
}

// Its container was reset, or its node is gone.
TEST_F(GradientAccumulatorTest, ATakeThatWaitsKeepsItsAccumulator) {
  Answer answer;
  Take(step_, 1, answer);
  const std::weak_ptr<GradientAccumulator> accumulator = accumulator_;
  accumulator_.reset();
  EXPECT_FALSE(accumulator.expired());
  step_.Cancel(absl::AbortedError("the step is over"));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status(), absl::AbortedError("the step is over"));
  EXPECT_TRUE(accumulator.expired());
}

}  // namespace
}  // namespace weft
