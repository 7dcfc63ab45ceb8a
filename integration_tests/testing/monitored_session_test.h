// MonitoredSessionTest is a fixture for tests of MonitoredSession in sessions
// of this process, with hooks and event files in memory.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SESSION_TEST_H_
#define WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SESSION_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"
#include "libs/summary/events_writer.h"

namespace weft::monitored_session_tests {

using Lines = std::vector<std::string>;

// Returns the events in a directory as texts, for example "graph", "start",
// "loss 3 at 1", "model.ckpt at 0".
inline Lines EventsIn(FileSystem& files, const std::string& folder) {
  Lines lines;
  for (const std::string& name :
       files.ListDirectory(folder).value_or(Lines())) {
    if (!absl::StrContains(name, ".tfevents.")) continue;
    auto reader =
        summary::EventsReader::Open(files, absl::StrCat(folder, "/", name));
    EXPECT_OK(reader);
    while (true) {
      const auto event = (*reader)->Next();
      if (!event.ok()) break;
      if (event->As<summary::GraphDefBytes>() != nullptr) {
        lines.push_back("graph");
      }
      if (const auto* meta = event->As<summary::MetaGraphDefBytes>()) {
        EXPECT_OK(train::MetaGraph::Parse(meta->bytes));
        lines.push_back("meta graph");
      }
      if (const auto* log = event->As<summary::SessionLog>()) {
        lines.push_back(
            absl::StrCat(log->status == summary::SessionLog::Status::kStart
                             ? "start"
                             : log->checkpoint_path,
                         " at ", event->step));
      }
      if (const auto* run = event->As<summary::TaggedRunMetadata>()) {
        const auto metadata = ParseRunMetadata(run->run_metadata);
        EXPECT_OK(metadata);
        lines.push_back(absl::StrCat(run->tag, " at ", event->step, ": ",
                                     metadata->step_stats.dev_stats.size(),
                                     " devices"));
      }
      if (const auto* values = event->As<summary::Summary>()) {
        for (const summary::SummaryValue& value : values->value) {
          lines.push_back(absl::StrCat(value.tag, " at ", event->step));
        }
      }
    }
  }
  return lines;
}

// A hook that records its calls and their arguments.
class RecordingHook : public train::SessionRunHook {
 public:
  RecordingHook(std::string name, Lines& lines)
      : name_(std::move(name)), lines_(lines) {}

  absl::Status Begin(const Scope&) override { return Record("begin"); }
  absl::Status AfterCreateSession(Session&, train::Coordinator&) override {
    return Record("after_create_session");
  }
  absl::StatusOr<train::SessionRunArgs> BeforeRun(
      train::SessionRunContext&) override {
    RETURN_IF_ERROR(Record("before_run"));
    return args;
  }
  absl::Status AfterRun(train::SessionRunContext& context,
                        const train::SessionRunValues& values) override {
    results.assign(values.results.begin(), values.results.end());
    timeout = values.options.timeout;
    metadata = values.run_metadata;
    if (stops) context.RequestStop();
    return Record("after_run");
  }
  absl::Status End(Session&) override { return Record("end"); }
  void BeforeSessionDestroyed() override {
    EXPECT_OK(Record("before_session_goes"));
  }

  train::SessionRunArgs args;  // arguments that the hook adds to each run
  bool stops = false;
  std::vector<Tensor> results;
  absl::Duration timeout;
  RunMetadata metadata;

 private:
  absl::Status Record(absl::string_view what) {
    lines_.push_back(absl::StrCat(name_, " ", what));
    return absl::OkStatus();
  }

  const std::string name_;
  Lines& lines_;
};

class MonitoredSessionTest : public testing::Test {
 protected:
  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }
  MonitoredSessionTest() : process_(InMemory(files_)) {
    step_ = train::GetOrCreateGlobalStep(root_);
    count_ = ops::AssignAdd(root_, step_, 1);
  }

  train::MonitoredTrainingSessionOptions Options(train::HookList hooks = {}) {
    train::MonitoredTrainingSessionOptions options;
    options.hooks = std::move(hooks);
    options.config.process = &process_;
    options.logger = &logger_;
    return options;
  }
  std::unique_ptr<train::MonitoredSession> Start(
      train::MonitoredTrainingSessionOptions options) {
    auto session = train::MonitoredTrainingSession(root_, std::move(options));
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  // Trains until the end. Returns the last step, or the error of Close.
  absl::StatusOr<int64_t> Train(
      train::MonitoredTrainingSessionOptions options) {
    ASSIGN_OR_RETURN(const auto session, train::MonitoredTrainingSession(
                                             root_, std::move(options)));
    int64_t step = -1;
    absl::Status status;
    while (status.ok() && !session->ShouldStop()) {
      status = session->Run(count_);
      if (!status.ok()) break;
      ASSIGN_OR_RETURN(const Tensor value, session->raw_session()->Run(step_));
      step = value.scalar<int64_t>();
    }
    RETURN_IF_ERROR(session->Close(status));
    return step;
  }

  MemoryFileSystem files_;
  RecordingLogger logger_;
  Process process_;
  Scope root_ = Scope::Root();
  ops::Variable step_;
  Operation count_;
};

// A hook whose Begin and End return the given errors.
class FailingHook : public train::SessionRunHook {
 public:
  absl::Status Begin(const Scope&) override { return in_begin; }
  absl::Status End(Session&) override { return in_end; }
  absl::Status in_begin, in_end;
};

}  // namespace weft::monitored_session_tests

#endif  // WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SESSION_TEST_H_
