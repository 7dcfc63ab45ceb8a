// LimitedLog: log lines of one kind that a peer can cause as often as it likes.
// Of more than a few within some seconds it writes the first ones; the next
// line after that time says how many were left out.
//
// Threads: all methods may be called from any thread and do not block, but for
// the destructor. Lines are written on the control pool: a thread that reads
// must not wait for a log.
#ifndef WEFT_LIBS_BASE_LIMITED_LOG_H_
#define WEFT_LIBS_BASE_LIMITED_LOG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"

namespace weft {

// Which of such lines are written. A value, not synchronised.
class LineLimit {
 public:
  // So many lines are written in each interval, which begins with a line.
  static constexpr int kMaxLines = 20;
  static constexpr absl::Duration kInterval = absl::Seconds(10);

  explicit LineLimit(int max_lines = kMaxLines) : max_lines_(max_lines) {}

  // `line` as it is to be written now, with how many were left out before it;
  // none: it is left out.
  std::optional<std::string> Admit(std::string line, absl::Time now);

 private:
  int max_lines_;
  absl::Time begin_ = absl::InfinitePast();
  int num_lines_ = 0;  // since then
  int64_t left_out_ = 0;
};

class LimitedLog {
 public:
  // Both outlive it; `logger` may be null: nothing is written.
  LimitedLog(Scheduler& scheduler, Logger* logger,
             int max_lines = LineLimit::kMaxLines)
      : scheduler_(scheduler), logger_(logger), limit_(max_lines) {}
  // Waits for lines that are being written.
  ~LimitedLog();
  LimitedLog(const LimitedLog&) = delete;
  LimitedLog& operator=(const LimitedLog&) = delete;

  void Log(Severity severity, std::string line) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Scheduler& scheduler_;
  Logger* const logger_;
  InFlight in_flight_;
  absl::Mutex mutex_;
  LineLimit limit_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_LIMITED_LOG_H_
