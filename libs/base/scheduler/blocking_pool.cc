#include "libs/base/scheduler/blocking_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/thread_name.h"

namespace weft {

BlockingPool::BlockingPool(Threads threads, absl::string_view name,
                           WorkCount& count, ThreadStarter& starter,
                           OnRefused on_refused)
    : max_threads_(static_cast<size_t>(std::max(1, threads.max))),
      name_(name),
      count_(count),
      starter_(starter),
      on_refused_(std::move(on_refused)) {
  {
    absl::MutexLock lock(&mutex_);
    const auto min_threads = static_cast<size_t>(std::max(1, threads.min));
    while (status_.ok() && threads_.size() < min_threads) {
      status_ = StartThread();
    }
    is_refused_ = false;  // StartMissing may retry at once
  }
  if (!status_.ok()) on_refused_(*this, status_);
}

BlockingPool::~BlockingPool() {
  RunWithoutThreads();
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    work_or_stop_.SignalAll();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void BlockingPool::Schedule(Scheduler::Closure closure) {
  count_.Add();
  absl::Status started;
  {
    absl::MutexLock lock(&mutex_);
    queue_.Push(std::move(closure));
    if (!is_refused_ && IsThreadMissing()) {
      started = StartThread();
    } else {
      work_or_stop_.Signal();
    }
  }
  if (!started.ok()) on_refused_(*this, started);
}

void BlockingPool::StartMissing() {
  absl::Status started;
  {
    absl::MutexLock lock(&mutex_);
    is_refused_ = false;
    while (started.ok() && IsThreadMissing()) started = StartThread();
  }
  if (!started.ok()) on_refused_(*this, started);
}

bool BlockingPool::IsThreadMissing() const {
  return queue_.size() > num_idle_ && threads_.size() < max_threads_;
}

bool BlockingPool::PopUnthreaded(Scheduler::Closure& closure) {
  absl::MutexLock lock(&mutex_);
  if (queue_.empty() || !threads_.empty()) return false;
  closure = queue_.Pop();
  return true;
}

void BlockingPool::RunWithoutThreads() {
  for (Scheduler::Closure closure; PopUnthreaded(closure);) {
    closure();
    closure = nullptr;  // captures may schedule when destroyed
    count_.Finish();
  }
}

int64_t BlockingPool::num_waiting() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(queue_.size());
}

int BlockingPool::num_threads() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(threads_.size());
}

absl::Status BlockingPool::StartThread() {
  auto thread =
      starter_.Start([this, name = absl::StrCat(name_, threads_.size())] {
        SetThreadName(name);
        Run();
      });
  is_refused_ = !thread.ok();
  if (is_refused_) return thread.status();
  ++num_idle_;
  threads_.push_back(*std::move(thread));
  return absl::OkStatus();
}

void BlockingPool::Run() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    while (queue_.empty() && !stopping_) work_or_stop_.Wait(&mutex_);
    if (queue_.empty()) return;
    Scheduler::Closure closure = queue_.Pop();
    --num_idle_;
    mutex_.Unlock();
    closure();
    closure = nullptr;  // captures may schedule when destroyed
    count_.Finish();
    mutex_.Lock();
    ++num_idle_;
  }
}

}  // namespace weft
