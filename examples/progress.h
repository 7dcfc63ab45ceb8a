// Progress shows the progress of a training. On a terminal it updates one line
// in place. Elsewhere it prints a line every few seconds.
#ifndef WEFT_EXAMPLES_PROGRESS_H_
#define WEFT_EXAMPLES_PROGRESS_H_

#include <cstdint>
#include <cstdio>

#include "absl/time/time.h"
#include "libs/base/clock.h"

namespace weft::examples {

// Not thread-safe.
class Progress {
 public:
  // Writes to `out`: after every `interval` if it is a terminal, and otherwise
  // after every ten intervals.
  Progress(const Clock& clock, std::FILE* out, int64_t total_steps,
           int batch_size, absl::Duration interval = absl::Milliseconds(200));

  // Must be called after each step. Prints if an interval has passed. `loss` is
  // the latest loss.
  void Step(int epoch, int64_t step, float loss);
  // Must be called instead of Step by one of several replicas. This replica has
  // taken `own_steps`. `common_step` is the global step of all replicas, which
  // may exceed the total.
  void CommonStep(int64_t own_steps, int64_t common_step, float loss);
  // Ends the line that is updated in place, if there is one, so that other
  // output may follow.
  void Finish();

  // Returns the time since construction.
  absl::Duration elapsed() const { return clock_.Now() - start_; }
  // Returns the steps per second since construction.
  double StepsPerSecond(int64_t steps) const;

 private:
  // The rates since the last line was printed, in steps per second.
  struct Rates {
    double own;
    double seconds_left;
  };
  bool IsTime(int64_t step) const;
  Rates StartLine(int64_t own_steps, int64_t step);
  void EndLine();

  const Clock& clock_;
  std::FILE* const out_;
  const int64_t total_steps_;
  const int batch_size_;
  const bool is_terminal_;
  const absl::Duration interval_;
  const absl::Time start_;
  absl::Time last_print_;
  int64_t last_own_steps_ = 0;
  int64_t last_step_ = 0;
  bool line_open_ = false;
};

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_PROGRESS_H_
