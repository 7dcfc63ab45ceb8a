#include "libs/kernels/data/background_work.h"

#include <utility>

#include "absl/cleanup/cleanup.h"

namespace weft {
namespace {

// Releases a mutex held by the thread, and takes it again at the end of its
// scope, even after an exception.
class Unlocked {
 public:
  explicit Unlocked(absl::Mutex& mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : mutex_(mutex) {
    mutex_.Unlock();
  }
  ~Unlocked() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  absl::Mutex& mutex_;
};

}  // namespace

void Signal::WaitOnce(absl::Mutex& mutex, Scheduler& scheduler) {
  const std::unique_ptr<Event> event = scheduler.NewEvent();
  waiters_.push_back(event.get());
  const Unlocked unlocked(mutex);
  event->Wait();
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
  // The condition may change while the callback is deregistered.
  while (!condition()) {
    if (cancellation.IsCancelled()) return cancellation.status();
    WaitForEither(mutex, scheduler, cancellation, condition);
  }
  return absl::OkStatus();
}

void Signal::WaitForEither(absl::Mutex& mutex, Scheduler& scheduler,
                           Cancellation& cancellation,
                           absl::FunctionRef<bool()> condition) {
  Cancellation::Token token = 0;
  // Neither call may hold the lock, which the callback takes. The callback must
  // be deregistered at the end, even if there is no memory to wait: the signal
  // may be deleted then.
  const absl::Cleanup deregister = [&] {
    if (token == 0) return;
    const Unlocked unlocked(mutex);
    cancellation.Deregister(token);
  };
  {
    const Unlocked unlocked(mutex);
    token = cancellation.Register([this, &mutex](const absl::Status&) {
      absl::MutexLock lock(&mutex);
      Notify();
    });
  }
  WaitFor(mutex, scheduler,
          [&] { return cancellation.IsCancelled() || condition(); });
}

// Shared, because the last user may still access it when the destructor
// continues.
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
