#include "tools/conformance/events_check.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/path.h"

namespace weft::conformance {
namespace {

constexpr char kEvents[] =
    "integration_tests/testdata/conformance/events/event_file";

constexpr absl::StatusCode kUnknown = absl::StatusCode::kUnknown;

class EventsCheckTest : public testing::Test {
 protected:
  EventsCheckTest() { case_.directory = "case"; }

  void Put(absl::string_view name, absl::string_view contents) {
    ASSERT_OK(fs_.CreateDirectories("case"));
    ASSERT_OK(fs_.WriteFileAtomically(JoinPath("case", name), contents));
  }

  MemoryFileSystem fs_;
  Case case_;
};

TEST_F(EventsCheckTest, EachDifferenceIsReported) {
  LocalFileSystem local;
  const std::string json =
      local.ReadFile(JoinPath(kEvents, "case.json")).value();
  Put("events.out", local.ReadFile(JoinPath(kEvents, "events.out")).value());
  Put("case.json", json);
  ASSERT_OK(CheckEvents(case_, fs_));
  for (const auto& [before, after] :
       {std::pair<std::string, std::string>{"brain.Event:2", "brain.Event:3"},
        {"-2.6720033", "-2.6720035"},
        {"1.5827523469924927", "1.582752346992493"},
        {"\"bytes\": 1593", "\"bytes\": 1596"},
        {"iVBORw0KGgo", "iVBORw0KGgp"},
        {"c29tZSAqdGV4dCo=", "c29tZSAqdGV4dCp="},
        {"\"text\"", "\"test\""},
        {"step10", "step11"},
        {"\"START\"", "\"STOP\""},
        {"model.ckpt-20", "model.ckpt-21"},
        {"1795251620.9035358", "1795251620.903536"},
        {"events_writer\"", "writer\""}}) {
    std::string changed = json;
    const size_t at = changed.find(before);
    ASSERT_NE(at, std::string::npos) << before;
    changed.replace(at, before.size(), after);
    Put("case.json", changed);
    EXPECT_THAT(CheckEvents(case_, fs_), StatusIs(kUnknown, ", expected "))
        << before;
  }
}

TEST_F(EventsCheckTest, MissingAndExtraEventsAreReported) {
  LocalFileSystem local;
  const std::string file =
      local.ReadFile(JoinPath(kEvents, "events.out")).value();
  Put("case.json", R"({"file": "events.out", "events": [{}]})");
  Put("events.out", "");
  EXPECT_THAT(CheckEvents(case_, fs_),
              StatusIs(kUnknown, "the file has 0 events, expected 1"));
  Put("case.json", R"({"file": "events.out", "events": []})");
  EXPECT_OK(CheckEvents(case_, fs_));
  Put("events.out", file);
  EXPECT_THAT(CheckEvents(case_, fs_), StatusIs(kUnknown, "event 0 is "));
  Put("events.out", file.substr(0, file.size() - 1));
  EXPECT_FALSE(CheckEvents(case_, fs_).ok());
  Put("case.json", "{}");
  EXPECT_THAT(CheckEvents(case_, fs_), StatusIs(kUnknown, "case.json"));
}

TEST_F(EventsCheckTest, RecordBytesMatchTensorFlow) {
  LocalFileSystem local;
  const std::string plain =
      local
          .ReadFile(
              "integration_tests/testdata/conformance/records/tfrecord/"
              "plain.tfrecord")
          .value();
  // These are the first two records and the last one. The records of 70000 and
  // 300 bytes before the last one are omitted.
  Put("case.json", R"({"records_hex": ["", "6669727374"]})");
  Put("plain.tfrecord", plain.substr(0, 37));
  EXPECT_OK(CheckRecords(case_, fs_));
  Put("case.json", R"({"records_hex": [{"repeat": "78", "times": 70000},
                                       "6c617374"]})");
  Put("plain.tfrecord", plain.substr(353));
  EXPECT_OK(CheckRecords(case_, fs_));
  Put("plain.tfrecord", plain.substr(352));
  EXPECT_THAT(CheckRecords(case_, fs_), StatusIs(kUnknown, "plain.tfrecord"));
  Put("case.json", "{}");
  EXPECT_OK(CheckRecords(case_, fs_));
}

}  // namespace
}  // namespace weft::conformance
