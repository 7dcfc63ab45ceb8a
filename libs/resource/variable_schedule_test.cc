// Simulated schedules in which updates of an aborted step are interrupted at
// the variable's lock. They must not change the value after the abort.
//
// libs/base/testing/seeds.h describes how to run other seeds; tools/mutants
// does so.
#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/testing/seeds.h"
#include "libs/resource/variable.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 300;
constexpr int kUpdates = 4;

class VariableSchedule {
 public:
  explicit VariableSchedule(uint64_t seed)
      : random_(NewSeededRandom(seed)), scheduler_(clock_, {.seed = seed}) {}

  void Run() {
    ASSERT_TRUE(variable_.Assign(other_, Tensor::Scalar(0.0f)).ok());
    scheduler_.set_yields({.one_in = 1 + random_->Next() % 4});
    for (int i = 0; i < kUpdates; ++i) {
      Start([this] { AddOne(); });
    }
    // Aborts the step and then assigns a value, as a session does that restarts
    // after the abort.
    Start([this] {
      step_.Cancel(absl::AbortedError("enough"));
      EXPECT_TRUE(variable_.Assign(other_, Tensor::Scalar(100.0f)).ok());
    });
    scheduler_.RunUntilIdle();
    scheduler_.set_yields({});
    EXPECT_EQ(variable_.Read()->scalar<float>(), 100.0f);
  }

  int num_updates() const { return num_updates_; }

 private:
  template <typename Work>
  void Start(Work work) {
    scheduler_.Schedule(Pool::kCompute, std::move(work));
  }
  void AddOne() {
    num_updates_ += variable_
                        .Update(step_, HeapAllocator(),
                                [](const Tensor& from, Tensor& to) {
                                  to.mutable_flat<float>()[0] =
                                      from.flat<float>()[0] + 1;
                                  return absl::OkStatus();
                                })
                        .ok();
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  Cancellation step_;
  Cancellation other_;
  Variable variable_{"v", DT_FLOAT, {}};
  int num_updates_ = 0;
};

TEST(VariableScheduleTest, AbortedStepWritesNoUpdateLater) {
  const uint64_t count = NumSeeds(kSeeds);
  int num_updates = 0;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    VariableSchedule schedule(seed);
    schedule.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
    num_updates += schedule.num_updates();
  }
  // Over many seeds, some updates run before the abort and some do not.
  if (count < kSeeds) return;
  EXPECT_GT(num_updates, static_cast<int>(count) / 2);
  EXPECT_LT(num_updates, static_cast<int>(count) * kUpdates);
}

}  // namespace
}  // namespace weft
