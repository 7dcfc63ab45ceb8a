#include "libs/metrics/metrics_samples.h"

#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/metrics/metrics_text.h"

namespace weft {
namespace {

TEST(MetricsSamplesTest, SampleLinesAreParsed) {
  ASSERT_OK_AND_ASSIGN(
      const auto samples,
      MetricsSamples::Parse("# HELP a A.\n# TYPE a counter\n\n"
                            "a 1\n"
                            "a{x=\"1\",y=\"2\"} 2.5 1700000000000\n"
                            "a{y=\"2\",} 3e2\r\n"
                            "b{z=\"q\\\"\\\\\\n}\"}\t+Inf\n"
                            "c{} NaN\n"
                            "d -7"));
  EXPECT_EQ(samples.Sum("a"), 303.5);
  EXPECT_EQ(samples.Sum("a", {{"y", "2"}}), 302.5);
  EXPECT_EQ(samples.Sum("a", {{"y", "2"}, {"x", "1"}}), 2.5);
  EXPECT_EQ(samples.Sum("a", {{"y", "3"}}), std::nullopt);
  EXPECT_EQ(samples.Sum("b"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(samples.Sum("d"), -7);
  EXPECT_EQ(samples.Sum("e"), std::nullopt);
  EXPECT_EQ(samples.FirstLabel("z"), "q\"\\\n}");
  EXPECT_EQ(samples.FirstLabel("w"), "");
}

TEST(MetricsSamplesTest, MalformedLineIsNamed) {
  for (const char* line : {"a", "a b", "{x=\"1\"} 1", "a{x=\"1} 1", "a{x=1} 1",
                           "a{x=\"1\" 1", "a{x=\"1\"y=\"2\"} 1", "a{=\"1\"} 1",
                           "a 1 2 3", "a{x=\"1\\", "<html>", "a{"}) {
    EXPECT_THAT(MetricsSamples::Parse(absl::StrCat("ok 1\n", line)).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "is not a line of metrics"))
        << line;
  }
}

TEST(MetricsSamplesTest, WrittenMetricsAreParsed) {
  MetricsText text(MetricsText::Labels{{"job", "a \"b\"\\\nc"}});
  Histogram histogram({0.5});
  histogram.Observe(0.25);
  text.AddHistogram("h", "H.", histogram);
  text.AddGauge("g", "G.", 1e-9);
  ASSERT_OK_AND_ASSIGN(const auto samples,
                       MetricsSamples::Parse(text.ToString()));
  EXPECT_EQ(samples.FirstLabel("job"), "a \"b\"\\\nc");
  EXPECT_EQ(samples.Sum("g"), 1e-9);
  EXPECT_EQ(samples.Sum("h_bucket", {{"le", "0.5"}}), 1);
  EXPECT_EQ(samples.Sum("h_sum"), 0.25);
}

}  // namespace
}  // namespace weft
