#include "libs/kernels/data/background_work.h"

#include <utility>

namespace weft {

void Signal::WaitOnce(absl::Mutex& mutex, Scheduler& scheduler) {
  const std::unique_ptr<Event> event = scheduler.NewEvent();
  waiters_.push_back(event.get());
  mutex.Unlock();
  event->Wait();
  mutex.Lock();
}

void Signal::Notify() {
  for (Event* waiter : waiters_) waiter->Set();
  waiters_.clear();
}

void Signal::WaitFor(absl::Mutex& mutex, Scheduler& scheduler,
                     absl::FunctionRef<bool()> condition) {
  while (!condition()) WaitOnce(mutex, scheduler);
}

absl::Status Signal::WaitFor(absl::Mutex& mutex, Scheduler& scheduler,
                             Cancellation& cancellation,
                             absl::FunctionRef<bool()> condition) {
  if (condition()) return absl::OkStatus();
  // Neither call may have the lock, which the callback takes.
  mutex.Unlock();
  const Cancellation::Token token =
      cancellation.Register([this, &mutex](const absl::Status&) {
        absl::MutexLock lock(&mutex);
        Notify();
      });
  mutex.Lock();
  WaitFor(mutex, scheduler,
          [&] { return cancellation.IsCancelled() || condition(); });
  mutex.Unlock();
  if (token != 0) cancellation.Deregister(token);
  mutex.Lock();
  return condition() ? absl::OkStatus() : cancellation.status();
}

// Shared, for who ends last is not done with it when the destructor goes on.
struct BackgroundWork::Count {
  absl::Mutex mutex;
  Signal signal;
  int64_t running ABSL_GUARDED_BY(mutex) = 0;

  void End() {
    absl::MutexLock lock(&mutex);
    if (--running == 0) signal.Notify();
  }
};

BackgroundWork::BackgroundWork(const IteratorContext& context)
    : context_(context.With(cancellation_)),
      count_(std::make_shared<Count>()) {}

BackgroundWork::~BackgroundWork() {
  cancellation_.Cancel(absl::CancelledError("the iterator is deleted"));
  absl::MutexLock lock(&count_->mutex);
  count_->signal.WaitFor(count_->mutex, context_.scheduler(), [this] {
    count_->mutex.AssertHeld();
    return count_->running == 0;
  });
}

BackgroundWork::Running BackgroundWork::Begin() {
  {
    absl::MutexLock lock(&count_->mutex);
    ++count_->running;
  }
  return Running(nullptr, [count = count_](void*) { count->End(); });
}

void BackgroundWork::Start(Pool pool, Scheduler::Closure closure) {
  context_.scheduler().Schedule(
      pool, [running = Begin(), closure = std::move(closure)]() mutable {
        closure();
        closure = nullptr;
        running.reset();
      });
}

}  // namespace weft
