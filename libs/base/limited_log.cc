#include "libs/base/limited_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"

namespace weft {

LimitedLog::~LimitedLog() {
  in_flight_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
}

void LimitedLog::Log(Severity severity, std::string line) {
  if (logger_ == nullptr) return;
  const std::optional<int64_t> left_out = Admit();
  if (!left_out.has_value()) return;
  if (*left_out > 0) {
    absl::StrAppend(&line, " (and ", *left_out,
                    " lines like this before, which were left out)");
  }
  in_flight_.Begin();
  scheduler_.Schedule(Pool::kControl, [this, severity, line = std::move(line)] {
    logger_->Log(severity, line);
    in_flight_.End();
  });
}

std::optional<int64_t> LimitedLog::Admit() {
  const absl::Time now = scheduler_.clock().Now();
  absl::MutexLock lock(&mutex_);
  if (now - begin_ >= kInterval) {
    begin_ = now;
    num_lines_ = 0;
  }
  if (num_lines_ >= max_lines_) {
    ++left_out_;
    return std::nullopt;
  }
  ++num_lines_;
  return std::exchange(left_out_, 0);
}

}  // namespace weft
