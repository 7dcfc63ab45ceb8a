#include "libs/base/blocking_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/thread_name.h"

namespace weft {

BlockingPool::BlockingPool(int max_threads, absl::string_view name,
                           WorkCount& count)
    : max_threads_(std::max(1, max_threads)), name_(name), count_(count) {}

BlockingPool::~BlockingPool() {
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
  absl::MutexLock lock(&mutex_);
  queue_.Push(std::move(closure));
  if (queue_.size() > num_idle_ &&
      threads_.size() < static_cast<size_t>(max_threads_)) {
    StartThread();
  } else {
    work_or_stop_.Signal();
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

void BlockingPool::StartThread() {
  ++num_idle_;
  threads_.emplace_back([this, name = absl::StrCat(name_, threads_.size())] {
    SetThreadName(name);
    Run();
  });
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
    closure = nullptr;  // what it holds may schedule more
    count_.Finish();
    mutex_.Lock();
    ++num_idle_;
  }
}

}  // namespace weft
