// Logger writes one line per event, with time, severity and the task's name.
// Loggers are passed by reference; there is no global logger.
//
// Threads: all methods may be called from any thread.
#ifndef WEFT_LIBS_BASE_LOGGING_H_
#define WEFT_LIBS_BASE_LOGGING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace weft {

enum class Severity { kDebug, kInfo, kWarning, kError };

class Logger {
 public:
  virtual ~Logger() = default;
  // Logs one event. Line breaks in `message` are written as "\n", so that each
  // event is one line.
  virtual void Log(Severity severity, absl::string_view message) = 0;

  void Debug(absl::string_view message) { Log(Severity::kDebug, message); }
  void Info(absl::string_view message) { Log(Severity::kInfo, message); }
  void Warning(absl::string_view message) { Log(Severity::kWarning, message); }
  void Error(absl::string_view message) { Log(Severity::kError, message); }
};

// Returns a logger that writes to stderr: "2025-01-31 12:00:00.123 I
// /job:ps/task:0] message". It drops lines with a lower severity than `least`.
std::unique_ptr<Logger> NewConsoleLogger(absl::string_view task,
                                         Severity least = Severity::kInfo);

// NullLogger drops all lines.
class NullLogger : public Logger {
 public:
  void Log(Severity, absl::string_view) override {}
};

// RecordingLogger keeps the lines, in the form "I message", for tests.
class RecordingLogger : public Logger {
 public:
  void Log(Severity severity, absl::string_view message) override;
  std::vector<std::string> lines() const;

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_LOGGING_H_
