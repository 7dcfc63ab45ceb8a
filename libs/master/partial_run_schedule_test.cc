// A partial run whose calls, client, deadlines and step begin and end
// concurrently, with simulated interruptions at its locks: each call is
// answered once, with its value or an error, and the memory of its feeds is
// returned.
//
// libs/base/testing/seeds.h describes how to run other seeds.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/seeds.h"
#include "libs/master/partial_run.h"
#include "libs/passes/prune.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 500;
constexpr int kCalls = 3;  // each with a feed, which is also its fetch

class PartialRunSchedule {
 public:
  explicit PartialRunSchedule(uint64_t seed)
      : random_(NewSeededRandom(seed)), scheduler_(clock_, {.seed = seed}) {}

  void Run() {
    BeginStep();
    scheduler_.set_yields({.one_in = 2});
    for (int i = 0; i < kCalls; ++i) {
      Start([this, i] { MakeCall(i); });
    }
    if (Chance(4) == 0) {
      is_disturbed_ = true;
      Start([this] {
        run_->CancelWhenIdle(absl::UnavailableError("shutting down"));
      });
    }
    scheduler_.AdvanceBy(absl::Minutes(1));
    scheduler_.set_yields({});
    Check();
  }

  bool is_disturbed() const { return is_disturbed_; }
  int num_failed() const { return num_failed_; }

 private:
  struct Call {
    std::vector<int> indices;
    std::vector<Tensor> feeds;
    std::vector<Tensor> fetches{1};
    std::optional<Cancellation> client;
    int num_answers = 0;
    absl::Status answer;
  };

  uint64_t Chance(uint64_t one_in) { return random_->Next() % one_in; }
  void Start(std::function<void()> work) {
    const auto pause = absl::Milliseconds(Chance(4));
    scheduler_.Schedule(Pool::kBlocking, [this, pause, work = std::move(work)] {
      scheduler_.NewEvent()->WaitUntil(clock_.Now() + pause);
      work();
    });
  }

  // Runs the step as the task of the master does.
  void BeginStep() {
    run_->StepBegins(step_);
    step_->Register(
        [this](const absl::Status& cause) { run_->client()->Abort(cause); });
    for (int i = 0; i < kCalls; ++i) {
      run_->client()->Receive(
          {.edge = FeedEdge(i)},
          [this, i](const absl::Status& status, Tensor value, bool) {
            scheduler_.Schedule(Pool::kCompute,
                                [this, i, status, value = std::move(value)] {
                                  Forward(i, status, value);
                                });
          });
    }
  }
  void Forward(int i, const absl::Status& status, const Tensor& value) {
    if (status.ok()) {
      run_->client()->Send({.edge = FetchEdge(i)}, value, false).IgnoreError();
    }
    if (--left_ > 0) return;
    given_back_ += run_->StepEnds(step_->status());
    ++num_ends_;
  }

  void MakeCall(int i) {
    Call& call = calls_[i];
    call.indices = {i};
    call.feeds = {Tensor::Scalar(static_cast<float>(i))};
    call.client.emplace();
    const bool is_short = Chance(4) == 0;
    const auto timeout =
        is_short ? absl::Milliseconds(1) : absl::InfiniteDuration();
    if (Chance(4) == 0) {
      is_disturbed_ = true;
      Start([&call] { call.client->Cancel(absl::CancelledError("gone")); });
    }
    is_disturbed_ |= is_short;
    protocol::Master::Done done = [&call](absl::Status status) {
      call.answer = std::move(status);
      ++call.num_answers;
    };
    const int64_t bytes = 1 + i;
    absl::Status refused = run_->Run(
        {.feeds = call.feeds,
         .fetches = absl::MakeSpan(call.fetches),
         .feed_indices = call.indices,
         .fetch_indices = call.indices,
         .timeout = timeout,
         .cancellation = &*call.client},
        bytes, is_short ? clock_.Now() + timeout : absl::InfiniteFuture(),
        /*number=*/100 - i, scheduler_, done);
    if (!refused.ok()) return done(std::move(refused));
    taken_ += bytes;
  }

  // A run that was not completely fed is ended by its session.
  void Check() {
    if (num_ends_ == 0) step_->Cancel(absl::CancelledError("closed"));
    scheduler_.RunUntilIdle();
    EXPECT_EQ(num_ends_, 1);
    EXPECT_EQ(given_back_, taken_);
    EXPECT_EQ(run_->OldestCall(), std::nullopt);
    for (int i = 0; i < kCalls; ++i) {
      EXPECT_EQ(calls_[i].num_answers, 1) << "call " << i;
      if (!calls_[i].answer.ok()) {
        ++num_failed_;
        continue;
      }
      EXPECT_EQ(calls_[i].fetches[0].scalar<float>(), i);
    }
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  const std::shared_ptr<Cancellation> step_ = std::make_shared<Cancellation>();
  const std::shared_ptr<PartialRun> run_ = std::make_shared<PartialRun>(
      std::vector<DataType>(kCalls, DT_FLOAT), kCalls);
  Call calls_[kCalls];
  int left_ = kCalls;
  int num_ends_ = 0;
  int num_failed_ = 0;
  int64_t taken_ = 0;
  int64_t given_back_ = 0;
  bool is_disturbed_ = false;
};

TEST(PartialRunScheduleTest, EachCallIsAnsweredOnce) {
  const uint64_t count = NumSeeds(kSeeds);
  int num_failed = 0;
  int num_undisturbed = 0;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    PartialRunSchedule schedule(seed);
    schedule.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
    num_failed += schedule.num_failed();
    if (schedule.is_disturbed()) continue;
    ++num_undisturbed;
    ASSERT_EQ(schedule.num_failed(), 0);
  }
  // With many seeds both outcomes occur.
  if (count < kSeeds) return;
  EXPECT_GT(num_failed, static_cast<int>(count) / 10);
  EXPECT_GT(num_undisturbed, static_cast<int>(count) / 20);
}

}  // namespace
}  // namespace weft
