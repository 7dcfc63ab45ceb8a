#include "libs/base/scheduler/timer_thread.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/futex.h"
#include "libs/base/scheduler/thread_name.h"

namespace weft {
namespace {

// The maximum time of one sleep. FutexWait would wait forever for a time that
// the kernel cannot represent.
constexpr absl::Duration kLongestSleep = absl::Hours(24);

}  // namespace

TimerThread::TimerThread(const Clock& clock, absl::string_view name,
                         ThreadStarter& starter, Deliver deliver)
    : clock_(clock), deliver_(std::move(deliver)) {
  auto thread = starter.Start([this, name = absl::StrCat(name, "/timer")] {
    SetThreadName(name);
    Run();
  });
  status_ = thread.status();
  if (thread.ok()) thread_ = *std::move(thread);
}

TimerThread::~TimerThread() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    NoteChange();
  }
  if (thread_.joinable()) thread_.join();
}

Scheduler::TimerId TimerThread::Add(Pool pool, absl::Time when,
                                    Scheduler::Closure closure) {
  absl::MutexLock lock(&mutex_);
  const Scheduler::TimerId id = next_id_++;
  times_.emplace(id, when);
  auto it =
      timers_.emplace(Key(when, id), Timer{pool, std::move(closure)}).first;
  if (it == timers_.begin()) NoteChange();
  return id;
}

bool TimerThread::Cancel(Scheduler::TimerId id) {
  Scheduler::Closure dropped;  // destroyed after the lock is released
  absl::MutexLock lock(&mutex_);
  auto time = times_.find(id);
  if (time == times_.end()) return false;
  auto timer = timers_.find(Key(time->second, id));
  dropped = std::move(timer->second.closure);
  timers_.erase(timer);
  times_.erase(time);
  return true;
}

void TimerThread::NoteChange() {
  changes_.fetch_add(1, std::memory_order_relaxed);
  FutexWake(changes_, 1);
}

bool TimerThread::TakeDue(Timer& due, absl::Duration& left, uint32_t& seen) {
  absl::MutexLock lock(&mutex_);
  if (stopping_) return false;
  seen = changes_.load(std::memory_order_relaxed);
  left = absl::InfiniteDuration();
  if (timers_.empty()) return true;
  auto first = timers_.begin();
  left = std::min(first->first.first - clock_.Now(), kLongestSleep);
  if (left > absl::ZeroDuration()) return true;
  due = std::move(first->second);
  times_.erase(first->first.second);
  timers_.erase(first);
  return true;
}

void TimerThread::Run() {
  absl::Duration left;
  uint32_t seen = 0;
  for (Timer due; TakeDue(due, left, seen); due.closure = nullptr) {
    if (due.closure) {
      deliver_(due.pool, std::move(due.closure));
    } else {
      FutexWait(changes_, seen, left);
    }
  }
}

}  // namespace weft
