#include "examples/progress.h"

#include <unistd.h>

#include <algorithm>

namespace weft::examples {

Progress::Progress(const Clock& clock, std::FILE* out, int64_t total_steps,
                   int batch_size, absl::Duration interval)
    : clock_(clock),
      out_(out),
      total_steps_(total_steps),
      batch_size_(batch_size),
      is_terminal_(isatty(fileno(out)) != 0),
      interval_(is_terminal_ ? interval : 10 * interval),
      start_(clock.Now()),
      last_print_(start_) {}

double Progress::StepsPerSecond(int64_t steps) const {
  return static_cast<double>(steps) /
         std::max(absl::ToDoubleSeconds(elapsed()), 1e-9);
}

void Progress::Step(int epoch, int64_t step, float loss) {
  const absl::Time now = clock_.Now();
  if (now - last_print_ < interval_ && step != total_steps_) return;
  const double seconds =
      std::max(absl::ToDoubleSeconds(now - last_print_), 1e-9);
  const double rate = static_cast<double>(step - last_step_) / seconds;
  const double left = static_cast<double>(total_steps_ - step) / rate;
  std::fprintf(out_,
               "%sepoch %d  step %lld/%lld  loss %.4f  %.0f steps/s  %.0f "
               "examples/s  %.0f s left%s",
               is_terminal_ ? "\r" : "", epoch, static_cast<long long>(step),
               static_cast<long long>(total_steps_), loss, rate,
               rate * batch_size_, left, is_terminal_ ? "\x1b[K" : "\n");
  std::fflush(out_);
  line_open_ = is_terminal_;
  last_print_ = now;
  last_step_ = step;
}

void Progress::Finish() {
  if (line_open_) std::fprintf(out_, "\n");
  line_open_ = false;
}

}  // namespace weft::examples
