#include "libs/base/logging.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/stdout_sinks.h"

namespace weft {
namespace {

spdlog::level::level_enum ToLevel(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return spdlog::level::debug;
    case Severity::kInfo:
      return spdlog::level::info;
    case Severity::kWarning:
      return spdlog::level::warn;
    case Severity::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

absl::string_view Letter(Severity severity) {
  constexpr absl::string_view kLetters = "DIWE";
  return kLetters.substr(static_cast<size_t>(severity), 1);
}

std::string OnOneLine(absl::string_view message) {
  return absl::StrReplaceAll(message, {{"\n", "\\n"}, {"\r", "\\r"}});
}

class ConsoleLogger : public Logger {
 public:
  ConsoleLogger(absl::string_view task, Severity least)
      : logger_(std::string(task),
                std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_level(ToLevel(least));
    logger_.set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
  }

  void Log(Severity severity, absl::string_view message) override {
    if (!logger_.should_log(ToLevel(severity))) return;
    // spdlog gets the message as a string_view, so it does not interpret the
    // message as a format.
    logger_.log(ToLevel(severity), spdlog::string_view_t(absl::StrCat(
                                       Letter(severity), " ", logger_.name(),
                                       "] ", OnOneLine(message))));
  }

 private:
  spdlog::logger logger_;
};

}  // namespace

std::unique_ptr<Logger> NewConsoleLogger(absl::string_view task,
                                         Severity least) {
  return std::make_unique<ConsoleLogger>(task, least);
}

void RecordingLogger::Log(Severity severity, absl::string_view message) {
  absl::MutexLock lock(&mutex_);
  lines_.push_back(absl::StrCat(Letter(severity), " ", OnOneLine(message)));
}

std::vector<std::string> RecordingLogger::lines() const {
  absl::MutexLock lock(&mutex_);
  return lines_;
}

}  // namespace weft
