// Tests the files of MonitoredSession: checkpoints from which training resumes,
// event files and traces.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/monitored_session_test.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/failing_file_system.h"
#include "libs/runtime/process/process.h"

namespace weft::monitored_session_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using train::MonitoredTrainingSession;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;

// ---- Checkpoints ----

class RecordingListener : public train::CheckpointSaverListener {
 public:
  explicit RecordingListener(Lines& lines) : lines_(lines) {}
  absl::Status Begin() override { return Record("begin"); }
  absl::Status BeforeSave(Session&, int64_t step) override {
    return Record(absl::StrCat("before_save ", step));
  }
  absl::StatusOr<bool> AfterSave(Session&, int64_t step) override {
    RETURN_IF_ERROR(Record(absl::StrCat("after_save ", step)));
    return step == stop_at;
  }
  absl::Status End(Session&, int64_t step) override {
    return Record(absl::StrCat("end ", step));
  }
  int64_t stop_at = -1;

 private:
  absl::Status Record(std::string line) {
    lines_.push_back(std::move(line));
    return absl::OkStatus();
  }
  Lines& lines_;
};

TEST_F(MonitoredSessionTest, SessionSavesAtStartPeriodicallyAndAtEnd) {
  Lines lines;
  auto scaffold = std::make_shared<train::Scaffold>();
  train::CheckpointSaverOptions saver;
  saver.checkpoint_dir = "/job";
  saver.save_steps = 3;
  saver.scaffold = scaffold;
  saver.logger = &logger_;
  saver.listeners = {std::make_shared<RecordingListener>(lines)};
  auto options = Options({std::make_shared<train::CheckpointSaverHook>(saver),
                          train::StopAtStep(7)});
  options.scaffold = scaffold;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_THAT(lines, ElementsAre("begin", "before_save 0", "after_save 0",
                                 "before_save 3", "after_save 3",
                                 "before_save 6", "after_save 6",
                                 "before_save 7", "after_save 7", "end 7"));
  for (const int step : {0, 3, 6, 7}) {
    EXPECT_OK(
        files_.FileExists(absl::StrCat("/job/model.ckpt-", step, ".index")));
  }
  EXPECT_THAT(
      logger_.lines(),
      testing::Contains("I Saving checkpoints for 3 into /job/model.ckpt."));
}

// A hook that updates variables, and runs another update whenever a save is
// requested between two updates.
class UpdatingHook : public train::SessionRunHook {
 public:
  explicit UpdatingHook(Operation update) : update_(update) {}
  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator&) override {
    session_ = &session;
    return absl::OkStatus();
  }
  absl::Status SaveBetweenUpdates(
      absl::FunctionRef<absl::Status()> save) override {
    ++num_saves;
    if (session_ != nullptr) RETURN_IF_ERROR(session_->Run(update_));
    return save();
  }
  int num_saves = 0;

 private:
  const Operation update_;
  Session* session_ = nullptr;
};

TEST_F(MonitoredSessionTest, SessionSavesBetweenHookUpdates) {
  const auto hook = std::make_shared<UpdatingHook>(count_);
  auto options = Options({hook, train::StopAtStep(6)});
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 3;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_EQ(hook->num_saves, 3);  // at the start, at step 3 and at the end
  for (const int step : {0, 4, 7}) {
    EXPECT_OK(
        files_.FileExists(absl::StrCat("/job/model.ckpt-", step, ".index")));
  }
}

// Saves run concurrently with steps, so the timing of threads determines which
// steps are saved.
TEST_F(MonitoredSessionTest, SessionSavesConcurrentlyWithRuns) {
  auto options = Options({train::StopAtStep(40)});
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 10;
  options.save_asynchronously = true;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_OK(files_.FileExists("/job/model.ckpt-0.index"));
  EXPECT_OK(files_.FileExists("/job/model.ckpt-40.index"));
  auto again = Options({train::StopAtStep(41)});
  again.checkpoint_dir = "/job";
  ASSERT_OK_AND_ASSIGN(const int64_t last, Train(std::move(again)));
  EXPECT_EQ(last, 41);
}

TEST_F(MonitoredSessionTest, ListenerMayStopTraining) {
  Lines lines;
  auto listener = std::make_shared<RecordingListener>(lines);
  listener->stop_at = 4;
  auto scaffold = std::make_shared<train::Scaffold>();
  train::CheckpointSaverOptions saver;
  saver.checkpoint_dir = "/job";
  saver.save_steps = 2;
  saver.scaffold = scaffold;
  saver.logger = &logger_;
  saver.listeners = {listener};
  auto options = Options({std::make_shared<train::CheckpointSaverHook>(saver)});
  options.scaffold = scaffold;
  ASSERT_OK_AND_ASSIGN(const int64_t last, Train(std::move(options)));
  EXPECT_EQ(last, 4);
}

TEST_F(MonitoredSessionTest, SecondStartResumesTraining) {
  const auto run_to = [&](int64_t step) {
    auto options = Options({train::StopAtStep(step)});
    options.checkpoint_dir = "/job";
    options.save_checkpoint_steps = 2;
    return Train(std::move(options));
  };
  ASSERT_OK_AND_ASSIGN(const int64_t to_5, run_to(5));
  EXPECT_EQ(to_5, 5);
  ASSERT_OK_AND_ASSIGN(const int64_t to_9, run_to(9));
  EXPECT_EQ(to_9, 9);
  EXPECT_THAT(
      logger_.lines(),
      testing::Contains("I Restoring parameters from /job/model.ckpt-5"));
  // Each start of the program also counts the checkpoints of earlier starts, so
  // five checkpoints are kept in total.
  for (int64_t step = 10; step < 15; ++step) ASSERT_OK(run_to(step));
  ASSERT_OK_AND_ASSIGN(const Lines files, files_.ListDirectory("/job"));
  EXPECT_THAT(files, testing::Contains("model.ckpt-14.index"));
  EXPECT_EQ(std::count_if(files.begin(), files.end(),
                          [](const std::string& file) {
                            return absl::EndsWith(file, ".index");
                          }),
            5);
}

// The checkpoint state file was lost, or is not visible. Training must not
// start over, because it would overwrite and delete the checkpoints.
TEST_F(MonitoredSessionTest, CheckpointsWithoutAStateFileAreNotOverwritten) {
  const auto run_to = [&](int64_t step) {
    auto options = Options({train::StopAtStep(step)});
    options.checkpoint_dir = "/job";
    options.save_checkpoint_steps = 2;
    return Train(std::move(options));
  };
  ASSERT_OK(run_to(11));
  ASSERT_OK(files_.DeleteFile("/job/checkpoint"));
  ASSERT_OK_AND_ASSIGN(const Lines before, files_.ListDirectory("/job"));
  const absl::Status refused = run_to(13).status();
  EXPECT_THAT(refused, StatusIs(kFailedPrecondition, "model.ckpt-11.index"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(R"('model_checkpoint_path: "model.ckpt-11"')"));
  ASSERT_OK_AND_ASSIGN(const Lines after, files_.ListDirectory("/job"));
  EXPECT_EQ(before, after);
  // Applies the remedy that the error suggests.
  ASSERT_OK(files_.WriteFileAtomically(
      "/job/checkpoint", R"(model_checkpoint_path: "model.ckpt-11")"));
  ASSERT_OK_AND_ASSIGN(const int64_t to_13, run_to(13));
  EXPECT_EQ(to_13, 13);
  EXPECT_THAT(
      logger_.lines(),
      testing::Contains("I Restoring parameters from /job/model.ckpt-11"));
}

// Checkpoints that another state file names do not prevent training, and
// neither does an unfinished first save.
TEST_F(MonitoredSessionTest, TrainingStartsBesideOtherCheckpoints) {
  const auto start = [&] {
    auto options = Options({train::StopAtStep(1)});
    options.checkpoint_dir = "/job";
    return Train(std::move(options)).status();
  };
  const auto write = [&](const std::string& name) {
    ASSERT_OK(files_.WriteFileAtomically("/job/" + name, "x"));
  };
  ASSERT_OK(files_.CreateDirectory("/job"));
  for (const std::string name : {"input.ckpt-4", "model.ckpt-0"}) {
    write(name + ".index");  // not a valid index
    write(name + ".data-00000-of-00001");
  }
  EXPECT_THAT(start(), StatusIs(kFailedPrecondition, "(2, such as"));
  ASSERT_OK(files_.WriteFileAtomically(
      "/job/checkpoint_input", R"(model_checkpoint_path: "input.ckpt-4")"));
  EXPECT_THAT(start(), StatusIs(kFailedPrecondition, "(1, such as"));
  ASSERT_OK(files_.WriteFileAtomically("/job/model.ckpt.saving",
                                       "save 1\nsaving 1 model.ckpt-0\n"));
  EXPECT_OK(start());
}

TEST_F(MonitoredSessionTest, CopyOfStateFileIsNotAnotherState) {
  const auto run_to = [&](int64_t step) {
    auto options = Options({train::StopAtStep(step)});
    options.checkpoint_dir = "/job";
    return Train(std::move(options)).status();
  };
  ASSERT_OK(run_to(2));
  ASSERT_OK_AND_ASSIGN(const std::string state,
                       files_.ReadFile("/job/checkpoint"));
  ASSERT_OK(files_.DeleteFile("/job/checkpoint"));
  // Training is rejected even if only the index files are left.
  for (const bool has_data : {true, false}) {
    for (const std::string copy :
         {"/job/checkpoint.bak", "/job/checkpoint.old", "/job/checkpoint~"}) {
      ASSERT_OK(files_.WriteFileAtomically(copy, state));
      EXPECT_THAT(run_to(3), StatusIs(kFailedPrecondition, "(2, such as"));
      ASSERT_OK(files_.DeleteFile(copy));
    }
    if (!has_data) break;
    ASSERT_OK_AND_ASSIGN(const Lines names, files_.ListDirectory("/job"));
    for (const std::string& name : names) {
      if (!absl::StrContains(name, ".data-")) continue;
      ASSERT_OK(files_.DeleteFile("/job/" + name));
    }
  }
}

TEST_F(MonitoredSessionTest, StateFileOfAnotherSaverMayHaveADot) {
  ASSERT_OK(files_.CreateDirectory("/job"));
  for (const std::string name : {"best.ckpt-4", "best.ckpt-7"}) {
    ASSERT_OK(files_.WriteFileAtomically("/job/" + name + ".index", "x"));
    ASSERT_OK(files_.WriteFileAtomically(
        "/job/" + name + ".data-00000-of-00001", "x"));
  }
  ASSERT_OK(files_.WriteFileAtomically("/job/checkpoint.best",
                                       R"(model_checkpoint_path: "best.ckpt-7"
                                all_model_checkpoint_paths: "best.ckpt-4"
                                all_model_checkpoint_paths: "best.ckpt-7")"));
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  EXPECT_OK(Train(std::move(options)));
}

// The directory contains an index file of another kind, for example of a
// dataset.
TEST_F(MonitoredSessionTest, ForeignIndexFileDoesNotPreventTraining) {
  ASSERT_OK(files_.CreateDirectory("/job"));
  ASSERT_OK(files_.WriteFileAtomically("/job/data.index", "0 17\n17 40\n"));
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  EXPECT_OK(Train(std::move(options)));
}

TEST_F(MonitoredSessionTest, RestoreWithOtherShapeNamesBothShapes) {
  const auto start = [&](const TensorShape& shape) {
    const Scope root = Scope::Root();
    train::GetOrCreateGlobalStep(root);
    ops::Variable(root.WithName("layer/weights"), Tensor(DT_FLOAT, shape));
    auto options = Options();
    options.checkpoint_dir = "/job";
    return MonitoredTrainingSession(root, std::move(options)).status();
  };
  ASSERT_OK(start({2, 3}));
  const absl::Status status = start({3, 2});
  EXPECT_THAT(status, StatusIs(kInvalidArgument));
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("layer/weights"), HasSubstr("[2,3]"),
                     HasSubstr("[3,2]"), HasSubstr("/job/model.ckpt-0")));
}

TEST_F(MonitoredSessionTest, RestoreWithOtherTypeNamesBothTypes) {
  const auto start = [&](DataType type) {
    const Scope root = Scope::Root();
    train::GetOrCreateGlobalStep(root);
    ops::Variable(root.WithName("layer/weights"), Tensor(type, {2}));
    auto options = Options();
    options.checkpoint_dir = "/job";
    return MonitoredTrainingSession(root, std::move(options)).status();
  };
  ASSERT_OK(start(DT_FLOAT));
  const absl::Status status = start(DT_DOUBLE);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("layer/weights"), HasSubstr("float"),
                     HasSubstr("double"), HasSubstr("/job/model.ckpt-0")));
}

// If the graph of a chief differs from the checkpoint, the error names the
// variable.
TEST_F(MonitoredSessionTest, RestoreOfOtherModelNamesTheVariable) {
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  ASSERT_OK(Train(std::move(options)));
  const Scope other = Scope::Root();
  train::GetOrCreateGlobalStep(other);
  ops::Variable(other.WithName("layer/weights"), Tensor(DT_FLOAT, {2, 3}));
  auto again = Options();
  again.checkpoint_dir = "/job";
  const absl::Status status =
      MonitoredTrainingSession(other, std::move(again)).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("layer/weights"), HasSubstr("/job/model.ckpt-1"),
                     HasSubstr("of another model")));
}

TEST_F(MonitoredSessionTest, MovedDirectoryResumesOrNamesMissingFile) {
  const auto run_to = [&](int64_t step, const std::string& directory) {
    auto options = Options({train::StopAtStep(step)});
    options.checkpoint_dir = directory;
    return Train(std::move(options));
  };
  ASSERT_OK(run_to(2, "/job"));
  ASSERT_OK(files_.CreateDirectories("/moved"));
  ASSERT_OK_AND_ASSIGN(const Lines files, files_.ListDirectory("/job"));
  for (const std::string& name : files) {
    ASSERT_OK(files_.RenameFile("/job/" + name, "/moved/" + name));
  }
  ASSERT_OK_AND_ASSIGN(const int64_t step, run_to(3, "/moved"));
  EXPECT_EQ(step, 3);
  EXPECT_THAT(
      logger_.lines(),
      testing::Contains("I Restoring parameters from /moved/model.ckpt-2"));
  // The directory contains only the checkpoint state file.
  ASSERT_OK(files_.CreateDirectories("/state"));
  ASSERT_OK(files_.RenameFile("/moved/checkpoint", "/state/checkpoint"));
  ASSERT_OK(files_.DeleteFile("/moved/model.ckpt-3.index"));
  const absl::Status status = run_to(4, "/state").status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kNotFound,
                       "/state/checkpoint names the checkpoint "
                       "/moved/model.ckpt-3, which does not exist, and neither "
                       "does /state/model.ckpt-3"));
  EXPECT_FALSE(absl::StrContains(status.message(), "of another model"));
}

TEST_F(MonitoredSessionTest, NoCheckpointIsSavedWithoutDirectory) {
  ASSERT_OK(Train(Options({train::StopAtStep(3)})));
  EXPECT_FALSE(files_.FileExists("/job").ok());
}

// ---- Event files ----

TEST_F(MonitoredSessionTest, SummariesGraphAndCheckpointsAreWritten) {
  ops::ScalarSummary(root_, "loss", ops::Const(root_, 3.0f));
  auto options = Options({train::StopAtStep(5)});
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 4;
  options.save_summaries_steps = 2;
  options.log_step_count_steps = 3;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_THAT(EventsIn(files_, "/job"),
              testing::UnorderedElementsAre(
                  "graph", "meta graph", "/job/model.ckpt at 0", "start at 1",
                  "loss at 1", "loss at 3", "/job/model.ckpt at 4",
                  "global_step/sec at 4", "loss at 5", "/job/model.ckpt at 5"));
}

TEST_F(MonitoredSessionTest, LogStepCountSecsReplacesSteps) {
  const auto rates_with = [this](double secs, const std::string& folder) {
    auto options = Options({train::StopAtStep(4)});
    options.checkpoint_dir = folder;
    options.log_step_count_steps = 1;
    options.log_step_count_secs = secs;
    EXPECT_OK(Train(std::move(options)));
    Lines rates = EventsIn(files_, folder);
    std::erase_if(rates, [](const std::string& line) {
      return !absl::StartsWith(line, "global_step/sec");
    });
    return rates;
  };
  EXPECT_THAT(rates_with(3600, "/hourly"), testing::IsEmpty());
  EXPECT_THAT(rates_with(0, "/never"), testing::IsEmpty());
  EXPECT_THAT(rates_with(1e-9, "/always"),
              ElementsAre("global_step/sec at 2", "global_step/sec at 3",
                          "global_step/sec at 4"));
}

TEST_F(MonitoredSessionTest, LargeEventFileIsRotated) {
  const auto num_files = [this](uint64_t max_bytes) {
    auto options = Options({train::StopAtStep(5)});
    options.summary_dir = absl::StrCat("/logs", max_bytes);
    options.log_step_count_steps = 1;
    options.max_event_file_bytes = max_bytes;
    EXPECT_OK(Train(options));
    return files_.ListDirectory(options.summary_dir).value_or(Lines()).size();
  };
  EXPECT_EQ(num_files(0), 1u);
  EXPECT_GT(num_files(1), 1u);
}

// The event with the graph was lost with the file of an earlier session. A
// later session writes it again.
TEST_F(MonitoredSessionTest, LostGraphEventIsRewritten) {
  FailingFileSystem disk(files_);
  Process process(InMemory(disk));
  SessionOptions config;
  config.process = &process;
  ASSERT_OK_AND_ASSIGN(const train::MetaGraph meta_graph,
                       train::ExportMetaGraph(root_, {}));
  train::SessionSummaryWriter writer("/logs", &logger_);
  const auto events_of_a_session = [&](bool disk_is_full) {
    train::Coordinator coordinator;
    const auto session = Session::Connect("", root_, config);
    EXPECT_OK(session);
    EXPECT_OK(writer.Open(**session, coordinator));
    if (disk_is_full) disk.LimitSpace(0);
    writer.AddGraphOnce(ExportGraphDef(root_.graph()).value(),
                        meta_graph.Serialize());
    writer.Close();
    disk.Heal();
    return EventsIn(files_, "/logs");
  };
  EXPECT_THAT(events_of_a_session(true), ElementsAre());
  EXPECT_THAT(events_of_a_session(false), ElementsAre("graph", "meta graph"));
  EXPECT_THAT(events_of_a_session(false), ElementsAre("graph", "meta graph"));
}

TEST_F(MonitoredSessionTest, GraphTextIsWrittenBesideCheckpoints) {
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  ASSERT_OK(Train(std::move(options)));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       files_.ReadFile("/job/graph.pbtxt"));
  Graph read(root_.graph().registry());
  ASSERT_OK(ImportGraphDefText(text, read));
  EXPECT_NE(read.FindNode("global_step"), nullptr);
  EXPECT_NE(read.FindNode("save/restore_all"), nullptr)
      << "as it is when it is complete";
}

TEST_F(MonitoredSessionTest, SummariesMayHaveTheirOwnDirectory) {
  ops::ScalarSummary(root_, "loss", ops::Const(root_, 3.0f));
  auto options = Options({train::StopAtStep(2)});
  options.summary_dir = "/logs";
  options.save_summaries_steps = 1;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_THAT(EventsIn(files_, "/logs"),
              ElementsAre("start at 1", "loss at 1", "loss at 2"));
}

// Like TensorFlow's CheckpointSaverHook, writes events about saves to the
// checkpoint directory, even if summaries have another directory.
TEST_F(MonitoredSessionTest, SaveEventsAreWrittenBesideCheckpoints) {
  ops::ScalarSummary(root_, "loss", ops::Const(root_, 3.0f));
  auto options = Options({train::StopAtStep(1)});
  options.summary_dir = "/logs";
  options.checkpoint_dir = "/job";
  options.save_summaries_steps = 1;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_THAT(EventsIn(files_, "/logs"),
              ElementsAre("start at 1", "loss at 1"));
  EXPECT_THAT(EventsIn(files_, "/job"),

              testing::UnorderedElementsAre("graph", "meta graph",
                                            "/job/model.ckpt at 0",
                                            "/job/model.ckpt at 1"));
}

// ---- Traces ----

TEST_F(MonitoredSessionTest, ProfilerTracesRunsPeriodically) {
  RecordingLogger log;
  auto profiler = std::make_shared<train::ProfilerHook>(train::ProfilerOptions{
      .save_steps = 2, .output_dir = "/job/profile", .logger = &log});
  ASSERT_OK(Train(Options({train::StopAtStep(5), profiler})));
  EXPECT_THAT(EventsIn(files_, "/job/profile"),
              ElementsAre("step_2 at 2: 1 devices", "step_4 at 4: 1 devices"));
  ASSERT_OK_AND_ASSIGN(const std::string timeline,
                       files_.ReadFile("/job/profile/timeline-4.json"));
  EXPECT_THAT(timeline, HasSubstr("AssignAdd"));
  EXPECT_THAT(
      log.lines(),
      ElementsAre(
          "I Saving timeline for 2 into '/job/profile/timeline-2.json'.",
          "I Saving timeline for 4 into '/job/profile/timeline-4.json'."));
}

// The profiler appends to the existing event file, because TensorBoard would
// only read the newer of two files.
TEST_F(MonitoredSessionTest, ProfilerWritesIntoTheSummaryFile) {
  const auto new_profiler = [](const std::string& directory) {
    return std::make_shared<train::ProfilerHook>(
        train::ProfilerOptions{.save_steps = 2, .output_dir = directory});
  };
  auto options = Options({train::StopAtStep(3), new_profiler("/job/")});
  options.chief_only_hooks = {new_profiler("/summaries"),
                              new_profiler("/elsewhere")};
  options.checkpoint_dir = "/job";
  options.summary_dir = "/summaries";
  ASSERT_OK(Train(std::move(options)));
  for (const std::string directory : {"/job", "/summaries", "/elsewhere"}) {
    ASSERT_OK_AND_ASSIGN(const auto names, files_.ListDirectory(directory));
    EXPECT_EQ(absl::c_count_if(names,
                               [](const std::string& name) {
                                 return absl::StartsWith(name, "events.out");
                               }),
              1)
        << directory;
    EXPECT_THAT(EventsIn(files_, directory),
                testing::Contains("step_2 at 2: 1 devices"));
  }
}

TEST_F(MonitoredSessionTest, ProfilerWriteErrorIsLogged) {
  ASSERT_OK(
      files_.CreateDirectories("/job/profile/timeline-2.json/in the way"));
  RecordingLogger log;
  auto profiler = std::make_shared<train::ProfilerHook>(train::ProfilerOptions{
      .save_steps = 2, .output_dir = "/job/profile", .logger = &log});
  ASSERT_OK(Train(Options({train::StopAtStep(2), profiler})));
  EXPECT_THAT(log.lines(), testing::Contains(testing::StartsWith(
                               "W The trace of step 2 was not written: ")));
}

TEST_F(MonitoredSessionTest, ProfilerOptionsAreChecked) {
  for (const train::ProfilerOptions& bad :
       {train::ProfilerOptions{.save_steps = 2},
        train::ProfilerOptions{.output_dir = "/job"},
        train::ProfilerOptions{.save_steps = 2,
        .save_secs = absl::Seconds(2),
        .output_dir = "/job"}}) {
    EXPECT_THAT(
        MonitoredTrainingSession(
            root_, Options({std::make_shared<train::ProfilerHook>(bad)})),
        StatusIs(kInvalidArgument));
  }
}

// The options of the caller and of all hooks are combined for one run, and all
// get its metadata.
TEST_F(MonitoredSessionTest, AllRequestersGetTheRunMetadata) {
  Lines lines;
  auto hook = std::make_shared<RecordingHook>("hook", lines);
  hook->args.options.trace_level = TraceLevel::kFullTrace;
  const auto session = Start(Options({hook}));
  ASSERT_NE(session, nullptr);
  RunMetadata metadata;
  ASSERT_OK(
      session->Run({}, count_, {.output_partition_graphs = true}, &metadata));
  EXPECT_EQ(metadata.partition_graphs.size(), 1u);
  EXPECT_EQ(metadata.step_stats.dev_stats.size(), 1u);
  EXPECT_EQ(hook->metadata, metadata);
}

}  // namespace
}  // namespace weft::monitored_session_tests
