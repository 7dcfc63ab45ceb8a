// Answers: calls that are to be answered, and lines that are to be logged
// before that, once a lock is released: to be declared before the lock is
// taken.
//
// Used by one thread.
#ifndef WEFT_LIBS_COORDINATOR_ANSWERS_H_
#define WEFT_LIBS_COORDINATOR_ANSWERS_H_

#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace weft {

class Answers {
 public:
  Answers() = default;
  ~Answers() {
    for (auto& line : lines_) line();
    for (auto& answer : answers_) answer();
  }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

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

#endif  // WEFT_LIBS_COORDINATOR_ANSWERS_H_
