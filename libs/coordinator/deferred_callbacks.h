// DeferredCallbacks collects callbacks, and runs them when it is destroyed,
// after a lock is released: first log lines, then the answers of calls. It must
// be declared before the lock is acquired.
//
// Used by one thread.
#ifndef WEFT_LIBS_COORDINATOR_DEFERRED_CALLBACKS_H_
#define WEFT_LIBS_COORDINATOR_DEFERRED_CALLBACKS_H_

#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace weft {

class DeferredCallbacks {
 public:
  DeferredCallbacks() = default;
  ~DeferredCallbacks() {
    for (auto& line : lines_) line();
    for (auto& answer : answers_) answer();
  }
  DeferredCallbacks(const DeferredCallbacks&) = delete;
  DeferredCallbacks& operator=(const DeferredCallbacks&) = delete;

  void Add(absl::AnyInvocable<void()> answer) {
    answers_.push_back(std::move(answer));
  }

  void AddLine(absl::AnyInvocable<void()> line) {
    lines_.push_back(std::move(line));
  }

 private:
  std::vector<absl::AnyInvocable<void()>> lines_;
  std::vector<absl::AnyInvocable<void()>> answers_;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_DEFERRED_CALLBACKS_H_
