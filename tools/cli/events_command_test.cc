#include "tools/cli/events_command.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/summary/event.h"
#include "libs/summary/record_writer.h"

namespace weft::tools {
namespace {

using summary::Event;
using testing::HasSubstr;

class EventsCommandTest : public testing::Test {
 protected:
  void Write(const std::vector<Event>& events) {
    summary::RecordWriter writer(files_.NewWritableFile("f").value());
    for (const Event& event : events) {
      ASSERT_OK(writer.WriteRecord(summary::SerializeEvent(event)));
    }
    ASSERT_OK(writer.Close());
  }
  std::string Show(Format format = Format::kTable) {
    return RunEventsCommand(files_, "f", format).value();
  }

  MemoryFileSystem files_;
};

Event WithValue(summary::SummaryValue value) {
  summary::Summary summary;
  summary.value.push_back(std::move(value));
  return {.wall_time = 1.5, .step = 7, .what = std::move(summary)};
}

TEST_F(EventsCommandTest, EachValueIsOneLine) {
  Write(
      {{.what = summary::FileVersion{"brain.Event:2"},
        .source_writer = "writer"},
       WithValue({.tag = "loss", .value = 0.25f}),
       WithValue(
           {.tag = "h",
            .value = summary::HistogramValue{.min = -1, .max = 2, .num = 3}}),
       WithValue({.tag = "i",
                  .value = summary::ImageValue{.height = 4,
                                               .width = 5,
                                               .colorspace = 3,
                                               .encoded = "12"}}),
       WithValue({.tag = "a",
                  .value = summary::AudioValue{.sample_rate = 8000,
                                               .num_channels = 1,
                                               .length_frames = 2}}),
       WithValue({.tag = "t",
                  .value = Tensor::Scalar<std::string>("text"),
                  .metadata = summary::SummaryMetadata{.plugin_name = "text"}}),
       {.what = summary::GraphDefBytes{"graph"}},
       {.what =
            summary::SessionLog{
                .status = summary::SessionLog::Status::kCheckpoint,
                .checkpoint_path = "model-7"}},
       {.what = summary::TaggedRunMetadata{"step7", "metadata"}}});
  const std::string text = Show();
  for (const char* part :
       {"brain.Event:2  writer\n", "   7  1970-01-01 00:00:01.500  scalar",
        "loss           0.25\n", "3 values from -1 to 2\n",
        "4 x 5, 3 channels, 2 B\n", "2 frames of 1 channel at 8000 Hz, 0 B\n",
        "tensor (text)", "model-7\n", "step7          8 B\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(EventsCommandTest, JsonContainsNanAsText) {
  Write({WithValue({.tag = "loss", .value = 0.25f}),
         WithValue({.tag = "nan", .value = std::nanf("")})});
  const std::string text = Show(Format::kJson);
  EXPECT_THAT(text, HasSubstr("\"value\": 0.25"));
  EXPECT_THAT(text, HasSubstr("\"value\": \"NaN\""));
  EXPECT_THAT(text, HasSubstr("\"wall_time\": 1.5"));
  EXPECT_THAT(text, testing::Not(HasSubstr("damage")));
}

TEST_F(EventsCommandTest, CorruptionIsAnErrorAfterEarlierEvents) {
  Write({WithValue({.tag = "loss", .value = 0.25f}),
         WithValue({.tag = "gone", .value = 1.0f})});
  std::string bytes = files_.ReadFile("f").value();
  bytes.back() = static_cast<char>(bytes.back() + 1);
  ASSERT_OK(files_.WriteFileAtomically("f", bytes));
  for (const Format format : {Format::kTable, Format::kJson}) {
    const auto shown = RunEventsCommand(files_, "f", format);
    EXPECT_THAT(shown, StatusIs(absl::StatusCode::kDataLoss, "damaged"));
    const std::string text(shown.status().message());
    EXPECT_THAT(text, HasSubstr("loss"));
    EXPECT_THAT(text, testing::Not(HasSubstr("gone")));
    EXPECT_THAT(text, HasSubstr("f: corrupted record at "));
  }
  EXPECT_THAT(RunEventsCommand(files_, "none", Format::kTable),
              StatusIs(absl::StatusCode::kNotFound, "none"));
}

}  // namespace
}  // namespace weft::tools
