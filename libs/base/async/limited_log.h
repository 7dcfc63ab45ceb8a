// LimitedLog limits how many log lines of one kind are written, because a peer
// may cause them at any rate. It writes only the first lines of each interval.
// The first line after the interval reports how many lines were omitted.
//
// Threads: all methods may be called from any thread; only the destructor
// blocks. Lines are written on the control pool, because a reading thread must
// not wait for a log.
#ifndef WEFT_LIBS_BASE_ASYNC_LIMITED_LOG_H_
#define WEFT_LIBS_BASE_ASYNC_LIMITED_LOG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

// LineLimit decides which lines are written. It is a plain value and is not
// synchronized.
class LineLimit {
 public:
  // The number of lines written in each interval. A line starts an interval.
  static constexpr int kMaxLines = 20;
  static constexpr absl::Duration kInterval = absl::Seconds(10);

  explicit LineLimit(int max_lines = kMaxLines) : max_lines_(max_lines) {}

  // Returns `line`, with the number of lines omitted before it, if the line may
  // be written. Returns nullopt if the line must be omitted.
  std::optional<std::string> Admit(std::string line, absl::Time now);

 private:
  int max_lines_;
  absl::Time begin_ = absl::InfinitePast();
  int num_lines_ = 0;  // since begin_
  int64_t left_out_ = 0;
};

class LimitedLog {
 public:
  // `scheduler` and `logger` must outlive this object. A null `logger` discards
  // all lines.
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

#endif  // WEFT_LIBS_BASE_ASYNC_LIMITED_LOG_H_
