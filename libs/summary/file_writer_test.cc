#include "libs/summary/file_writer.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/paced_file_system.h"
#include "libs/fs/path.h"

namespace weft::summary {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kDirectory[] = "/logs/run";

Summary Scalar(absl::string_view tag, float value) {
  Summary summary;
  summary.value.push_back({.tag = std::string(tag), .value = value});
  return summary;
}

Summary Text(absl::string_view tag) {
  Summary summary;
  summary.value.push_back({.tag = std::string(tag),
                           .value = Tensor::Scalar<std::string>("text"),
                           .metadata = SummaryMetadata{.plugin_name = "text"}});
  return summary;
}

class FileWriterTest : public testing::Test {
 protected:
  explicit FileWriterTest(uint64_t seed = 1)
      : scheduler_(clock_, {.seed = seed}) {}

  absl::StatusOr<std::unique_ptr<FileWriter>> New(
      FileWriterOptions options = {}) {
    return New(files_, std::move(options));
  }
  absl::StatusOr<std::unique_ptr<FileWriter>> New(
      FileSystem& files, FileWriterOptions options = {}) {
    if (options.hostname.empty()) options.hostname = "host";
    return FileWriter::Create(files, scheduler_, kDirectory,
                              std::move(options));
  }

  std::vector<std::string> Files() {
    return files_.ListDirectory(kDirectory).value();
  }
  // Returns the events that readers see in a file, without the version event.
  std::vector<Event> EventsOf(const std::string& file) {
    auto reader =
        EventsReader::Open(files_, JoinPath(kDirectory, file)).value();
    std::vector<Event> events;
    for (;;) {
      absl::StatusOr<Event> event = reader->Next();
      if (!event.ok()) break;
      events.push_back(*std::move(event));
    }
    if (!events.empty()) {
      EXPECT_NE(events[0].As<FileVersion>(), nullptr);
      events.erase(events.begin());
    }
    return events;
  }
  std::vector<Event> Events() {
    std::vector<Event> all;
    for (const std::string& file : Files()) {
      for (Event& event : EventsOf(file)) all.push_back(std::move(event));
    }
    return all;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_;
  MemoryFileSystem files_;
};

// ---- Files ----

TEST_F(FileWriterTest, FileBeginsWithVersionEvent) {
  clock_.Advance(absl::Milliseconds(1500));
  ASSERT_OK_AND_ASSIGN(auto writer, New({.filename_suffix = ".suffix"}));
  EXPECT_EQ(writer->logdir(), kDirectory);
  ASSERT_THAT(Files(),
              ElementsAre("events.out.tfevents.0000086401.host.suffix"));
  ASSERT_OK_AND_ASSIGN(
      auto reader,
      EventsReader::Open(files_, JoinPath(kDirectory, Files()[0])));
  ASSERT_OK_AND_ASSIGN(const Event event, reader->Next());
  ASSERT_NE(event.As<FileVersion>(), nullptr);
  EXPECT_EQ(event.As<FileVersion>()->version, "brain.Event:2");
  EXPECT_EQ(event.wall_time, 86401.5);
  EXPECT_EQ(event.step, 0);
}

// TensorBoard shows events together with the events of other programs, and
// finds new files by their names. So times and names must use the time of day.
TEST(FileWriterTimeTest, FilesAndEventsUseWallClock) {
  class ClockOfBefore : public ManualClock {
   public:
    absl::Time WallTime() const override { return Now() + absl::Hours(1); }
  } clock;
  SimulatedScheduler scheduler(clock);
  MemoryFileSystem files;
  ASSERT_OK_AND_ASSIGN(
      auto writer,
      FileWriter::Create(files, scheduler, kDirectory, {.hostname = "host"}));
  ASSERT_OK(writer->AddSummary(Scalar("a", 1), 1));
  ASSERT_OK(writer->Flush());
  const std::string name = "events.out.tfevents.0000090000.host";
  EXPECT_THAT(files.ListDirectory(kDirectory).value(), ElementsAre(name));
  ASSERT_OK_AND_ASSIGN(auto reader,
                       EventsReader::Open(files, JoinPath(kDirectory, name)));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const Event event, reader->Next());
    EXPECT_EQ(event.wall_time, 90000);
  }
}

TEST_F(FileWriterTest, HostNameIsNotEmpty) {
  ASSERT_OK_AND_ASSIGN(auto writer,
                       FileWriter::Create(files_, scheduler_, kDirectory));
  EXPECT_GT(Files()[0].size(), strlen("events.out.tfevents.0000086400."));
}

TEST_F(FileWriterTest, InvalidFileNamesAreRejected) {
  EXPECT_THAT(FileWriter::Create(files_, scheduler_, ""), StatusIs(kInvalid));
  EXPECT_THAT(New({.filename_suffix = "a/b"}), StatusIs(kInvalid, "\"a/b\""));
  EXPECT_THAT(New({.hostname = "a/b"}), StatusIs(kInvalid, "\"a/b\""));
  EXPECT_THAT(New({.max_queue = -1}), StatusIs(kInvalid, "max_queue"));
  ASSERT_OK(files_.WriteFileAtomically("/logs", "no directory"));
  EXPECT_THAT(New(), StatusIs(absl::StatusCode::kAlreadyExists, "/logs"));
}

TEST_F(FileWriterTest, ExistingFileIsNotOverwritten) {
  ASSERT_OK_AND_ASSIGN(auto first, New());
  ASSERT_OK_AND_ASSIGN(auto second, New());
  ASSERT_OK(first->AddSummary(Scalar("a", 1), 1));
  ASSERT_OK(second->AddSummary(Scalar("b", 2), 2));
  ASSERT_OK(first->Close());
  ASSERT_OK(second->Close());
  ASSERT_THAT(Files(), ElementsAre("events.out.tfevents.0000086400.host",
                                   "events.out.tfevents.0000086401.host"));
  EXPECT_EQ(EventsOf(Files()[0])[0].step, 1);
  EXPECT_EQ(EventsOf(Files()[1])[0].step, 2);
}

// TensorBoard proceeds only to files with later names, whatever program wrote
// them.
TEST_F(FileWriterTest, NewWriterFileSortsAfterExistingFiles) {
  ASSERT_OK(files_.CreateDirectories(kDirectory));
  for (const std::string name :
       {"events.out.tfevents.0000090000.other", "events.out.tfevents.x.host",
        "events.out.tfevents", "graph.pbtxt"}) {
    ASSERT_OK(files_.WriteFileAtomically(JoinPath(kDirectory, name), ""));
  }
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  ASSERT_OK(writer->AddSummary(Scalar("a", 1), 1));
  ASSERT_OK(writer->Close());
  const std::string file = "events.out.tfevents.0000090001.host";
  EXPECT_THAT(Files(), testing::Contains(file));
  EXPECT_EQ(EventsOf(file).size(), 1u);
}

TEST_F(FileWriterTest, LargeFileIsRotated) {
  ASSERT_OK_AND_ASSIGN(auto writer, New({.max_file_bytes = 200}));
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(writer->AddSummary(Scalar(std::string(100, 't'), 1), i));
  }
  ASSERT_OK(writer->Close());
  const std::vector<std::string> files = Files();
  EXPECT_THAT(files, SizeIs(10));
  std::vector<int64_t> steps;
  for (const Event& event : Events()) steps.push_back(event.step);
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

// ---- Events ----

TEST_F(FileWriterTest, AllKindsOfEventsAreWritten) {
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  clock_.Advance(absl::Seconds(5));
  ASSERT_OK(writer->AddGraph("graph"));
  ASSERT_OK(writer->AddMetaGraph("meta graph", 1));
  ASSERT_OK(writer->AddSessionLog(
      {.status = SessionLog::Status::kCheckpoint, .checkpoint_path = "model-2"},
      2));
  ASSERT_OK(writer->AddRunMetadata("metadata", "step3", 3));
  ASSERT_OK(writer->AddSummary(SerializeSummary(Scalar("loss", 0.5f)), 4));
  ASSERT_OK(writer->AddEvent({.wall_time = 7, .step = 5}));
  ASSERT_OK(writer->Close());
  const std::vector<Event> events = Events();
  ASSERT_THAT(events, SizeIs(6));
  EXPECT_EQ(events[0].As<GraphDefBytes>()->bytes, "graph");
  EXPECT_EQ(events[1].As<MetaGraphDefBytes>()->bytes, "meta graph");
  EXPECT_EQ(events[2].As<SessionLog>()->checkpoint_path, "model-2");
  EXPECT_EQ(events[2].As<SessionLog>()->status,
            SessionLog::Status::kCheckpoint);
  EXPECT_EQ(events[3].As<TaggedRunMetadata>()->tag, "step3");
  EXPECT_EQ(events[3].As<TaggedRunMetadata>()->run_metadata, "metadata");
  EXPECT_EQ(events[4].As<Summary>()->value[0].tag, "loss");
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(events[i].step, i);
    EXPECT_EQ(events[i].wall_time, i < 5 ? 86405 : 7);
  }
}

// For each string that is not UTF-8, protobuf would log an error, and
// TensorBoard would not read the event.
TEST_F(FileWriterTest, NamesThatAreNotUtf8AreEscaped) {
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  ASSERT_OK(writer->AddSessionLog({.status = SessionLog::Status::kCheckpoint,
                                   .checkpoint_path = "/job/\xff-2"},
                                  2));
  ASSERT_OK(writer->AddRunMetadata("metadata", "step\xfe", 3));
  ASSERT_OK(writer->AddSummary(Scalar("\xfd", 1), 4));
  ASSERT_OK(writer->AddSummary(Scalar("Gr\xc3\xbc\xc3\x9f"
                                      "e",
                                      1),
                               5));
  ASSERT_OK(writer->Close());
  const std::vector<Event> events = Events();
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_EQ(events[0].As<SessionLog>()->checkpoint_path, R"(/job/\xff-2)");
  EXPECT_EQ(events[1].As<TaggedRunMetadata>()->tag, R"(step\xfe)");
  EXPECT_EQ(events[2].As<Summary>()->value[0].tag, R"(\xfd)");
  EXPECT_EQ(events[3].As<Summary>()->value[0].tag,
            "Gr\xc3\xbc\xc3\x9f"
            "e");
}

TEST_F(FileWriterTest, SummaryMetadataIsWrittenOnce) {
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  Summary both = Text("a");
  both.value.push_back(Text("a").value[0]);
  ASSERT_OK(writer->AddSummary(both, 1));
  ASSERT_OK(writer->AddSummary(Text("a"), 2));
  ASSERT_OK(writer->AddSummary(Text("b"), 3));
  ASSERT_OK(writer->Close());
  const std::vector<Event> events = Events();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_TRUE(events[0].As<Summary>()->value[0].metadata.has_value());
  EXPECT_FALSE(events[0].As<Summary>()->value[1].metadata.has_value());
  EXPECT_FALSE(events[1].As<Summary>()->value[0].metadata.has_value());
  EXPECT_TRUE(events[2].As<Summary>()->value[0].metadata.has_value());
}

TEST_F(FileWriterTest, InvalidEventsAreRejected) {
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  EXPECT_THAT(writer->AddSummary("\xff", 7),
              StatusIs(kInvalid, "the summary of step 7 is not a Summary"));
  ASSERT_OK(writer->AddRunMetadata("x", "tag", 1));
  EXPECT_THAT(writer->AddRunMetadata("x", "tag", 2),
              StatusIs(kInvalid, "already used for this event type: tag"));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Events(), SizeIs(1));
}

// ---- When they are written ----

TEST_F(FileWriterTest, EventsAreWrittenWhenQueueIsFull) {
  ASSERT_OK_AND_ASSIGN(auto writer, New({.max_queue = 3}));
  for (int i = 0; i < 3; ++i) ASSERT_OK(writer->AddSummary(Scalar("a", 1), i));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(Events(), IsEmpty());
  ASSERT_OK(writer->AddSummary(Scalar("a", 1), 3));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(Events(), SizeIs(4));
}

TEST_F(FileWriterTest, EventsAreFlushedPeriodically) {
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  for (int round = 1; round <= 3; ++round) {
    ASSERT_OK(writer->AddSummary(Scalar("a", 1), 1));
    scheduler_.AdvanceBy(absl::Seconds(119));
    EXPECT_THAT(Events(), SizeIs(round - 1));
    scheduler_.AdvanceBy(absl::Seconds(1));
    EXPECT_THAT(Events(), SizeIs(round));
  }
}

TEST_F(FileWriterTest, FlushAndDestructorWriteAllEvents) {
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  ASSERT_OK(writer->AddSummary(Scalar("a", 1), 1));
  ASSERT_OK(writer->Flush());
  EXPECT_THAT(Events(), SizeIs(1));
  ASSERT_OK(writer->AddSummary(Scalar("a", 1), 2));
  writer = nullptr;
  EXPECT_THAT(Events(), SizeIs(2));
}

TEST_F(FileWriterTest, ClosedWriterRejectsEventsUntilReopened) {
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  ASSERT_OK(writer->AddSummary(Scalar("a", 1), 1));
  ASSERT_OK(writer->Close());
  EXPECT_OK(writer->Close());
  EXPECT_OK(writer->Flush());
  EXPECT_THAT(writer->AddSummary(Scalar("a", 1), 2),
              StatusIs(absl::StatusCode::kFailedPrecondition, kDirectory));
  EXPECT_THAT(Files(), SizeIs(1));
  writer->Reopen();
  ASSERT_OK(writer->AddSummary(Scalar("a", 1), 3));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Files(), SizeIs(2));
  EXPECT_EQ(EventsOf(Files()[1])[0].step, 3);
}

// ---- Slow files ----

TEST_F(FileWriterTest, SlowDiskDoesNotBlockCallers) {
  PacedFileSystem slow(files_,
                       {.max_bytes_per_second = 1, .scheduler = &scheduler_});
  ASSERT_OK_AND_ASSIGN(auto writer,
                       New(slow, {.max_queue = 0, .max_pending_bytes = 1000}));
  const absl::Time begin = clock_.Now();
  int added = 0;
  absl::Status status;
  while ((status = writer->AddSummary(Scalar("a", 1), added)).ok()) ++added;
  EXPECT_EQ(clock_.Now(), begin);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "wait already to be written to /logs/run"));
  EXPECT_GT(added, 20);
  EXPECT_LT(added, 60);
  // After the accepted events are written, new events are accepted again.
  EXPECT_THAT(writer->Flush(absl::Seconds(1)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "/logs/run"));
  ASSERT_OK(writer->Flush(absl::Hours(10)));
  EXPECT_THAT(Events(), SizeIs(added));
  EXPECT_OK(writer->AddSummary(Scalar("a", 1), added));
}

TEST_F(FileWriterTest, EventAboveBoundIsWrittenAlone) {
  ASSERT_OK_AND_ASSIGN(auto writer, New({.max_pending_bytes = 100}));
  ASSERT_OK(writer->AddGraph(std::string(1000, 'g')));
  EXPECT_THAT(writer->AddGraph("g"),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_OK(writer->Flush());
  EXPECT_OK(writer->AddGraph("g"));
}

// ---- Failing files ----

TEST_F(FileWriterTest, ErrorIsReturnedOnceAndNextFileStarts) {
  FailingFileSystem failing(files_);
  ASSERT_OK_AND_ASSIGN(auto writer, New(failing));
  ASSERT_OK(writer->AddSummary(Text("a"), 1));
  ASSERT_OK(writer->Flush());
  failing.FailAllFrom(0, absl::UnavailableError("the disk is away"));
  ASSERT_OK(writer->AddSummary(Text("a"), 2));
  ASSERT_OK(writer->AddSummary(Text("a"), 3));
  scheduler_.AdvanceBy(absl::Seconds(120));
  EXPECT_THAT(writer->Flush(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "the disk is away (2 events may be lost)"));
  EXPECT_OK(writer->Flush());
  // The directory is still unavailable, so a new file cannot be created.
  ASSERT_OK(writer->AddSummary(Text("a"), 4));
  EXPECT_THAT(writer->Flush(),
              StatusIs(absl::StatusCode::kUnavailable, "(1 events"));
  failing.Heal();
  ASSERT_OK(writer->AddSummary(Text("a"), 5));
  ASSERT_OK(writer->Close());
  ASSERT_THAT(Files(), SizeIs(2));
  const std::vector<Event> events = EventsOf(Files()[1]);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].step, 5);
  // The lost events may have contained the metadata of the tag, so it is
  // written again.
  EXPECT_TRUE(events[0].As<Summary>()->value[0].metadata.has_value());
}

TEST_F(FileWriterTest, DeletedFileIsReplacedByNewFile) {
  ASSERT_OK_AND_ASSIGN(auto writer, New());
  ASSERT_OK(writer->AddSummary(Text("a"), 1));
  ASSERT_OK(writer->Flush());
  ASSERT_OK(files_.DeleteRecursively(kDirectory));
  ASSERT_OK(writer->AddSummary(Text("a"), 2));
  EXPECT_THAT(writer->Flush(),
              StatusIs(absl::StatusCode::kNotFound, "was deleted"));
  ASSERT_OK(writer->AddSummary(Text("a"), 3));
  ASSERT_OK(writer->Close());
  ASSERT_THAT(Files(), SizeIs(1));
  const std::vector<Event> events = EventsOf(Files()[0]);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].step, 2);
  EXPECT_EQ(events[1].step, 3);
}

// Events that are in the buffer of a deleted file are counted as lost.
TEST_F(FileWriterTest, EventsOfDeletedFileAreCountedAsLost) {
  FileWriterOptions options;
  options.max_queue = 0;
  ASSERT_OK_AND_ASSIGN(auto writer, New(options));
  ASSERT_OK(writer->AddSummary(Text("a"), 1));
  scheduler_.RunUntilIdle();
  ASSERT_OK(files_.DeleteRecursively(kDirectory));
  EXPECT_THAT(writer->Flush(),
              StatusIs(absl::StatusCode::kNotFound, "(1 events may be lost)"));
  ASSERT_OK(writer->AddSummary(Text("a"), 2));
  ASSERT_OK(writer->Close());
  const std::vector<Event> events = EventsOf(Files()[0]);
  ASSERT_THAT(events, SizeIs(1));
  // The lost events may have contained the metadata of the tag, so it is
  // written again.
  EXPECT_TRUE(events[0].As<Summary>()->value[0].metadata.has_value());
}

TEST_F(FileWriterTest, FullDiskDoesNotFillWithEmptyFiles) {
  FailingFileSystem disk(files_);
  ASSERT_OK_AND_ASSIGN(auto writer, New(disk));
  ASSERT_OK(writer->AddSummary(Text("a"), 1));
  ASSERT_OK(writer->Flush());
  disk.LimitSpace(0);
  for (int step = 2; step < 10; ++step) {
    ASSERT_OK(writer->AddSummary(Text("a"), step));
    EXPECT_THAT(writer->Flush(),
                StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_THAT(Files(), SizeIs(1));
  }
  EXPECT_THAT(New(disk), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Files(), SizeIs(1));
  disk.Heal();
  ASSERT_OK(writer->AddSummary(Text("a"), 10));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Files(), SizeIs(2));
}

TEST_F(FileWriterTest, TakeErrorDoesNotBlock) {
  FailingFileSystem failing(files_);
  ASSERT_OK_AND_ASSIGN(auto writer, New(failing));
  ASSERT_OK(writer->AddSummary(Text("a"), 1));
  EXPECT_OK(writer->TakeError());
  failing.FailAllFrom(0, absl::UnavailableError("the disk is away"));
  scheduler_.AdvanceBy(absl::Seconds(120));
  EXPECT_THAT(writer->TakeError(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "the disk is away (1 events may be lost)"));
  EXPECT_OK(writer->TakeError());
  EXPECT_OK(writer->Flush());
}

// Each file operation fails once. Either all events can be read afterwards, or
// an error was returned.
TEST_F(FileWriterTest, NoFileErrorIsLost) {
  for (int64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    ASSERT_OK(files_.CreateDirectories(kDirectory));
    ASSERT_OK(files_.DeleteRecursively(kDirectory));
    FailingFileSystem failing(files_);
    failing.FailOperation(n, absl::ResourceExhaustedError("disk full"));
    auto writer = New(failing, {.max_queue = 1, .max_file_bytes = 150});
    if (!writer.ok()) {
      EXPECT_THAT(writer, StatusIs(absl::StatusCode::kResourceExhausted));
      continue;
    }
    int errors = 0;
    for (int step = 0; step < 12; ++step) {
      ASSERT_OK((*writer)->AddSummary(Scalar("tag", 1), step));
      if (step % 5 == 4) errors += !(*writer)->Flush().ok();
    }
    errors += !(*writer)->Close().ok();
    EXPECT_LE(errors, 1);
    if (errors == 0) {
      EXPECT_THAT(Events(), SizeIs(12));
    }
    if (failing.num_operations() <= n) {
      EXPECT_EQ(errors, 0);
      break;
    }
  }
}

// ---- Many threads ----

class FileWriterScheduleTest : public FileWriterTest,
                               public testing::WithParamInterface<int> {
 protected:
  FileWriterScheduleTest()
      : FileWriterTest(static_cast<uint64_t>(GetParam())) {}
};

TEST_P(FileWriterScheduleTest, EventsOfEachThreadStayInOrder) {
  constexpr int kThreads = 4;
  constexpr int kEvents = 25;
  ASSERT_OK_AND_ASSIGN(auto writer,
                       New({.max_queue = 2, .max_file_bytes = 500}));
  std::vector<std::unique_ptr<weft::Event>> done;
  for (int i = 0; i < kThreads; ++i) {
    weft::Event* event = done.emplace_back(scheduler_.NewEvent()).get();
    scheduler_.Schedule(Pool::kBlocking, [&, i, event] {
      for (int step = 0; step < kEvents; ++step) {
        EXPECT_OK(writer->AddSummary(Text(absl::StrCat("t", i)), step));
        if (step % 10 != i) continue;
        EXPECT_OK(writer->Flush());
      }
      event->Set();
    });
  }
  for (const auto& event : done) event->Wait();
  ASSERT_OK(writer->Close());
  std::map<std::string, int64_t> next;
  for (const Event& event : Events()) {
    const SummaryValue& value = event.As<Summary>()->value[0];
    EXPECT_EQ(value.metadata.has_value(), next.count(value.tag) == 0);
    EXPECT_EQ(event.step, next[value.tag]++) << value.tag;
  }
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(next[absl::StrCat("t", i)], kEvents);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FileWriterScheduleTest, testing::Range(0, 50));

}  // namespace
}  // namespace weft::summary
