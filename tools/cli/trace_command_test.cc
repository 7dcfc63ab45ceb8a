#include "tools/cli/trace_command.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/summary/event.h"
#include "libs/summary/record_writer.h"
#include "libs/trace/step_stats.h"

namespace weft::tools {
namespace {

using summary::Event;
using testing::HasSubstr;
using testing::Not;

// Returns the serialized metadata of a step that ran only `node`.
std::string MetadataOf(const std::string& node) {
  RunMetadata metadata;
  metadata.step_stats.dev_stats.push_back(
      {.device = "cpu", .node_stats = {{.node_name = node}}});
  return Serialize(metadata).value();
}

class TraceCommandTest : public testing::Test {
 protected:
  void WriteBytes(const std::string& bytes) {
    auto file = files_.NewWritableFile("f").value();
    ASSERT_OK(file->Append(bytes));
    ASSERT_OK(file->Close());
  }
  void WriteEvents(const std::vector<Event>& events, size_t cut = 0) {
    summary::RecordWriter writer(files_.NewWritableFile("f").value());
    for (const Event& event : events) {
      ASSERT_OK(writer.WriteRecord(summary::SerializeEvent(event)));
    }
    ASSERT_OK(writer.Close());
    if (cut == 0) return;
    const std::string bytes = files_.ReadFile("f").value();
    WriteBytes(bytes.substr(0, bytes.size() - cut));
  }
  absl::StatusOr<std::string> Show(const std::string& tag = "") {
    return RunTraceCommand(files_, "f", tag);
  }

  const std::vector<Event> two_runs_ = {
      {.what = summary::FileVersion{"brain.Event:2"}},
      {.step = 2,
       .what = summary::TaggedRunMetadata{"step_2", MetadataOf("early")}},
      {.step = 4,
       .what = summary::TaggedRunMetadata{"step_4", MetadataOf("late")}}};
  MemoryFileSystem files_;
};

TEST_F(TraceCommandTest, DirectoryUsesItsNewestEventFile) {
  ASSERT_OK(files_.CreateDirectories("/job/empty"));
  for (const char* name : {"events.out.tfevents.1700000001.a",
                           "events.out.tfevents.1700000002.a", "graph.pbtxt"}) {
    ASSERT_OK(files_.WriteFileAtomically(absl::StrCat("/job/", name), ""));
  }
  for (const char* path : {"/job", "/job/"}) {
    EXPECT_THAT(
        RunTraceCommand(files_, path, ""),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 "it is a directory; give one of its event files. The newest "
                 "is /job/events.out.tfevents.1700000002.a"));
  }
  EXPECT_THAT(RunTraceCommand(files_, "/job/empty", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "it is a directory, and has no event files"));
}

TEST_F(TraceCommandTest, RunMetadataIsConverted) {
  WriteBytes(MetadataOf("node"));
  ASSERT_OK_AND_ASSIGN(const std::string trace, Show());
  EXPECT_THAT(trace, testing::StartsWith("{\"traceEvents\""));
  EXPECT_THAT(trace, HasSubstr("\"node\""));
  EXPECT_THAT(Show("step_2"),
              StatusIs(kInvalid, "f: the file is not an event file"));
}

TEST_F(TraceCommandTest, EventFileUsesLastOrTaggedRun) {
  WriteEvents(two_runs_);
  ASSERT_OK_AND_ASSIGN(const std::string last, Show());
  EXPECT_THAT(last, HasSubstr("\"late\""));
  EXPECT_THAT(last, Not(HasSubstr("\"early\"")));
  ASSERT_OK_AND_ASSIGN(const std::string first, Show("step_2"));
  EXPECT_THAT(first, HasSubstr("\"early\""));
  EXPECT_THAT(Show("step_3"), StatusIs(absl::StatusCode::kNotFound,
                                       "f: no run has the tag step_3; there "
                                       "are step_2, step_4"));
}

TEST_F(TraceCommandTest, EventsBeforeCorruptionAreShown) {
  WriteEvents(two_runs_, /*cut=*/1);
  ASSERT_OK_AND_ASSIGN(const std::string first, Show());
  EXPECT_THAT(first, HasSubstr("\"early\""));
  EXPECT_FALSE(Show("step_4").ok());
}

TEST_F(TraceCommandTest, FileWithoutTraceIsExplained) {
  WriteBytes("");
  EXPECT_THAT(Show(), StatusIs(absl::StatusCode::kNotFound, "not traced"));
  WriteBytes("no metadata");
  EXPECT_THAT(Show(),
              StatusIs(kInvalid, "f: the 11 bytes are not a RunMetadata"));
  WriteEvents({two_runs_[0]});
  EXPECT_THAT(Show(), StatusIs(absl::StatusCode::kNotFound, "ProfilerHook"));
  EXPECT_THAT(RunTraceCommand(files_, "none", ""),
              StatusIs(absl::StatusCode::kNotFound, "none"));
}

}  // namespace
}  // namespace weft::tools
