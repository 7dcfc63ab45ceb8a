// Tests of simulated schedules that switch threads at locks. They must find
// errors that happen between two locks, and each seed must give the same result
// every time.
#include <functional>
#include <memory>
#include <set>

#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 100;

class Simulated {
 public:
  explicit Simulated(uint64_t seed, SimulatedYields yields = {.one_in = 2})
      : scheduler_(clock_, {.seed = seed, .on_deadlock = {}}) {
    scheduler_.set_yields(yields);
  }

  SimulatedScheduler* operator->() { return &scheduler_; }
  SimulatedScheduler& operator*() { return scheduler_; }

 private:
  ManualClock clock_;
  SimulatedScheduler scheduler_;
};

// Runs two closures that read a number under a lock and then write it,
// increased by 1, under a second lock. Returns the number: 1 if an update was
// lost, else 2.
int LoseAnUpdate(uint64_t seed, uint64_t* trace,
                 const SimulatedYields& yields = {.one_in = 2}) {
  absl::Mutex mutex;
  int number = 0;
  Simulated scheduler(seed, yields);
  for (int i = 0; i < 2; ++i) {
    scheduler->Schedule(Pool::kCompute, [&] {
      int read = 0;
      {
        absl::MutexLock lock(&mutex);
        read = number;
      }
      absl::MutexLock lock(&mutex);
      number = read + 1;
    });
  }
  scheduler->RunUntilIdle();
  *trace = scheduler->trace_hash();
  return number;
}

TEST(ObservedLocksTest, ThreadsInterleaveBetweenTwoLocks) {
  std::set<int> numbers;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    uint64_t first = 0;
    uint64_t second = 0;
    numbers.insert(LoseAnUpdate(seed, &first));
    LoseAnUpdate(seed, &second);
    EXPECT_EQ(first, second) << "seed " << seed;
  }
  EXPECT_THAT(numbers, ::testing::ElementsAre(1, 2));
}

// Whether a mutex is in focus is drawn once and does not change during its
// life. A mutex in focus causes interruptions even if one_in is 0.
TEST(ObservedLocksTest, FocusedMutexYieldsWithoutOtherYields) {
  const auto times_lost = [](uint64_t focus_one_in) {
    int lost = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      uint64_t first = 0;
      uint64_t second = 0;
      const SimulatedYields yields = {.focus_one_in = focus_one_in};
      lost += LoseAnUpdate(seed, &first, yields) == 1;
      LoseAnUpdate(seed, &second, yields);
      EXPECT_EQ(first, second) << "seed " << seed;
    }
    return lost;
  };
  EXPECT_EQ(times_lost(0), 0);
  EXPECT_GT(times_lost(1), times_lost(4));
  EXPECT_GT(times_lost(4), 0);
}

TEST(ObservedLocksTest, CriticalSectionIsNeverInterrupted) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    absl::Mutex mutex;
    absl::Mutex inner;
    int inside = 0;
    Simulated scheduler(seed);
    for (int i = 0; i < 3; ++i) {
      scheduler->Schedule(Pool::kCompute, [&] {
        absl::MutexLock lock(&mutex);
        EXPECT_EQ(++inside, 1);
        inner.Lock();
        inner.Unlock();
        --inside;
      });
    }
    scheduler->RunUntilIdle();
  }
}

TEST(ObservedLocksTest, ClosuresDoNotInterleaveWithoutYields) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    absl::Mutex mutex;
    int running = 0;
    Simulated scheduler(seed, {});
    for (int i = 0; i < 3; ++i) {
      scheduler->Schedule(Pool::kCompute, [&] {
        EXPECT_EQ(++running, 1);
        mutex.Lock();
        mutex.Unlock();
        --running;
      });
    }
    scheduler->RunUntilIdle();
  }
}

TEST(ObservedLocksTest, ConditionVariablesWaitInTheSimulation) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    absl::Mutex mutex;
    absl::CondVar changed;
    bool is_ready = false;
    bool has_seen = false;
    Simulated scheduler(seed);
    scheduler->Schedule(Pool::kBlocking, [&] {
      absl::MutexLock lock(&mutex);
      while (!is_ready) changed.Wait(&mutex);
      has_seen = true;
    });
    scheduler->Schedule(Pool::kCompute, [&] {
      absl::MutexLock lock(&mutex);
      is_ready = true;
      changed.SignalAll();
    });
    scheduler->RunUntilIdle();
    EXPECT_TRUE(has_seen) << "seed " << seed;
  }
}

TEST(ObservedLocksTest, TimeoutPassesInSimulatedTime) {
  absl::Mutex mutex;
  absl::CondVar never;
  Simulated scheduler(1);
  const absl::Time before = scheduler->clock().Now();
  absl::MutexLock lock(&mutex);
  EXPECT_TRUE(never.WaitWithTimeout(&mutex, absl::Hours(1)));
  EXPECT_EQ(scheduler->clock().Now(), before + absl::Hours(1));
}

// A stalled thread pauses for some simulated time, while all other threads
// continue.
TEST(ObservedLocksTest, StallTakesSimulatedTime) {
  absl::Mutex mutex;
  Simulated scheduler(3, {});
  const absl::Time before = scheduler->clock().Now();
  absl::Time after;
  scheduler->Schedule(Pool::kCompute, [&] {
    for (int i = 0; i < 100; ++i) absl::MutexLock lock(&mutex);
    after = scheduler->clock().Now();
  });
  scheduler->set_yields({.one_in = 1,
                         .percent_last = 0,
                         .percent_stalled = 100,
                         .longest_stall = absl::Seconds(10)});
  scheduler->AdvanceBy(absl::Hours(1));
  EXPECT_GT(after, before + absl::Seconds(10));
}

TEST(ObservedLocksTest, StoppedPartRunsNoClosures) {
  absl::Mutex mutex;
  Simulated scheduler(1);
  const auto part = scheduler->NewPart();
  const auto event = scheduler->NewEvent();
  int done = 0;
  part->Schedule(Pool::kBlocking, [&] {
    event->Wait();
    ++done;
  });
  scheduler->RunUntilIdle();
  part->Stop();
  event->Set();
  part->Schedule(Pool::kCompute, [&] { ++done; });
  part->ScheduleAt(scheduler->clock().Now() + absl::Seconds(1),
                   [&] { ++done; });
  scheduler->AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(done, 0);
  part->Resume();
  scheduler->RunUntilIdle();
  EXPECT_EQ(done, 3);
}

using ObservedLocksDeathTest = ::testing::Test;

void LockInBothOrders() {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    absl::Mutex one;
    absl::Mutex other;
    Simulated scheduler(seed);
    const auto done = scheduler->NewEvent();
    scheduler->Schedule(Pool::kCompute, [&] {
      absl::MutexLock first(&one);
      absl::MutexLock second(&other);
    });
    scheduler->Schedule(Pool::kCompute, [&] {
      {
        absl::MutexLock first(&other);
        absl::MutexLock second(&one);
      }
      done->Set();
    });
    done->Wait();
  }
}

TEST(ObservedLocksDeathTest, LocksTakenInACycleAreADeadlock) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(LockInBothOrders(), "Simulated deadlock.*a lock");
}

void DestroyWhileSomebodyComes() {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    auto mutex = std::make_unique<absl::Mutex>();
    Simulated scheduler(seed);
    scheduler->Schedule(Pool::kCompute, [&mutex] {
      absl::Mutex* const raw = mutex.get();
      if (raw != nullptr) absl::MutexLock lock(raw);
    });
    scheduler->Schedule(Pool::kCompute, [&mutex] { mutex.reset(); });
    scheduler->RunUntilIdle();
  }
}

TEST(ObservedLocksDeathTest, DestroyingAContendedMutexAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(DestroyWhileSomebodyComes(), "a mutex is destroyed");
}

}  // namespace
}  // namespace weft
