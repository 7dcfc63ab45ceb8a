#include "libs/resource/waiters.h"

#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace weft {

struct Waiters::Waiter {
  Waiter(Cancellation& of, Done call) : step(of), done(std::move(call)) {}

  Cancellation& step;
  Cancellation::Token token = 0;
  Done done;
  bool is_over = false;  // guarded by the state's mutex
};

struct Waiters::State {
  absl::Mutex mutex;
  std::vector<std::shared_ptr<Waiter>> waiting ABSL_GUARDED_BY(mutex);

  // Ends the wait. Returns false if the wait was already over.
  bool End(const std::shared_ptr<Waiter>& waiter) {
    absl::MutexLock lock(&mutex);
    if (std::exchange(waiter->is_over, true)) return false;
    std::erase(waiting, waiter);
    return true;
  }
};

Waiters::Waiters() : state_(std::make_shared<State>()) {}

Waiters::~Waiters() = default;

void Waiters::Add(Cancellation& step, Done done) {
  auto waiter = std::make_shared<Waiter>(step, std::move(done));
  waiter->token =
      step.Register([state = state_, waiter](const absl::Status& cause) {
        if (state->End(waiter)) waiter->done(cause);
      });
  if (waiter->token == 0) return waiter->done(step.status());
  absl::MutexLock lock(&state_->mutex);
  // If the wait was already cancelled, the cancellation has called its
  // callback.
  if (!waiter->is_over) state_->waiting.push_back(std::move(waiter));
}

void Waiters::NotifyAll(const absl::Status& status) {
  std::vector<std::shared_ptr<Waiter>> told;
  {
    absl::MutexLock lock(&state_->mutex);
    told.swap(state_->waiting);
    for (const auto& waiter : told) waiter->is_over = true;
  }
  for (const auto& waiter : told) {
    waiter->step.Deregister(waiter->token);
    waiter->done(status);
  }
}

bool Waiters::empty() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->waiting.empty();
}

}  // namespace weft
