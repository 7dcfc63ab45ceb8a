#include "libs/metrics/metrics_text.h"

#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/metrics/histogram.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(MetricsTextTest, MatchesThePrometheusFormat) {
  MetricsText text({{"job", "worker"}, {"task", "1"}});
  text.AddGauge("weft_threads", "Threads.", 3, {{"pool", "compute"}});
  text.AddCounter("weft_steps_total", "Steps.", 12345678901);
  text.AddGauge("weft_threads", "Not told twice.", 0.5, {{"pool", "blocking"}});
  EXPECT_EQ(text.ToString(),
            "# HELP weft_steps_total Steps.\n"
            "# TYPE weft_steps_total counter\n"
            "weft_steps_total{job=\"worker\",task=\"1\"} 12345678901\n"
            "# HELP weft_threads Threads.\n"
            "# TYPE weft_threads gauge\n"
            "weft_threads{job=\"worker\",task=\"1\",pool=\"compute\"} 3\n"
            "weft_threads{job=\"worker\",task=\"1\",pool=\"blocking\"} 0.5\n");
}

TEST(MetricsTextTest, LabelValuesAreEscaped) {
  MetricsText text(MetricsText::Labels{{"job", "a \"b\"\\\nc"}});
  text.AddGauge("x", "X.", std::numeric_limits<double>::infinity());
  EXPECT_THAT(text.ToString(),
              HasSubstr("x{job=\"a \\\"b\\\"\\\\\\nc\"} +Inf"));
}

TEST(MetricsTextTest, TextWithoutMetricsIsEmpty) {
  EXPECT_EQ(MetricsText(MetricsText::Labels{{"job", "ps"}}).ToString(), "");
}

TEST(MetricsTextTest, HistogramBucketsAreCumulative) {
  Histogram histogram({0.1, 1});
  // A value at the upper bound belongs to the bucket.
  histogram.Observe(absl::Milliseconds(100));
  histogram.Observe(0.25);
  histogram.Observe(2.0);
  histogram.Observe(-absl::Seconds(5));  // the clock was set
  const Histogram::Contents contents = histogram.contents();
  EXPECT_EQ(contents.count, 4u);
  EXPECT_DOUBLE_EQ(contents.sum, 2.35);
  MetricsText text(MetricsText::Labels{});
  text.AddHistogram("h_seconds", "H.", histogram, {{"a", "b"}});
  EXPECT_EQ(text.ToString(),
            "# HELP h_seconds H.\n"
            "# TYPE h_seconds histogram\n"
            "h_seconds_count{a=\"b\"} 4\n"
            "h_seconds_sum{a=\"b\"} 2.35\n"
            "h_seconds_bucket{a=\"b\",le=\"0.1\"} 2\n"
            "h_seconds_bucket{a=\"b\",le=\"1\"} 3\n"
            "h_seconds_bucket{a=\"b\",le=\"+Inf\"} 4\n");
}

TEST(MetricsTextTest, ConcurrentObservationsAreAllCounted) {
  constexpr int kThreads = 8;
  constexpr int kTimes = 10'000;
  Histogram histogram({1, 2});
  SystemClock clock;
  auto scheduler = NewThreadScheduler(clock, {.compute_threads = kThreads});
  for (int i = 0; i < kThreads; ++i) {
    scheduler->Schedule(Pool::kCompute, [&histogram, i] {
      for (int j = 0; j < kTimes; ++j) histogram.Observe(i % 4);
    });
  }
  scheduler.reset();  // runs all closures
  const Histogram::Contents contents = histogram.contents();
  EXPECT_EQ(contents.count, kThreads * kTimes);
  EXPECT_DOUBLE_EQ(contents.sum, 2.0 * (0 + 1 + 2 + 3) * kTimes);
  ASSERT_EQ(contents.ranges.size(), 3u);
  EXPECT_EQ(contents.ranges[0].count, kThreads / 2 * kTimes);
  EXPECT_EQ(contents.ranges[1].count, kThreads / 4 * 3 * kTimes);
}

TEST(MetricsTextTest, EmptyHistogramIsAllZeros) {
  MetricsText text(MetricsText::Labels{});
  const Histogram histogram(SecondsOfSteps());
  text.AddHistogram("h", "H.", histogram);
  EXPECT_THAT(text.ToString(), HasSubstr("h_bucket{le=\"100\"} 0\n"));
  EXPECT_THAT(text.ToString(), HasSubstr("h_sum 0\n"));
}

}  // namespace
}  // namespace weft
