// Senders, receivers and an abort, interrupted at the rendezvous' lock: every
// receiver is called once, with a tensor that was sent or with the cause.
//
// libs/base/testing/seeds.h describes how to run other seeds;
// tools/mutants runs them.
#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/testing/seeds.h"
#include "libs/rendezvous/rendezvous.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 300;
constexpr uint64_t kEdges = 6;

class RendezvousSchedule {
 public:
  explicit RendezvousSchedule(uint64_t seed)
      : random_(NewSeededRandom(seed)), scheduler_(clock_, {.seed = seed}) {}

  void Run() {
    scheduler_.set_yields({.one_in = 1 + random_->Next() % 4});
    for (uint64_t edge = 0; edge < kEdges; ++edge) {
      const RendezvousKey key = {.edge = edge, .frame = edge % 2};
      Start([this, key] { Receive(key); });
      if (random_->Next() % 2 == 0) Start([this, key] { Send(key); });
    }
    Start([this] { rendezvous_.Abort(absl::AbortedError("enough")); });
    scheduler_.RunUntilIdle();
    scheduler_.set_yields({});
    EXPECT_EQ(num_values_ + num_causes_, static_cast<int>(kEdges));
    EXPECT_LE(num_values_, num_sent_);
  }

  int num_values() const { return num_values_; }
  int num_causes() const { return num_causes_; }

 private:
  template <typename Work>
  void Start(Work work) {
    scheduler_.Schedule(Pool::kCompute, std::move(work));
  }
  void Send(const RendezvousKey& key) {
    const Tensor value = Tensor::Scalar(static_cast<float>(key.edge));
    num_sent_ += rendezvous_.Send(key, value, /*is_dead=*/false).ok();
  }
  void Receive(const RendezvousKey& key) {
    rendezvous_.Receive(key, [this, key](const absl::Status& status,
                                         const Tensor& value, bool) {
      ++(status.ok() ? num_values_ : num_causes_);
      if (!status.ok()) return;
      EXPECT_EQ(value.scalar<float>(), static_cast<float>(key.edge));
    });
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  int num_sent_ = 0;
  int num_values_ = 0;
  int num_causes_ = 0;
  LocalRendezvous rendezvous_;
};

TEST(RendezvousScheduleTest, EveryReceiverIsCalledOnce) {
  const uint64_t count = NumSeeds(kSeeds);
  int num_values = 0;
  int num_causes = 0;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RendezvousSchedule schedule(seed);
    schedule.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
    num_values += schedule.num_values();
    num_causes += schedule.num_causes();
  }
  // With many seeds both outcomes occur.
  if (count < kSeeds) return;
  EXPECT_GT(num_values, static_cast<int>(count) / 4);
  EXPECT_GT(num_causes, static_cast<int>(count));
}

}  // namespace
}  // namespace weft
