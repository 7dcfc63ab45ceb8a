#include "libs/base/logging.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(LoggingTest, ConsoleLineNamesSeverityAndTask) {
  CaptureStderr();
  NewConsoleLogger("/job:ps/task:0")->Warning("disk {} is %s full");
  EXPECT_THAT(GetCapturedStderr(),
              HasSubstr(" W /job:ps/task:0] disk {} is %s full\n"));
}

TEST(LoggingTest, LesserSeveritiesAreDropped) {
  CaptureStderr();
  auto logger = NewConsoleLogger("a", Severity::kWarning);
  logger->Debug("one");
  logger->Info("two");
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(LoggingTest, EventIsLoggedAsOneLine) {
  RecordingLogger logger;
  logger.Info("a\nb");
  logger.Error("c");
  EXPECT_THAT(logger.lines(), ElementsAre("I a\\nb", "E c"));
}

}  // namespace
}  // namespace weft
