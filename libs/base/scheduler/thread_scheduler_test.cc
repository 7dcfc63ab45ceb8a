#include "libs/base/scheduler/thread_scheduler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/pool_progress.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/thread_starter.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/little_address_space.h"
#include "libs/base/testing/scheduler_conformance.h"

namespace weft {
namespace {

class ThreadHarness : public SchedulerHarness {
 public:
  explicit ThreadHarness(int compute_threads)
      : compute_threads_(compute_threads) {}
  std::unique_ptr<Scheduler> NewScheduler() override {
    return NewThreadScheduler(clock_, {.compute_threads = compute_threads_,
                                       .max_blocking_threads = 8});
  }

 private:
  const int compute_threads_;
  SystemClock clock_;
};

SchedulerHarnessFactory Threads(int count) {
  return [count] { return std::make_unique<ThreadHarness>(count); };
}

INSTANTIATE_TEST_SUITE_P(OneThread, SchedulerConformanceTest,
                         ::testing::Values(Threads(1)));
INSTANTIATE_TEST_SUITE_P(FourThreads, SchedulerConformanceTest,
                         ::testing::Values(Threads(4)));
INSTANTIATE_TEST_SUITE_P(ThreadPerCore, SchedulerConformanceTest,
                         ::testing::Values(Threads(0)));

TEST(ThreadSchedulerTest, BlockingPoolGrowsToItsLimitThenQueues) {
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.max_blocking_threads = 3});
  auto release = scheduler->NewEvent();
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  auto all_running = scheduler->NewEvent();
  for (int i = 0; i < 9; ++i) {
    scheduler->Schedule(Pool::kBlocking, [&] {
      const int now = ++running;
      if (now > most) most = now;
      if (now == 3) all_running->Set();
      release->Wait();
      --running;
    });
  }
  all_running->Wait();
  release->Set();
  scheduler.reset();
  EXPECT_EQ(most, 3);
}

// A closure that holds a thread of kBlocking may wait for a closure of
// kUnbounded, so the latter must never wait for a thread.
TEST(ThreadSchedulerTest, UnboundedPoolNeverQueues) {
  constexpr int kThreads = 3;
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.max_blocking_threads = 1});
  // `release` is shared, because threads may still be in its Wait when the
  // variables of this test are destroyed.
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  auto all_running = scheduler->NewEvent();
  scheduler->Schedule(Pool::kBlocking, [release] { release->Wait(); });
  std::atomic<int> running{0};
  for (int i = 0; i < kThreads; ++i) {
    scheduler->Schedule(Pool::kUnbounded, [&, release] {
      if (++running == kThreads) all_running->Set();
      release->Wait();
    });
  }
  EXPECT_TRUE(all_running->WaitUntil(clock.Now() + absl::Seconds(30)));
  release->Set();
}

// The control pool runs closures and timers even if all bounded pools are busy.
TEST(ThreadSchedulerTest, ControlPoolIsIndependentOfOtherPools) {
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1,
                                              .max_graph_threads = 1,
                                              .max_blocking_threads = 1});
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  std::vector<std::shared_ptr<Event>> held;
  for (const Pool pool : {Pool::kCompute, Pool::kGraph, Pool::kBlocking}) {
    held.push_back(scheduler->NewEvent());
    scheduler->Schedule(pool, [release, event = held.back()] {
      event->Set();
      release->Wait();
    });
  }
  for (const auto& event : held) event->Wait();
  const absl::Time limit = clock.Now() + absl::Seconds(30);
  const std::shared_ptr<Event> ran = scheduler->NewEvent();
  const std::shared_ptr<Event> timer_ran = scheduler->NewEvent();
  scheduler->Schedule(Pool::kControl, [ran] { ran->Set(); });
  scheduler->ScheduleAt(Pool::kControl, clock.Now(),
                        [timer_ran] { timer_ran->Set(); });
  EXPECT_TRUE(ran->WaitUntil(limit));
  EXPECT_TRUE(timer_ran->WaitUntil(limit));
  release->Set();
}

// A session's graph must be extended even while client functions hold all
// threads of kBlocking.
TEST(ThreadSchedulerTest, GraphPoolDoesNotWaitForClientFunctions) {
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.max_blocking_threads = 1});
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  scheduler->Schedule(Pool::kBlocking, [release] { release->Wait(); });
  const std::shared_ptr<Event> ran = scheduler->NewEvent();
  scheduler->Schedule(Pool::kGraph, [ran] { ran->Set(); });
  EXPECT_TRUE(ran->WaitUntil(clock.Now() + absl::Seconds(30)));
  release->Set();
}

TEST(ThreadSchedulerTest, StartedComputeClosuresAreCounted) {
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.compute_threads = 2});
  const PoolProgress* const progress = PoolProgress::Of(*scheduler);
  ASSERT_NE(progress, nullptr);
  for (uint64_t i = 1; i <= 3; ++i) {
    auto begun = scheduler->NewEvent();
    scheduler->Schedule(Pool::kCompute, [&begun] { begun->Set(); });
    begun->Wait();
    EXPECT_EQ(progress->num_begun(), i);
  }
}

TEST(ThreadSchedulerTest, ClosuresWaitingForAThreadAreCounted) {
  SystemClock clock;
  for (const Pool pool :
       {Pool::kCompute, Pool::kControl, Pool::kGraph, Pool::kBlocking}) {
    auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1,
                                                .max_control_threads = 1,
                                                .max_graph_threads = 1,
                                                .max_blocking_threads = 1});
    const PoolProgress* const progress = PoolProgress::Of(*scheduler);
    EXPECT_EQ(progress->num_waiting(pool), 0);
    auto running = scheduler->NewEvent();
    auto release = scheduler->NewEvent();
    scheduler->Schedule(pool, [&] {
      running->Set();
      release->Wait();
    });
    running->Wait();
    EXPECT_EQ(progress->num_waiting(pool), 0);
    for (int i = 0; i < 5; ++i) scheduler->Schedule(pool, [] {});
    EXPECT_EQ(progress->num_waiting(pool), 5);
    EXPECT_EQ(progress->num_threads(pool), 1);
    auto last = scheduler->NewEvent();
    scheduler->Schedule(pool, [&] { last->Set(); });
    release->Set();
    last->Wait();
    EXPECT_EQ(progress->num_waiting(pool), 0);
  }
}

// TickingClock advances by 70 us with each reading.
class TickingClock : public Clock {
 public:
  absl::Time Now() const override {
    return absl::UnixEpoch() + ++looks_ * absl::Microseconds(70);
  }

 private:
  mutable std::atomic<int64_t> looks_{0};
};

TEST(ThreadSchedulerTest, ThreadWakeTimeIsMeasured) {
  TickingClock clock;
  auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  const PoolProgress* const progress = PoolProgress::Of(*scheduler);
  const absl::Duration unknown = progress->wake_time();
  EXPECT_GT(unknown, absl::ZeroDuration());
  // It is a race whether the compute thread goes to sleep while another pool
  // runs a closure. So repeat until the thread has been woken often enough.
  while (progress->wake_time() < absl::Microseconds(30)) {
    for (const Pool pool : {Pool::kBlocking, Pool::kCompute}) {
      auto ran = scheduler->NewEvent();
      scheduler->Schedule(pool, [&ran] { ran->Set(); });
      ran->Wait();
    }
  }
  EXPECT_LE(progress->wake_time(), absl::Microseconds(70));
  // A measurement expires if it is not repeated for a while.
  for (int looks = 0; looks < 2000; ++looks) clock.Now();
  EXPECT_EQ(progress->wake_time(), unknown);
}

// The loop begins while all threads are busy, and has at most one range for
// each thread. A thread that becomes free later must still take a range.
TEST(ThreadSchedulerTest, ThreadFreedLaterHelpsParallelFor) {
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.compute_threads = 2});
  auto helped = scheduler->NewEvent();
  auto release = scheduler->NewEvent();
  std::atomic<int> busy{0};
  for (int i = 0; i < 2; ++i) {
    scheduler->Schedule(Pool::kCompute, [&] {
      ++busy;
      release->Wait();
      --busy;
    });
  }
  while (busy < 2) std::this_thread::yield();
  const auto caller = std::this_thread::get_id();
  scheduler->ParallelFor(2, 1, [&](int64_t, int64_t) {
    if (std::this_thread::get_id() != caller) return helped->Set();
    release->Set();
    EXPECT_TRUE(helped->WaitUntil(clock.Now() + absl::Seconds(30)));
  });
  // Wait for the closures, because they use the variables declared here.
  while (busy > 0) std::this_thread::yield();
}

TEST(ThreadSchedulerTest, FreeThreadsHelpParallelFor) {
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.compute_threads = 2});
  auto helped = scheduler->NewEvent();
  const auto caller = std::this_thread::get_id();
  // It is a race which threads take part. So repeat until a helper does.
  while (!helped->IsSet()) {
    scheduler->ParallelFor(64, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != caller) helped->Set();
    });
  }
}

// RefusingStarter refuses to start some threads, which are chosen by their
// number, from 0.
class RefusingStarter : public ThreadStarter {
 public:
  using Refuses = std::function<bool(int)>;
  explicit RefusingStarter(Refuses refuses) : refuses_(std::move(refuses)) {}

  absl::StatusOr<std::thread> Start(Body body) override {
    absl::MutexLock lock(&mutex_);
    if (refuses_(num_asked_++)) return absl::ResourceExhaustedError("No more");
    return system_.Start(std::move(body));
  }
  void SetRefuses(Refuses refuses) {
    absl::MutexLock lock(&mutex_);
    refuses_ = std::move(refuses);
  }

 private:
  SystemThreadStarter system_;
  absl::Mutex mutex_;
  Refuses refuses_ ABSL_GUARDED_BY(mutex_);
  int num_asked_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The number of initial threads: one compute thread, 6 threads of the unbounded
// pool, one thread of each other pool, and the timer thread.
constexpr int kUnboundedThreads = 6;
constexpr int kFewestThreads = 5 + kUnboundedThreads;

class ThreadShortageTest : public ::testing::Test {
 protected:
  std::unique_ptr<Scheduler> NewScheduler(int compute_threads = 1) {
    return NewThreadScheduler(clock_, {.compute_threads = compute_threads},
                              &starter_, [this](const std::string& message) {
                                absl::MutexLock lock(&mutex_);
                                reports_.push_back(message);
                              });
  }
  std::vector<std::string> reports() const {
    absl::MutexLock lock(&mutex_);
    return reports_;
  }

  SystemClock clock_;
  RefusingStarter starter_{[](int thread) { return thread >= kFewestThreads; }};
  mutable absl::Mutex mutex_;
  std::vector<std::string> reports_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ThreadShortageTest, PoolsContinueWithFewerThreads) {
  constexpr int kEach = 20;
  auto scheduler = NewScheduler();
  EXPECT_OK(ThreadsStatus(*scheduler));
  std::atomic<int> runs{0};
  for (int i = 0; i < kEach; ++i) {
    for (const Pool pool : {Pool::kControl, Pool::kGraph, Pool::kBlocking,
                            Pool::kUnbounded, Pool::kCompute}) {
      scheduler->Schedule(pool, [&] { ++runs; });
    }
  }
  scheduler.reset();
  EXPECT_EQ(runs, 5 * kEach);
}

TEST_F(ThreadShortageTest, EachPoolReportsAShortageOnce) {
  auto scheduler = NewScheduler();
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  for (int i = 0; i < 5; ++i) {
    scheduler->Schedule(Pool::kBlocking, [release] { release->Wait(); });
  }
  release->Set();
  scheduler.reset();
  EXPECT_THAT(reports(), testing::ElementsAre(testing::HasSubstr(
                             "weft/b needs more than its 1 threads and "
                             "continues with those: No more")));
}

TEST_F(ThreadShortageTest, QueuedWorkRunsOnceThreadsCanStart) {
  auto scheduler = NewScheduler();
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  auto second = scheduler->NewEvent();
  scheduler->Schedule(Pool::kBlocking, [release] { release->Wait(); });
  scheduler->Schedule(Pool::kBlocking, [&] { second->Set(); });
  starter_.SetRefuses([](int) { return false; });
  EXPECT_TRUE(second->WaitUntil(clock_.Now() + absl::Seconds(30)));
  release->Set();
}

// The closures here are not ended by others, unlike the loops of a server. The
// pool must still have a thread for one more closure.
TEST_F(ThreadShortageTest, BusyUnboundedPoolKeepsAFreeThread) {
  auto scheduler = NewScheduler();
  starter_.SetRefuses([](int) { return true; });
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  for (int i = 1; i < kUnboundedThreads; ++i) {
    scheduler->Schedule(Pool::kUnbounded, [release] { release->Wait(); });
  }
  const std::shared_ptr<Event> ran = scheduler->NewEvent();
  scheduler->Schedule(Pool::kUnbounded, [ran] { ran->Set(); });
  EXPECT_TRUE(ran->WaitUntil(clock_.Now() + absl::Seconds(30)));
  release->Set();
}

TEST_F(ThreadShortageTest, ComputePoolMayHaveFewerThreads) {
  starter_.SetRefuses([](int thread) { return thread == 2; });
  auto scheduler = NewScheduler(/*compute_threads=*/4);
  EXPECT_OK(ThreadsStatus(*scheduler));
  EXPECT_EQ(scheduler->num_compute_threads(), 2);
  std::atomic<int64_t> sum{0};
  scheduler->ParallelFor(1000, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  EXPECT_EQ(sum, 999 * 1000 / 2);
  scheduler.reset();
  EXPECT_THAT(reports(), testing::ElementsAre(testing::HasSubstr("weft/c")));
}

TEST_F(ThreadShortageTest, PoolWithoutAnyThreadIsAnError) {
  for (int refused = 0; refused < kFewestThreads; ++refused) {
    RefusingStarter starter([=](int thread) { return thread == refused; });
    auto scheduler = NewThreadScheduler(clock_, {.compute_threads = 1},
                                        &starter, [](const std::string&) {});
    EXPECT_THAT(ThreadsStatus(*scheduler),
                StatusIs(absl::StatusCode::kResourceExhausted, "No more"));
  }
}

// ThreadsStatus reports the error in this case, because the scheduler does not
// run at all.
TEST_F(ThreadShortageTest, SchedulerThatCannotStartReportsNoShortage) {
  for (int started = 0; started < kFewestThreads; ++started) {
    starter_.SetRefuses(
        [started, asked = 0](int) mutable { return asked++ >= started; });
    auto scheduler = NewScheduler(/*compute_threads=*/4);
    scheduler->Schedule(Pool::kBlocking, [] {});
    scheduler.reset();
    EXPECT_THAT(reports(), testing::IsEmpty()) << started;
  }
}

TEST_F(ThreadShortageTest, DestructorRunsClosuresWithoutAThread) {
  starter_.SetRefuses([](int) { return true; });
  auto scheduler = NewScheduler();
  int runs = 0;
  for (const Pool pool : {Pool::kControl, Pool::kGraph, Pool::kBlocking,
                          Pool::kUnbounded, Pool::kCompute}) {
    scheduler->Schedule(pool, [&] { ++runs; });
  }
  scheduler.reset();
  EXPECT_EQ(runs, 5);
}

// A closure of each pool schedules a closure in each other pool. The other pool
// may have no thread, or may be the only pool with a thread.
TEST_F(ThreadShortageTest, DestructorRunsClosuresScheduledByClosures) {
  constexpr Pool kPools[] = {Pool::kControl, Pool::kGraph, Pool::kBlocking,
                             Pool::kUnbounded, Pool::kCompute};
  for (int refused = 0; refused <= kFewestThreads; ++refused) {
    starter_.SetRefuses([=](int thread) {
      return refused == kFewestThreads || thread % kFewestThreads == refused;
    });
    auto scheduler = NewScheduler();
    std::atomic<int> runs{0};
    for (const Pool first : kPools) {
      scheduler->Schedule(first, [&, all = scheduler.get()] {
        for (const Pool second : kPools) {
          all->Schedule(second, [&] { ++runs; });
        }
      });
    }
    scheduler.reset();
    EXPECT_EQ(runs, 25);
  }
}

[[noreturn]] void RunsAllWithoutFurtherThreads() {
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  if (!LimitAddressSpace()) _exit(1);
  SystemThreadStarter starter;
  if (CheckThreadsCanStart(starter, 1).ok()) _exit(2);
  std::atomic<int> runs{0};
  for (int i = 0; i < 100; ++i) {
    scheduler->Schedule(Pool::kBlocking, [&] { ++runs; });
  }
  scheduler.reset();
  _exit(runs == 100 ? 0 : 3);
}

TEST(ThreadStarterTest, FailedThreadStartDoesNotAbort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunsAllWithoutFurtherThreads(), testing::ExitedWithCode(0),
              "The thread pool weft/b needs more than its 1 threads");
}

// Returns the names of the live threads of this process.
std::set<std::string> LiveThreads() {
  std::set<std::string> threads;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(entry.path().filename());
  }
  return threads;
}

// The system may list a thread for a short time after it was joined, so the
// test repeats the check.
TEST(ThreadStarterTest, ProbeThreadsAreJoined) {
  SystemThreadStarter starter;
  const std::set<std::string> before = LiveThreads();
  EXPECT_OK(CheckThreadsCanStart(starter, 4));
  const SystemClock clock;
  const absl::Time limit = clock.Now() + absl::Seconds(30);
  std::set<std::string> after = LiveThreads();
  while (!std::includes(before.begin(), before.end(), after.begin(),
                        after.end()) &&
         clock.Now() < limit) {
    std::this_thread::yield();
    after = LiveThreads();
  }
  EXPECT_THAT(after, testing::IsSubsetOf(before));
}

}  // namespace
}  // namespace weft
