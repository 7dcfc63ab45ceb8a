#include "libs/base/scheduler/thread_scheduler.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/blocking_pool.h"
#include "libs/base/scheduler/compute_pool.h"
#include "libs/base/scheduler/deadlock_detector.h"
#include "libs/base/scheduler/event_memory.h"
#include "libs/base/scheduler/futex.h"
#include "libs/base/scheduler/pool_progress.h"
#include "libs/base/scheduler/thread_event.h"
#include "libs/base/scheduler/thread_starter.h"
#include "libs/base/scheduler/timer_thread.h"
#include "libs/base/scheduler/work_count.h"

namespace weft {
namespace {

// SharedLoop is the state of one ParallelFor. Threads claim its ranges by
// incrementing a counter. A helper that starts after all ranges are claimed
// touches only this shared object.
//
// If a range throws, the ranges that are not claimed yet are skipped.
// ParallelFor rethrows the exception to its caller when no thread uses the
// closure any more.
class SharedLoop {
 public:
  using Work = std::function<void(int64_t, int64_t)>;

  SharedLoop(int64_t total, int64_t num_ranges, const Work& work)
      : size_(total / num_ranges),
        larger_ranges_(total % num_ranges),
        num_ranges_(num_ranges),
        work_(work) {}

  void RunClaims() {
    while (RunOne()) {
    }
  }

  // Claims and runs a range. Returns false if all ranges are claimed.
  bool RunOne() {
    const int64_t range = next_.fetch_add(1, std::memory_order_relaxed);
    if (range >= num_ranges_) return false;
    RunRange(range);
    if (num_done_.fetch_add(1, std::memory_order_acq_rel) + 1 == num_ranges_) {
      Finish();
    }
    return true;
  }

  // Returns whether all ranges are claimed.
  bool IsClaimed() const {
    return next_.load(std::memory_order_relaxed) >= num_ranges_;
  }

  // Waits for the ranges that still run. Spins first, for the time that waking
  // a thread takes. REQUIRES: all ranges are claimed.
  void Wait(const Clock& clock, absl::Duration wake_time) {
    if (SpinFor(clock, wake_time, [this] { return IsDone(); })) return;
    while (!IsDone()) FutexWait(done_, 0);
  }

  // Rethrows the exception of a range, if there was one. REQUIRES: Wait has
  // returned.
  void RethrowException() {
    if (has_thrown_.load(std::memory_order_relaxed)) {
      std::rethrow_exception(std::exchange(exception_, nullptr));
    }
  }

 private:
  void RunRange(int64_t range) {
    if (has_thrown_.load(std::memory_order_relaxed)) return;
    try {
      work_(Begin(range), Begin(range + 1));
    } catch (...) {
      if (has_thrown_.exchange(true, std::memory_order_relaxed)) return;
      exception_ = std::current_exception();
    }
  }
  int64_t Begin(int64_t range) const {
    return range * size_ + std::min(range, larger_ranges_);
  }
  bool IsDone() const { return done_.load(std::memory_order_acquire) != 0; }
  void Finish() {
    done_.store(1, std::memory_order_release);
    FutexWake(done_, INT_MAX);
  }

  const int64_t size_;
  const int64_t larger_ranges_;  // the first ones are longer by one
  const int64_t num_ranges_;
  const Work& work_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> num_done_{0};
  std::atomic<uint32_t> done_{0};
  std::atomic<bool> has_thrown_{false};
  // Written by the range that set has_thrown_, and read when all ranges are
  // done.
  std::exception_ptr exception_;
};

// Several ranges per thread balance the load if threads start late.
constexpr int64_t kRangesPerThread = 4;

int NumComputeThreads(const ThreadSchedulerOptions& options) {
  if (options.compute_threads > 0) return options.compute_threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int NumGraphThreads(const ThreadSchedulerOptions& options) {
  if (options.max_graph_threads > 0) return options.max_graph_threads;
  return std::max(2, NumComputeThreads(options));
}

// The minimum number of threads of Pool::kUnbounded. Its closures that never
// end, or that wait for another one, must all have threads at the same time, or
// the pool deadlocks. Never ending are the two readers of a wire (control and
// bulk) and the drivers of HTTP and of metrics. A server that stops itself is
// the fifth closure, and waits for the Reclaimer's closure, the sixth.
constexpr int kMinUnboundedThreads = 6;

// The interval after which a pool that was refused a thread asks again.
constexpr absl::Duration kAskAgain = absl::Milliseconds(200);

class ThreadScheduler : public Scheduler, public PoolProgress {
 public:
  using Scheduler::ScheduleAt;

  ThreadScheduler(const Clock& clock, const ThreadSchedulerOptions& options,
                  ThreadStarter* starter, OnThreadShortage on_shortage)
      : clock_(clock),
        starter_(starter != nullptr ? *starter : system_starter_),
        on_shortage_(std::move(on_shortage)),
        on_refused_([this](BlockingPool& pool, const absl::Status& why) {
          ReportShortage(pool.name(), pool.num_threads(), why);
          AskAgainLater(pool);
        }),
        compute_(NumComputeThreads(options), options.name, clock, unfinished_,
                 starter_),
        control_({.max = options.max_control_threads},
                 absl::StrCat(options.name, "/x"), unfinished_, starter_,
                 on_refused_),
        graph_({.max = NumGraphThreads(options)},
               absl::StrCat(options.name, "/g"), unfinished_, starter_,
               on_refused_),
        blocking_({.max = options.max_blocking_threads},
                  absl::StrCat(options.name, "/b"), unfinished_, starter_,
                  on_refused_),
        unbounded_({.min = kMinUnboundedThreads,
                    .max = std::numeric_limits<int>::max()},
                   absl::StrCat(options.name, "/o"), unfinished_, starter_,
                   on_refused_),
        timers_(std::make_unique<TimerThread>(clock, options.name, starter_,
                                              [this](Pool pool, Closure due) {
                                                Schedule(pool, std::move(due));
                                              })),
        started_(CheckStarted()) {
    if (!started_.ok()) return;
    {
      absl::MutexLock lock(&shortage_mutex_);
      retry_timers_ = timers_.get();
    }
    if (!compute_.status().ok()) {
      ReportShortage(absl::StrCat(options.name, "/c"), compute_.num_threads(),
                     compute_.status());
    }
  }

  // Work may schedule more work in any pool, so all pools run until every pool
  // is empty.
  ~ThreadScheduler() override {
    {
      absl::MutexLock lock(&shortage_mutex_);
      retry_timers_ = nullptr;
    }
    timers_.reset();
    if (started_.ok()) {
      unfinished_.WaitForZero();
    } else {
      unfinished_.RunUntilZero([this] { RunWithoutThreads(); });
    }
  }

  // Returns the status that ThreadsStatus returns.
  const absl::Status& started() const { return started_; }

  void Schedule(Pool pool, Closure closure) override {
    if (pool == Pool::kCompute) return compute_.Schedule(std::move(closure));
    ThreadsOf(pool).Schedule(std::move(closure));
  }

  TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) override {
    return timers_->Add(pool, when, std::move(closure));
  }
  bool CancelTimer(TimerId id) override { return timers_->Cancel(id); }

  std::unique_ptr<Event> NewEvent() override {
    return std::unique_ptr<Event>(new (*event_memory_) ThreadEvent(clock_));
  }

  void ParallelFor(int64_t total, int64_t min_range,
                   const std::function<void(int64_t, int64_t)>& work) override;

  int num_compute_threads() const override { return compute_.num_threads(); }
  uint64_t num_begun() const override { return compute_.num_begun(); }
  int64_t num_waiting(Pool pool) const override {
    return pool == Pool::kCompute ? compute_.num_waiting()
                                  : ThreadsOf(pool).num_waiting();
  }
  absl::Duration wake_time() const override { return compute_.wake_time(); }
  int num_threads(Pool pool) const override {
    return pool == Pool::kCompute ? compute_.num_threads()
                                  : ThreadsOf(pool).num_threads();
  }
  const Clock& clock() const override { return clock_; }

 private:
  absl::Status CheckStarted() const;
  void ReportShortage(const std::string& pool, int num_threads,
                      const absl::Status& why)
      ABSL_LOCKS_EXCLUDED(shortage_mutex_);
  void AskAgainLater(BlockingPool& pool) ABSL_LOCKS_EXCLUDED(shortage_mutex_);
  void RunWithoutThreads();

  // Returns the threads of a pool other than the compute pool.
  const BlockingPool& ThreadsOf(Pool pool) const {
    switch (pool) {
      case Pool::kControl:
        return control_;
      case Pool::kGraph:
        return graph_;
      case Pool::kUnbounded:
        return unbounded_;
      case Pool::kCompute:
      case Pool::kBlocking:
        break;
    }
    return blocking_;
  }
  BlockingPool& ThreadsOf(Pool pool) {
    return const_cast<BlockingPool&>(std::as_const(*this).ThreadsOf(pool));
  }

  const Clock& clock_;
  SystemThreadStarter system_starter_;
  ThreadStarter& starter_;
  const OnThreadShortage on_shortage_;
  absl::Mutex shortage_mutex_;
  absl::flat_hash_set<std::string> reported_ ABSL_GUARDED_BY(shortage_mutex_);
  // Is null until all pools have started, and from the destructor on. It stays
  // null if a pool could not start. While it is null, shortages of threads are
  // not reported, and refused threads are not retried.
  TimerThread* retry_timers_ ABSL_GUARDED_BY(shortage_mutex_) = nullptr;
  const BlockingPool::OnRefused on_refused_;
  WorkCount unfinished_;
  ComputePool compute_;
  BlockingPool control_;
  BlockingPool graph_;
  BlockingPool blocking_;
  BlockingPool unbounded_;
  std::unique_ptr<TimerThread> timers_;
  const absl::Status started_;
  const std::shared_ptr<EventMemory> event_memory_ =
      std::make_shared<EventMemory>();
};

absl::Status ThreadScheduler::CheckStarted() const {
  if (!timers_->status().ok()) return timers_->status();
  if (compute_.num_threads() == 0) return compute_.status();
  for (const Pool pool :
       {Pool::kControl, Pool::kGraph, Pool::kBlocking, Pool::kUnbounded}) {
    absl::Status started = ThreadsOf(pool).status();
    if (!started.ok()) return started;
  }
  return absl::OkStatus();
}

void ThreadScheduler::ReportShortage(const std::string& pool, int num_threads,
                                     const absl::Status& why) {
  {
    absl::MutexLock lock(&shortage_mutex_);
    if (retry_timers_ == nullptr || !reported_.insert(pool).second) return;
  }
  on_shortage_(absl::StrCat(
      "The thread pool ", pool, " needs more than its ", num_threads,
      " threads and continues with those: ", why.message()));
}

void ThreadScheduler::AskAgainLater(BlockingPool& pool) {
  absl::MutexLock lock(&shortage_mutex_);
  if (retry_timers_ == nullptr) return;
  retry_timers_->Add(Pool::kControl, clock_.Now() + kAskAgain,
                     [&pool] { pool.StartMissing(); });
}

void ThreadScheduler::RunWithoutThreads() {
  compute_.RunWithoutThreads();
  control_.RunWithoutThreads();
  graph_.RunWithoutThreads();
  blocking_.RunWithoutThreads();
  unbounded_.RunWithoutThreads();
}

void ThreadScheduler::ParallelFor(
    int64_t total, int64_t min_range,
    const std::function<void(int64_t, int64_t)>& work) {
  if (total <= 0) return;
  const int64_t num_ranges =
      std::min(total / std::max<int64_t>(1, min_range),
               kRangesPerThread * compute_.num_threads());
  const int64_t most_helpers =
      std::min<int64_t>(num_ranges - 1, compute_.num_threads() - 1);
  if (most_helpers <= 0) {
    work(0, total);
    return;
  }
  auto loop = std::make_shared<SharedLoop>(total, num_ranges, work);
  // If no thread is idle now, one thread may become idle soon. So at least one
  // helper is scheduled, unless much work is queued already.
  int64_t helpers = 0;
  const auto ask = [&] {
    const bool is_much_waiting =
        compute_.num_waiting() >= compute_.num_threads();
    const int64_t wanted = std::clamp<int64_t>(
        compute_.num_idle(), is_much_waiting ? 0 : 1, most_helpers);
    for (; helpers < wanted; ++helpers) {
      compute_.Schedule([loop] { loop->RunClaims(); });
    }
  };
  ask();
  while (loop->RunOne()) {
    if (!loop->IsClaimed()) ask();
  }
  loop->Wait(clock_, compute_.wake_time());
  loop->RethrowException();
}

}  // namespace

std::unique_ptr<Scheduler> NewThreadScheduler(const Clock& clock,
                                              ThreadSchedulerOptions options) {
  return NewThreadScheduler(
      clock, options, /*starter=*/nullptr,
      [name = std::string(options.name)](const std::string& message) {
        NewConsoleLogger(name)->Warning(message);
      });
}

std::unique_ptr<Scheduler> NewThreadScheduler(const Clock& clock,
                                              ThreadSchedulerOptions options,
                                              ThreadStarter* starter,
                                              OnThreadShortage on_shortage) {
  TurnOffDeadlockDetectorInOptimizedBuilds();
  return std::make_unique<ThreadScheduler>(clock, options, starter,
                                           std::move(on_shortage));
}

absl::Status ThreadsStatus(const Scheduler& scheduler) {
  const auto* const own = dynamic_cast<const ThreadScheduler*>(&scheduler);
  return own == nullptr ? absl::OkStatus() : own->started();
}

}  // namespace weft
