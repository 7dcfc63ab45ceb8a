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

bool Progress::IsTime(int64_t step) const {
  return clock_.Now() - last_print_ >= interval_ || step >= total_steps_;
}

Progress::Rates Progress::StartLine(int64_t own_steps, int64_t step) {
  const absl::Time now = clock_.Now();
  const double seconds =
      std::max(absl::ToDoubleSeconds(now - last_print_), 1e-9);
  const auto own = static_cast<double>(own_steps - last_own_steps_);
  const auto all = static_cast<double>(std::max<int64_t>(step - last_step_, 1));
  const auto left =
      static_cast<double>(std::max<int64_t>(total_steps_ - step, 0));
  last_print_ = now;
  last_own_steps_ = own_steps;
  last_step_ = step;
  if (is_terminal_) std::fputs("\r", out_);
  return {own / seconds, left * seconds / all};
}

void Progress::EndLine() {
  std::fputs(is_terminal_ ? "\x1b[K" : "\n", out_);
  std::fflush(out_);
  line_open_ = is_terminal_;
}

void Progress::Step(int epoch, int64_t step, float loss) {
  if (!IsTime(step)) return;
  const Rates rates = StartLine(step, step);
  std::fprintf(out_,
               "epoch %d  step %lld/%lld  loss %.4f  %.0f steps/s  %.0f "
               "examples/s  %.0f s left",
               epoch, static_cast<long long>(step),
               static_cast<long long>(total_steps_), loss, rates.own,
               rates.own * batch_size_, rates.seconds_left);
  EndLine();
}

void Progress::CommonStep(int64_t own_steps, int64_t common_step, float loss) {
  if (!IsTime(common_step)) return;
  const Rates rates = StartLine(own_steps, common_step);
  std::fprintf(out_,
               "common step %lld/%lld  loss %.4f  here %.0f steps/s  %.0f "
               "examples/s  %.0f s left",
               static_cast<long long>(std::min(common_step, total_steps_)),
               static_cast<long long>(total_steps_), loss, rates.own,
               rates.own * batch_size_, rates.seconds_left);
  EndLine();
}

void Progress::Finish() {
  if (line_open_) std::fprintf(out_, "\n");
  line_open_ = false;
}

}  // namespace weft::examples
