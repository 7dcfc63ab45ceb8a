#include "libs/device/cuda/completion_queue.h"

#include <deque>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace weft {

struct CompletionQueue::State {
  explicit State(Scheduler& s) : scheduler(s) {}

  struct Entry {
    Wait wait;
    Done done;
  };

  // The queue whose `wait`s and `done`s this thread runs.
  static thread_local const State* running;

  Scheduler& scheduler;
  absl::Mutex mutex;
  std::deque<Entry> entries ABSL_GUARDED_BY(mutex);
  bool is_running ABSL_GUARDED_BY(mutex) = false;  // a thread was requested
  Event* idle ABSL_GUARDED_BY(mutex) = nullptr;  // owned by the draining thread
};

thread_local const CompletionQueue::State* CompletionQueue::State::running =
    nullptr;

CompletionQueue::CompletionQueue(Scheduler& scheduler)
    : state_(std::make_shared<State>(scheduler)) {}

CompletionQueue::~CompletionQueue() { Drain(); }

void CompletionQueue::Add(Wait wait, Done done) {
  {
    const absl::MutexLock lock(&state_->mutex);
    state_->entries.push_back({std::move(wait), std::move(done)});
    if (std::exchange(state_->is_running, true)) return;
  }
  state_->scheduler.Schedule(Pool::kUnbounded,
                             [state = state_] { Run(state); });
}

bool CompletionQueue::Drain() {
  const std::unique_ptr<Event> idle = state_->scheduler.NewEvent();
  {
    const absl::MutexLock lock(&state_->mutex);
    if (!state_->is_running) return false;
    state_->idle = idle.get();
  }
  idle->Wait();
  return true;
}

bool CompletionQueue::IsCalledBack() const {
  return State::running == state_.get();
}

void CompletionQueue::Run(const std::shared_ptr<State>& state) {
  Event* idle = nullptr;
  State::running = state.get();
  while (true) {
    State::Entry entry;
    {
      const absl::MutexLock lock(&state->mutex);
      if (state->entries.empty()) {
        state->is_running = false;
        idle = std::exchange(state->idle, nullptr);
        break;
      }
      entry = std::move(state->entries.front());
      state->entries.pop_front();
    }
    const absl::Status status = entry.wait();
    // Releases all captured objects before waiting callers continue.
    entry.wait = nullptr;
    entry.done(status);
  }
  State::running = nullptr;
  if (idle != nullptr) idle->Set();
}

}  // namespace weft
