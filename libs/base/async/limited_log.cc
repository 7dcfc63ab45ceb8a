#include "libs/base/async/limited_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"

namespace weft {

std::optional<std::string> LineLimit::Admit(std::string line, absl::Time now) {
  if (now - begin_ >= kInterval) {
    begin_ = now;
    num_lines_ = 0;
  }
  if (num_lines_ >= max_lines_) {
    ++left_out_;
    return std::nullopt;
  }
  ++num_lines_;
  if (left_out_ == 0) return line;
  absl::StrAppend(&line, " (and ", std::exchange(left_out_, 0),
                  " lines like this before, which were left out)");
  return line;
}

LimitedLog::~LimitedLog() {
  in_flight_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
}

void LimitedLog::Log(Severity severity, std::string line) {
  if (logger_ == nullptr) return;
  std::optional<std::string> admitted;
  {
    absl::MutexLock lock(&mutex_);
    admitted = limit_.Admit(std::move(line), scheduler_.clock().Now());
  }
  if (!admitted.has_value()) return;
  in_flight_.Begin();
  scheduler_.Schedule(Pool::kControl,
                      [this, severity, admitted = *std::move(admitted)] {
                        logger_->Log(severity, admitted);
                        in_flight_.End();
                      });
}

}  // namespace weft
