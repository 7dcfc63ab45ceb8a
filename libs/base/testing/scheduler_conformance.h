// SchedulerConformanceTest checks the contract of Scheduler. The test of each
// implementation instantiates this suite with a harness that creates a
// scheduler.
#ifndef WEFT_LIBS_BASE_TESTING_SCHEDULER_CONFORMANCE_H_
#define WEFT_LIBS_BASE_TESTING_SCHEDULER_CONFORMANCE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

// SchedulerHarness creates the scheduler and owns the objects that it needs,
// such as its clock.
class SchedulerHarness {
 public:
  virtual ~SchedulerHarness() = default;
  virtual std::unique_ptr<Scheduler> NewScheduler() = 0;
};

using SchedulerHarnessFactory =
    std::function<std::unique_ptr<SchedulerHarness>()>;

class SchedulerConformanceTest
    : public ::testing::TestWithParam<SchedulerHarnessFactory> {
 protected:
  SchedulerConformanceTest()
      : harness_(GetParam()()), scheduler_(harness_->NewScheduler()) {}

  absl::Time In(absl::Duration duration) {
    return scheduler_->clock().Now() + duration;
  }

  // Runs `client` in the blocking pool. The returned event is set when `client`
  // has returned.
  std::unique_ptr<Event> StartClient(std::function<void()> client) {
    std::unique_ptr<Event> done = scheduler_->NewEvent();
    scheduler_->Schedule(Pool::kBlocking,
                         [event = done.get(), client = std::move(client)] {
                           client();
                           event->Set();
                         });
    return done;
  }

  std::unique_ptr<SchedulerHarness> harness_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_P(SchedulerConformanceTest, ClosuresOfAllPoolsRunOnOtherThreads) {
  for (Pool pool : {Pool::kCompute, Pool::kControl, Pool::kGraph,
                    Pool::kBlocking, Pool::kUnbounded}) {
    auto done = scheduler_->NewEvent();
    std::thread::id runner;
    scheduler_->Schedule(pool, [&] {
      runner = std::this_thread::get_id();
      done->Set();
    });
    EXPECT_TRUE(done->WaitUntil(absl::InfiniteFuture()));
    EXPECT_NE(runner, std::this_thread::get_id());
  }
}

TEST_P(SchedulerConformanceTest, RunsEveryClosureOnce) {
  constexpr int kClosures = 2000;
  std::atomic<int> runs{0};
  auto done = scheduler_->NewEvent();
  for (int i = 0; i < kClosures; ++i) {
    scheduler_->Schedule(i % 5 == 0 ? Pool::kBlocking : Pool::kCompute, [&] {
      if (++runs == kClosures) done->Set();
    });
  }
  done->Wait();
  EXPECT_EQ(runs, kClosures);
}

TEST_P(SchedulerConformanceTest, ClosuresMayScheduleClosures) {
  std::atomic<int> leaves{0};
  auto done = scheduler_->NewEvent();
  std::function<void(int)> grow = [&](int depth) {
    if (depth == 0) {
      if (++leaves == 1024) done->Set();
      return;
    }
    for (int i = 0; i < 2; ++i) {
      scheduler_->Schedule(Pool::kCompute, [&grow, depth] { grow(depth - 1); });
    }
  };
  grow(10);
  done->Wait();
  EXPECT_EQ(leaves, 1024);
}

TEST_P(SchedulerConformanceTest, EventStaysSetAndSetIsIdempotent) {
  auto event = scheduler_->NewEvent();
  EXPECT_FALSE(event->IsSet());
  event->Set();
  event->Set();
  EXPECT_TRUE(event->IsSet());
  EXPECT_TRUE(event->WaitUntil(absl::InfinitePast()));
}

TEST_P(SchedulerConformanceTest, WaitEndsAtItsDeadline) {
  auto event = scheduler_->NewEvent();
  EXPECT_FALSE(event->WaitUntil(absl::InfinitePast()));
  const absl::Time deadline = In(absl::Milliseconds(2));
  EXPECT_FALSE(event->WaitUntil(deadline));
  EXPECT_GE(scheduler_->clock().Now(), deadline);
  event->Set();
  EXPECT_TRUE(event->WaitUntil(deadline));
}

TEST_P(SchedulerConformanceTest, ClientsWaitForEachOther) {
  constexpr int kRounds = 50;
  std::vector<std::unique_ptr<Event>> ping, pong;
  for (int i = 0; i < kRounds; ++i) {
    ping.push_back(scheduler_->NewEvent());
    pong.push_back(scheduler_->NewEvent());
  }
  int rounds = 0;  // handed over by the events
  auto first = StartClient([&] {
    for (int i = 0; i < kRounds; ++i) {
      ++rounds;
      ping[i]->Set();
      pong[i]->Wait();
    }
  });
  auto second = StartClient([&] {
    for (int i = 0; i < kRounds; ++i) {
      ping[i]->Wait();
      ++rounds;
      pong[i]->Set();
    }
  });
  first->Wait();
  second->Wait();
  EXPECT_EQ(rounds, 2 * kRounds);
}

TEST_P(SchedulerConformanceTest, WaiterMayDestroyTheEvent) {
  for (int i = 0; i < 500; ++i) {
    auto event = scheduler_->NewEvent();
    scheduler_->Schedule(Pool::kCompute, [e = event.get()] { e->Set(); });
    event->Wait();
  }
}

TEST_P(SchedulerConformanceTest, SeveralThreadsWaitForOneEvent) {
  auto start = scheduler_->NewEvent();
  std::vector<std::unique_ptr<Event>> done;
  for (int i = 0; i < 4; ++i) {
    done.push_back(StartClient([&] { start->Wait(); }));
  }
  start->Set();
  for (auto& event : done) event->Wait();
}

TEST_P(SchedulerConformanceTest, TimersRunWhenDueAndNotBefore) {
  const absl::Time early = In(absl::Milliseconds(1));
  const absl::Time late = In(absl::Milliseconds(3));
  auto early_done = scheduler_->NewEvent();
  auto late_done = scheduler_->NewEvent();
  absl::Time early_ran, late_ran;
  scheduler_->ScheduleAt(late, [&] {
    late_ran = scheduler_->clock().Now();
    late_done->Set();
  });
  scheduler_->ScheduleAt(early, [&] {
    early_ran = scheduler_->clock().Now();
    early_done->Set();
  });
  early_done->Wait();
  late_done->Wait();
  EXPECT_GE(early_ran, early);
  EXPECT_GE(late_ran, late);
}

TEST_P(SchedulerConformanceTest, TimersRunInEveryPool) {
  for (Pool pool : {Pool::kCompute, Pool::kControl, Pool::kGraph,
                    Pool::kBlocking, Pool::kUnbounded}) {
    auto done = scheduler_->NewEvent();
    scheduler_->ScheduleAt(pool, In(absl::Milliseconds(1)),
                           [&] { done->Set(); });
    EXPECT_TRUE(done->WaitUntil(absl::InfiniteFuture()));
  }
}

TEST_P(SchedulerConformanceTest, TimerWithPastTimeRunsAtOnce) {
  auto done = scheduler_->NewEvent();
  scheduler_->ScheduleAt(absl::InfinitePast(), [&] { done->Set(); });
  EXPECT_TRUE(done->WaitUntil(absl::InfiniteFuture()));
}

TEST_P(SchedulerConformanceTest, CancelledTimerNeverRuns) {
  bool ran = false;
  const auto id =
      scheduler_->ScheduleAt(In(absl::Hours(1)), [&] { ran = true; });
  EXPECT_NE(id, 0u);
  EXPECT_TRUE(scheduler_->CancelTimer(id));
  EXPECT_FALSE(scheduler_->CancelTimer(id));
  EXPECT_FALSE(scheduler_->CancelTimer(id + 1000));
  scheduler_.reset();
  EXPECT_FALSE(ran);
}

TEST_P(SchedulerConformanceTest, TimerThatRanCannotBeCancelled) {
  auto done = scheduler_->NewEvent();
  const auto id =
      scheduler_->ScheduleAt(In(absl::ZeroDuration()), [&] { done->Set(); });
  done->Wait();
  EXPECT_FALSE(scheduler_->CancelTimer(id));
}

TEST_P(SchedulerConformanceTest, ParallelForCoversEachIndexOnce) {
  for (int64_t total : {0, 1, 2, 7, 64, 1000, 4099}) {
    for (int64_t min_range : {0, 1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> seen(total);
      std::atomic<bool> too_small{false};
      scheduler_->ParallelFor(
          total, min_range, [&](int64_t begin, int64_t end) {
            if (end - begin < min_range && total >= min_range) {
              too_small = true;
            }
            for (int64_t i = begin; i < end; ++i) ++seen[i];
          });
      for (auto& count : seen) EXPECT_EQ(count, 1);
      EXPECT_FALSE(too_small) << total << " by " << min_range;
    }
  }
}

TEST_P(SchedulerConformanceTest, ParallelForNestsInsideComputeClosures) {
  constexpr int kLoops = 16;
  std::atomic<int64_t> sum{0};
  std::atomic<int> loops{0};
  auto done = scheduler_->NewEvent();
  for (int i = 0; i < kLoops; ++i) {
    scheduler_->Schedule(Pool::kCompute, [&] {
      scheduler_->ParallelFor(32, 1, [&](int64_t begin, int64_t end) {
        scheduler_->ParallelFor((end - begin) * 10, 1,
                                [&](int64_t b, int64_t e) { sum += e - b; });
      });
      if (++loops == kLoops) done->Set();
    });
  }
  done->Wait();
  EXPECT_EQ(sum, kLoops * 320);
}

TEST_P(SchedulerConformanceTest, ParallelForNeedsNoFreeThread) {
  auto release = scheduler_->NewEvent();
  // Block every compute thread until the loop is over, although closures of
  // this pool must not block.
  for (int i = 0; i < scheduler_->num_compute_threads(); ++i) {
    scheduler_->Schedule(Pool::kCompute, [&] { release->Wait(); });
  }
  std::atomic<int64_t> sum{0};
  scheduler_->ParallelFor(
      1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 1000);
  release->Set();
  scheduler_.reset();
}

// The exception is rethrown once, after the last use of the closure.
TEST_P(SchedulerConformanceTest, ParallelForRethrowsAnException) {
  for (int64_t total : {1, 1000}) {
    std::atomic<int> running{0};
    const auto work = [&](int64_t, int64_t) {
      ++running;
      std::this_thread::yield();
      --running;
      throw std::bad_alloc();
    };
    EXPECT_THROW(scheduler_->ParallelFor(total, 1, work), std::bad_alloc);
    EXPECT_EQ(running, 0);
  }
}

TEST_P(SchedulerConformanceTest, DestructorRunsScheduledClosures) {
  std::atomic<int> runs{0};
  Scheduler* scheduler = scheduler_.get();
  for (int i = 0; i < 100; ++i) {
    scheduler->Schedule(Pool::kCompute, [&runs, scheduler] {
      scheduler->Schedule(Pool::kBlocking, [&runs, scheduler] {
        scheduler->Schedule(Pool::kUnbounded, [&runs, scheduler] {
          scheduler->Schedule(Pool::kCompute, [&runs] { ++runs; });
        });
      });
    });
  }
  scheduler_.reset();
  EXPECT_EQ(runs, 100);
}

TEST_P(SchedulerConformanceTest, DestructorDropsTimers) {
  auto held = std::make_shared<int>(0);
  scheduler_->ScheduleAt(In(absl::Hours(1)), [held] { ++*held; });
  scheduler_.reset();
  EXPECT_EQ(*held, 0);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(SchedulerConformanceTest, HasAtLeastOneComputeThread) {
  EXPECT_GE(scheduler_->num_compute_threads(), 1);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TESTING_SCHEDULER_CONFORMANCE_H_
