#include "libs/base/scheduler/compute_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/futex.h"
#include "libs/base/scheduler/thread_name.h"

namespace weft {
namespace {

// How long a worker looks for work before it sleeps, as a multiple of the time
// that a wake-up takes. A worker that sleeps too early delays the next work by
// one wake-up.
constexpr int kSearchWakes = 2;

// The assumed wake-up time of a thread until it has been measured. It is
// typical of a physical machine.
constexpr absl::Duration kWakeTime = absl::Microseconds(5);
// A longer wake-up time is ignored, because the worker also waited for a
// processor that other threads used.
constexpr absl::Duration kLongestWakeTime = absl::Microseconds(200);
// A measurement that is older than this is ignored.
constexpr absl::Duration kWakeTimeHolds = absl::Milliseconds(100);

// If a searching worker has not looked for work for this long, another thread
// has its processor, perhaps the thread that schedules work. On a busy machine
// it may take milliseconds until the worker runs again.
constexpr absl::Duration kLongestLook = absl::Microseconds(10);

// The pool that this thread is a worker of. A thread_local is possible because
// a thread belongs to at most one pool for its whole life.
struct CurrentWorker {
  const void* pool = nullptr;
  int index = -1;
};
thread_local CurrentWorker current_worker;

}  // namespace

ComputePool::ComputePool(int num_threads, absl::string_view name,
                         const Clock& clock, WorkCount& count,
                         ThreadStarter& starter)
    : clock_(clock),
      count_(count),
      wake_nanoseconds_(absl::ToInt64Nanoseconds(kWakeTime)) {
  for (int i = 0; i < num_threads; ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
  for (int i = 0; i < num_threads && status_.ok(); ++i) {
    auto thread =
        starter.Start([this, i, thread_name = absl::StrCat(name, "/c", i)] {
          SetThreadName(thread_name);
          Run(i);
        });
    status_ = thread.status();
    if (!thread.ok()) break;
    workers_[i]->thread = *std::move(thread);
    ++num_threads_;
  }
}

ComputePool::~ComputePool() {
  stopping_.store(true);
  for (auto& worker : workers_) {
    worker->wake.store(1);
    FutexWake(worker->wake, 1);
  }
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void ComputePool::RunWithoutThreads() {
  while (num_threads_ == 0 && RunOne(/*index=*/0)) {
  }
}

int ComputePool::OwnQueue() const {
  return current_worker.pool == this ? current_worker.index : -1;
}

void ComputePool::Schedule(Scheduler::Closure closure) {
  count_.Add();
  int index = OwnQueue();
  if (index < 0) {
    index =
        static_cast<int>(next_queue_.fetch_add(1, std::memory_order_relaxed) %
                         static_cast<uint32_t>(std::max(1, num_threads_)));
  }
  {
    Worker& worker = *workers_[index];
    absl::MutexLock lock(&worker.mutex);
    worker.queue.Push(std::move(closure));
  }
  // Pairs with the counters in Sleep: either this thread sees the worker
  // searching or sleeping, or the worker sees the new closure. Therefore the
  // operations are sequentially consistent.
  num_queued_.fetch_add(1);
  if (num_sleeping_.load() > 0 && !IsSearched()) WakeOne();
}

bool ComputePool::IsSearched() const {
  return num_searching_.load() > 0 && AnyLooks(/*but=*/-1);
}

bool ComputePool::AnyLooks(int but) const {
  const int64_t since = absl::ToUnixNanos(clock_.Now() - kLongestLook);
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (static_cast<int>(i) == but) continue;
    if (workers_[i]->looked_at.load(std::memory_order_relaxed) > since) {
      return true;
    }
  }
  return false;
}

void ComputePool::Run(int index) {
  current_worker = {this, index};
  while (RunOne(index) || FindWork(index)) {
  }
}

bool ComputePool::RunOne(int index) {
  Scheduler::Closure closure;
  if (!Take(index, &closure)) return false;
  std::atomic<uint64_t>& begun = workers_[index]->num_begun;
  begun.store(begun.load(std::memory_order_relaxed) + 1,
              std::memory_order_relaxed);
  closure();
  closure = nullptr;  // captures may schedule when destroyed
  count_.Finish();
  return true;
}

uint64_t ComputePool::num_begun() const {
  uint64_t sum = 0;
  for (const auto& worker : workers_) {
    sum += worker->num_begun.load(std::memory_order_relaxed);
  }
  return sum;
}

bool ComputePool::Take(int index, Scheduler::Closure* closure) {
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (num_queued_.load(std::memory_order_relaxed) <= 0 && i > 0) break;
    Worker& victim = *workers_[(index + i) % workers_.size()];
    absl::MutexLock lock(&victim.mutex);
    if (victim.queue.empty()) continue;
    *closure = victim.queue.Pop();
    num_queued_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

bool ComputePool::FindWork(int index) {
  num_searching_.fetch_add(1);
  const bool found = Search(index);
  if (found) {
    // Schedule did not wake a worker because this one was searching. If more
    // work is queued, wake another worker for it.
    const bool last = num_searching_.fetch_sub(1) == 1;
    if (num_queued_.load() > 1 && (last || !AnyLooks(/*but=*/index))) WakeOne();
    return true;
  }
  if (stopping_.load()) {
    num_searching_.fetch_sub(1);
    return false;
  }
  Sleep(index);
  return true;
}

bool ComputePool::Search(int index) {
  constexpr int kLooksBetweenClocks = 16;
  int looks = 0;
  SpinFor(clock_, kSearchWakes * wake_time(), [this, index, &looks] {
    if (looks++ % kLooksBetweenClocks == 0) {
      workers_[index]->looked_at.store(absl::ToUnixNanos(clock_.Now()),
                                       std::memory_order_relaxed);
    }
    return num_queued_.load(std::memory_order_relaxed) > 0 ||
           stopping_.load(std::memory_order_relaxed);
  });
  return num_queued_.load() > 0;
}

void ComputePool::Sleep(int index) {
  Worker& self = *workers_[index];
  {
    absl::MutexLock lock(&sleepers_mutex_);
    sleepers_.push_back(index);
    num_sleeping_.fetch_add(1);
  }
  num_searching_.fetch_sub(1);
  const bool stay = num_queued_.load() <= 0;
  bool has_slept = false;
  while (stay && !stopping_.load() && self.wake.load() == 0) {
    has_slept = FutexWait(self.wake, 0);
  }
  if (has_slept && !stopping_.load()) NoteWakeTime(self.woken_at);
  absl::MutexLock lock(&sleepers_mutex_);
  auto it = std::find(sleepers_.begin(), sleepers_.end(), index);
  if (it != sleepers_.end()) {
    sleepers_.erase(it);
    num_sleeping_.fetch_sub(1);
  }
  self.wake.store(0);
}

void ComputePool::WakeOne() {
  Worker* sleeper = nullptr;
  {
    absl::MutexLock lock(&sleepers_mutex_);
    if (sleepers_.empty()) return;
    sleeper = workers_[sleepers_.back()].get();
    sleepers_.pop_back();
    num_sleeping_.fetch_sub(1);
    sleeper->woken_at = clock_.Now();
    sleeper->wake.store(1);
  }
  FutexWake(sleeper->wake, 1);
}

// Averages the wake-up times. Short times get more weight than long ones, so
// that the result approximates a lower bound: a longer time means that other
// threads used the processors.
void ComputePool::NoteWakeTime(absl::Time woken_at) {
  const absl::Time now = clock_.Now();
  const absl::Duration took = now - woken_at;
  if (took < absl::ZeroDuration() || took > kLongestWakeTime) return;
  const int64_t old = wake_nanoseconds_.load(std::memory_order_relaxed);
  const int64_t more = absl::ToInt64Nanoseconds(took) - old;
  wake_nanoseconds_.store(old + (more > 0 ? more / 16 : more / 4),
                          std::memory_order_relaxed);
  measured_at_.store(absl::ToUnixNanos(now), std::memory_order_relaxed);
}

absl::Duration ComputePool::wake_time() const {
  const absl::Time measured =
      absl::FromUnixNanos(measured_at_.load(std::memory_order_relaxed));
  if (clock_.Now() - measured > kWakeTimeHolds) return kWakeTime;
  return absl::Nanoseconds(wake_nanoseconds_.load(std::memory_order_relaxed));
}

}  // namespace weft
