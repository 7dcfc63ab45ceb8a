// Progress shows the progress of a training: one line that is updated in place
// on a terminal, or a line every few seconds elsewhere.
#ifndef WEFT_EXAMPLES_PROGRESS_H_
#define WEFT_EXAMPLES_PROGRESS_H_

#include <cstdint>
#include <cstdio>

#include "absl/time/time.h"
#include "libs/base/clock.h"

namespace weft::examples {

// Threads: call from one thread at a time.
class Progress {
 public:
  // Writes to `out`: every `interval` if it is a terminal, otherwise every ten
  // intervals.
  Progress(const Clock& clock, std::FILE* out, int64_t total_steps,
           int batch_size, absl::Duration interval = absl::Milliseconds(200));

  // Must be called after each step; prints if an interval has passed. `loss` is
  // the latest one.
  void Step(int epoch, int64_t step, float loss);
  // Step for one of several replicas: this replica has taken `own_steps`, and
  // `common_step` is the step of all replicas, which may exceed the total.
  void CommonStep(int64_t own_steps, int64_t common_step, float loss);
  // Ends the live line, if any, so that other output may follow.
  void Finish();

  // Time since construction.
  absl::Duration elapsed() const { return clock_.Now() - start_; }
  // Steps per second over the whole time.
  double StepsPerSecond(int64_t steps) const;

 private:
  // Rates since the last line, in steps per second.
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
