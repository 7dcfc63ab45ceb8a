#include "libs/resource/gradient_accumulator.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

// CountingSum is a sum that counts its gradients, so that tests see how many
// were taken.
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
  void Forget() override {}
};

class GradientAccumulatorTest : public testing::Test {
 protected:
  using Answer = std::optional<absl::StatusOr<std::vector<Tensor>>>;

  // Starts a Take, which sets `answer` to its result when it completes.
  void Take(Cancellation& step, int64_t num_required, Answer& answer) {
    accumulator_->Take(step, num_required, [&](auto taken) {
      ASSERT_FALSE(answer.has_value());
      answer = std::move(taken);
    });
  }
  absl::Status Apply(int64_t local_step = 0,
                     std::optional<int64_t> replica = std::nullopt) {
    return accumulator_->Apply(step_, local_step, {}, replica);
  }
  // Returns how many of these gradients the accumulator counts now.
  int64_t NumCounted(std::initializer_list<int64_t> local_steps) {
    const int64_t before = accumulator_->num_accumulated();
    for (const int64_t local_step : local_steps) EXPECT_OK(Apply(local_step));
    return accumulator_->num_accumulated() - before;
  }

  Cancellation step_;
  std::shared_ptr<GradientAccumulator> accumulator_ =
      std::make_shared<GradientAccumulator>("a", GradientAccumulatorOptions(),
                                            std::make_unique<CountingSum>());
};

TEST_F(GradientAccumulatorTest, TakeWaitsForEnoughGradients) {
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

TEST_F(GradientAccumulatorTest, CancelledTakeKeepsTheGradients) {
  Cancellation other;
  Answer first, second;
  Take(other, 3, first);
  Take(step_, 1, second);
  ASSERT_OK(Apply());
  EXPECT_FALSE(second.has_value());  // the first take is served first
  other.Cancel(absl::AbortedError("the step is over"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->status(), absl::AbortedError("the step is over"));
  ASSERT_TRUE(second.has_value());
  EXPECT_OK(*second);
}

// The container of the accumulator is reset or its node is destroyed, so the
// test releases its reference.
TEST_F(GradientAccumulatorTest, WaitingTakeKeepsItsAccumulator) {
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

TEST_F(GradientAccumulatorTest, WhenAccumulatedTakesNoGradients) {
  std::vector<absl::StatusOr<int64_t>> told;
  const auto tell = [&](absl::StatusOr<int64_t> count) {
    told.push_back(std::move(count));
  };
  Cancellation other;
  Answer answer;
  accumulator_->WhenAccumulated(step_, 2, tell);
  accumulator_->WhenAccumulated(other, 3, tell);
  ASSERT_OK(Apply());
  EXPECT_TRUE(told.empty());
  ASSERT_OK(Apply());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].value_or(-1), 2);
  EXPECT_EQ(accumulator_->num_accumulated(), 2);
  // A waiting Take does not block WhenAccumulated and does not change its
  // count.
  Take(step_, 3, answer);
  ASSERT_OK(Apply());
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].value_or(-1), 3);
  EXPECT_TRUE(answer.has_value());
  accumulator_->WhenAccumulated(other, 1, tell);
  EXPECT_EQ(told.size(), 2u);
  other.Cancel(absl::AbortedError("the step is over"));
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[2].status(), absl::AbortedError("the step is over"));
  accumulator_->WhenAccumulated(other, 1, tell);
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[3].status(), absl::AbortedError("the step is over"));
}

TEST_F(GradientAccumulatorTest, GradientsBeforeTheFirstChiefCount) {
  ASSERT_OK(Apply(1000));
  ASSERT_OK(accumulator_->BeginAnew(step_, 1000));
  EXPECT_EQ(accumulator_->num_accumulated(), 1);
  EXPECT_EQ(NumCounted({999, 1000, 1001}), 2);
}

TEST_F(GradientAccumulatorTest, NewChiefDropsEarlierGradients) {
  ASSERT_OK(accumulator_->BeginAnew(step_, 5));
  ASSERT_OK(Apply(5));
  ASSERT_OK(accumulator_->BeginAnew(step_, 5));
  EXPECT_EQ(accumulator_->num_accumulated(), 0);
  // Gradients are dropped even if the earlier chief set no global step but took
  // gradients.
  accumulator_ = std::make_shared<GradientAccumulator>(
      "b", GradientAccumulatorOptions(), std::make_unique<CountingSum>());
  Answer answer;
  ASSERT_OK(Apply());
  Take(step_, 1, answer);
  ASSERT_OK(Apply(1));
  ASSERT_OK(accumulator_->BeginAnew(step_, 1));
  EXPECT_EQ(accumulator_->num_accumulated(), 0);
}

TEST_F(GradientAccumulatorTest, UndoneStepsCountAgain) {
  ASSERT_OK(accumulator_->BeginAnew(step_, 7));
  ASSERT_OK(Apply(7));
  Answer answer;
  Take(step_, 1, answer);  // now step 8 begins
  ASSERT_OK(accumulator_->BeginAnew(step_, 6));
  EXPECT_EQ(NumCounted({5, 7, 8}), 0);
  EXPECT_EQ(NumCounted({6}), 1);
  // Step 9 was not reached before. TensorFlow counts its gradients, too.
  EXPECT_EQ(NumCounted({9}), 1);
  answer.reset();
  Take(step_, 1, answer);
  EXPECT_EQ(NumCounted({6, 8}), 0);
  EXPECT_EQ(NumCounted({7}), 1);
  answer.reset();
  Take(step_, 1, answer);
  EXPECT_EQ(NumCounted({8}), 1);
}

// The global step of the training increases by ten with each update. A chief
// that resumes from step 10 must not wait for gradients that all count as
// rolled back.
TEST_F(GradientAccumulatorTest, StepsAheadOfTakesCountAfterRestart) {
  ASSERT_OK(accumulator_->BeginAnew(step_, 0));
  Answer answer;
  for (const int64_t local_step : {0, 10, 20, 30}) {
    EXPECT_EQ(NumCounted({local_step}), 1);
    answer.reset();
    Take(step_, 1, answer);
  }
  ASSERT_OK(accumulator_->BeginAnew(step_, 10));
  EXPECT_EQ(NumCounted({0}), 0);
  for (const int64_t local_step : {10, 20, 30, 40}) {
    EXPECT_EQ(NumCounted({local_step}), 1) << local_step;
    answer.reset();
    Take(step_, 1, answer);
  }
}

// The gradient belongs to the same step, but it was computed from the values of
// variables before the restore.
TEST_F(GradientAccumulatorTest, GradientsOfEarlierTrainingAreDropped) {
  const auto num_counted = [&](int64_t training) {
    const int64_t before = accumulator_->num_accumulated();
    EXPECT_OK(accumulator_->Apply(step_, 6, {}, std::nullopt, training));
    return accumulator_->num_accumulated() - before;
  };
  EXPECT_EQ(num_counted(0), 1);
  ASSERT_OK(accumulator_->BeginAnew(step_, 6));
  EXPECT_EQ(num_counted(0), 1);  // the chief came later
  EXPECT_EQ(num_counted(1), 1);
  ASSERT_OK(accumulator_->BeginAnew(step_, 6));
  EXPECT_EQ(accumulator_->training(), 2);
  EXPECT_EQ(num_counted(0), 0);
  EXPECT_EQ(num_counted(1), 0);
  EXPECT_EQ(num_counted(2), 1);
}

// The replica's first gradient belongs to a step that was rolled back, so its
// next gradient counts.
TEST_F(GradientAccumulatorTest, NumberedReplicaCountsAgainForNewChief) {
  ASSERT_OK(accumulator_->BeginAnew(step_, 3));
  ASSERT_OK(Apply(3, 1));
  ASSERT_OK(accumulator_->BeginAnew(step_, 2));
  ASSERT_OK(Apply(2, 1));
  EXPECT_EQ(accumulator_->num_accumulated(), 1);
  // Gradients of the next training may be without a replica number.
  ASSERT_OK(accumulator_->BeginAnew(step_, 2));
  ASSERT_OK(Apply(2));
  EXPECT_EQ(accumulator_->num_accumulated(), 1);
}

TEST_F(GradientAccumulatorTest, AbortedStepDoesNotBeginATraining) {
  ASSERT_OK(accumulator_->BeginAnew(step_, 3));
  ASSERT_OK(Apply(3));
  Cancellation over;
  over.Cancel(absl::AbortedError("the step is over"));
  EXPECT_EQ(accumulator_->BeginAnew(over, 0),
            absl::AbortedError("the step is over"));
  EXPECT_EQ(accumulator_->num_accumulated(), 1);
  EXPECT_EQ(NumCounted({2}), 0);
}

}  // namespace
}  // namespace weft
