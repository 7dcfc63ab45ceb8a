// Tests steps that begin, receive values, are aborted, lose a peer and end,
// while simulated threads are interrupted at the locks of StepTable. A step
// that is aborted before its end must be notified, and no state of any step may
// remain.
//
// libs/base/testing/seeds.h describes how to run other seeds; tools/mutants
// runs them.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/seeds.h"
#include "libs/runtime/step_table.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 300;
constexpr uint64_t kSteps = 8;
constexpr uint64_t kEdge = 5;
constexpr uint64_t kMaster = 11;
constexpr protocol::WorkerSession kSession{kMaster, 22};
constexpr char kPs[] = "/job:ps/replica:0/task:0";

class StepTableSchedule {
 public:
  explicit StepTableSchedule(uint64_t seed)
      : random_(NewSeededRandom(seed)), scheduler_(clock_, {.seed = seed}) {
    peers_.all = {kPs};
    peers_.senders = {kPs};
    peers_.receivers = std::make_shared<PeerTasks>(PeerTasks{kPs});
    peers_.edges = {{kEdge, "v:0"}};
    table_.AddSession(kSession);
    table_.PeerConnected(kPs);
  }

  void Run() {
    scheduler_.set_yields(
        {.one_in = 1 + Chance(4), .percent_last = 10, .percent_stalled = 10});
    for (uint64_t id = 1; id <= kSteps; ++id) {
      Start([this, id] { RunStep(id); });
      Start([this, id] { Deliver(id); });
      if (Chance(2) == 0) Start([this, id] { Abort(id); });
    }
    if (Chance(2) == 0) Start([this] { LosePeer(); });
    scheduler_.AdvanceBy(absl::Minutes(1));
    scheduler_.set_yields({});
    CheckNothingIsLeft();
  }

  int num_ended_well() const { return num_ended_well_; }
  int num_told() const { return num_told_; }

 private:
  uint64_t Chance(uint64_t one_in) { return random_->Next() % one_in; }
  void Pause() {
    const auto pause = absl::Milliseconds(Chance(5));
    scheduler_.NewEvent()->WaitUntil(clock_.Now() + pause);
  }
  void Start(std::function<void()> work) {
    scheduler_.Schedule(Pool::kBlocking, [this, work = std::move(work)] {
      Pause();
      work();
    });
  }

  void RunStep(uint64_t id) {
    protocol::PartitionStep step;
    step.session = kSession;
    step.step = id;
    step.cancellation = std::make_shared<Cancellation>();
    const bool was_aborted = is_aborted_[id];
    const auto exchange = table_.Begin(step, &peers_);
    if (!exchange.ok()) return;
    EXPECT_FALSE(was_aborted) << "step " << id << " was aborted, and begins";
    const int losses = losses_;
    Pause();
    const bool is_told = is_aborted_[id] || losses_ > losses;
    EXPECT_TRUE(!is_told || step.cancellation->IsCancelled())
        << "step " << id << " goes on";
    const absl::Status status = table_.End({kMaster, id}, absl::OkStatus());
    EXPECT_TRUE(!is_told || !status.ok()) << "step " << id << " ends well";
    num_told_ += is_told;
    num_ended_well_ += status.ok();
  }

  void Deliver(uint64_t id) {
    table_.Deliver({.session = kSession,
                    .step = id,
                    .edge = kEdge,
                    .tensor = Tensor(DT_FLOAT, TensorShape({1}))});
  }

  void Abort(uint64_t id) {
    table_.Abort({kMaster, id}, 0, absl::AbortedError("enough"));
    is_aborted_[id] = true;
  }

  void LosePeer() {
    table_.PeerLost(kPs, absl::UnavailableError("gone"));
    ++losses_;
    Pause();
    table_.PeerConnected(kPs);
  }

  void CheckNothingIsLeft() {
    EXPECT_EQ(table_.size().running, 0);
    table_.RemoveSession(kSession.session, absl::AbortedError("closed"))();
    const StepTable::Size size = table_.size();
    EXPECT_EQ(size.waiting + size.aborted + size.ended + size.masters, 0);
    EXPECT_EQ(size.waiting_bytes, 0);
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  StepTable table_{/*max_unclaimed_bytes_per_session=*/1 << 20, scheduler_,
                   std::make_shared<Reclaimer>(scheduler_)};
  StepPeers peers_;
  bool is_aborted_[kSteps + 1] = {};
  int losses_ = 0;
  int num_told_ = 0;
  int num_ended_well_ = 0;
};

TEST(StepTableScheduleTest, AbortIsDeliveredOnEverySchedule) {
  const uint64_t count = NumSeeds(kSeeds);
  int num_told = 0;
  int num_ended_well = 0;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    StepTableSchedule schedule(seed);
    schedule.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
    num_told += schedule.num_told();
    num_ended_well += schedule.num_ended_well();
  }
  // With enough seeds, both outcomes occur.
  if (count < kSeeds) return;
  EXPECT_GT(num_told, static_cast<int>(count) / 4);
  EXPECT_GT(num_ended_well, static_cast<int>(count));
}

}  // namespace
}  // namespace weft
