#include "libs/resource/attempts.h"

#include <list>
#include <set>
#include <utility>

namespace weft {

// Attempt is a submitted call. Until the call is over, the lock guards all
// members except the functions and the step.
struct Attempts::Attempt {
  Attempt(Cancellation& of, Sequence in, Try attempt, Done call)
      : step(of),
        sequence(in),
        run(std::move(attempt)),
        done(std::move(call)) {}

  Cancellation& step;
  const Sequence sequence;
  Try run;
  Done done;
  Cancellation::Token token = 0;
  bool is_over = false;
  absl::Status status;
};

struct Attempts::State {
  absl::Mutex mutex;
  std::list<std::shared_ptr<Attempt>> waiting ABSL_GUARDED_BY(mutex);
};

Attempts::Attempts() : state_(std::make_shared<State>()) {}

Attempts::~Attempts() = default;

void Attempts::Submit(Cancellation& step, Sequence sequence, Try attempt,
                      Done done) {
  auto submitted = std::make_shared<Attempt>(step, sequence, std::move(attempt),
                                             std::move(done));
  submitted->token =
      step.Register([state = state_, submitted](const absl::Status& cause) {
        Cancel(*state, submitted, cause);
      });
  if (submitted->token == 0) return submitted->done(step.status());
  Finished finished;
  {
    absl::MutexLock lock(&state_->mutex);
    // If the call was already cancelled, the cancellation has called `done`.
    if (submitted->is_over) return;
    state_->waiting.push_back(std::move(submitted));
    Advance(*state_, finished);
  }
  Finish(finished);
}

void Attempts::Look(absl::FunctionRef<void()> look) const {
  absl::MutexLock lock(&state_->mutex);
  look();
}

// Runs the waiting attempts until none can complete, because each completed
// attempt may enable others. REQUIRES: the lock is held.
void Attempts::Advance(State& state,
                       Finished& finished) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  bool moved = true;
  while (moved) {
    moved = false;
    std::set<Sequence> blocked;
    for (auto at = state.waiting.begin(); at != state.waiting.end();) {
      Attempt& attempt = **at;
      const bool may_run = !blocked.contains(attempt.sequence);
      std::optional<absl::Status> status;
      if (attempt.step.IsCancelled()) {
        status = attempt.step.status();
      } else if (may_run) {
        status = attempt.run();
      }
      if (!status.has_value()) {
        if (attempt.sequence != kUnordered) blocked.insert(attempt.sequence);
        ++at;
        continue;
      }
      moved = true;
      attempt.is_over = true;
      attempt.status = *std::move(status);
      finished.push_back(std::move(*at));
      at = state.waiting.erase(at);
    }
  }
}

void Attempts::Cancel(State& state, const std::shared_ptr<Attempt>& attempt,
                      const absl::Status& cause) {
  Finished finished;
  {
    absl::MutexLock lock(&state.mutex);
    if (std::exchange(attempt->is_over, true)) return;
    state.waiting.remove(attempt);
    // The cancelled attempt may have blocked other attempts of its sequence.
    Advance(state, finished);
  }
  Finish(finished);
  attempt->done(cause);
}

void Attempts::Finish(const Finished& finished) {
  for (const auto& attempt : finished) {
    attempt->step.Deregister(attempt->token);
    attempt->done(std::move(attempt->status));
  }
}

}  // namespace weft
