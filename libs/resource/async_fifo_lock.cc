#include "libs/resource/async_fifo_lock.h"

#include <algorithm>
#include <utility>

namespace weft {

struct AsyncFifoLock::Waiter {
  Waiter(Cancellation& of, Begin call) : step(of), begin(std::move(call)) {}

  Cancellation& step;
  Cancellation::Token token = 0;
  Begin begin;
  bool is_over = false;  // guarded by the state's mutex
};

void AsyncFifoLock::Take(Cancellation& step, Begin begin) {
  auto waiter = std::make_shared<Waiter>(step, std::move(begin));
  waiter->token =
      step.Register([state = state_, waiter](const absl::Status& cause) {
        Cancel(*state, waiter, cause);
      });
  if (waiter->token == 0) return waiter->begin(step.status());
  {
    absl::MutexLock lock(&state_->mutex);
    // If the waiter was already cancelled, the cancellation has called its
    // callback.
    if (waiter->is_over) return;
    if (std::exchange(state_->is_taken, true)) {
      state_->waiting.push_back(std::move(waiter));
      return;
    }
    waiter->is_over = true;
  }
  step.Deregister(waiter->token);
  waiter->begin(absl::OkStatus());
}

bool AsyncFifoLock::TryTake() {
  absl::MutexLock lock(&state_->mutex);
  return !std::exchange(state_->is_taken, true);
}

void AsyncFifoLock::Cancel(State& state, const std::shared_ptr<Waiter>& waiter,
                           const absl::Status& cause) {
  {
    absl::MutexLock lock(&state.mutex);
    if (std::exchange(waiter->is_over, true)) return;
    std::erase(state.waiting, waiter);
  }
  waiter->begin(cause);
}

void AsyncFifoLock::End() {
  std::shared_ptr<Waiter> next;
  {
    absl::MutexLock lock(&state_->mutex);
    if (state_->waiting.empty()) {
      state_->is_taken = false;
      return;
    }
    next = std::move(state_->waiting.front());
    state_->waiting.pop_front();
    next->is_over = true;
  }
  next->step.Deregister(next->token);
  next->begin(absl::OkStatus());
}

}  // namespace weft
