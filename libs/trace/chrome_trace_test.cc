#include "libs/trace/chrome_trace.h"

#include <limits>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;

NodeExecStats RunOf(std::string name, int64_t start, int64_t duration,
                    uint32_t thread, std::string label = "") {
  return {.node_name = std::move(name),
          .start_nanos = start,
          .end_rel_nanos = duration,
          .timeline_label = std::move(label),
          .thread_id = thread};
}

std::vector<Json> Events(const StepStats& stats, const std::string& phase) {
  std::vector<Json> events;
  const Json trace = Json::parse(ChromeTrace(stats));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) events.push_back(event);
  }
  return events;
}

TEST(ChromeTraceTest, TraceWithoutStatsIsEmpty) {
  EXPECT_TRUE(Json::parse(ChromeTrace({}))["traceEvents"].empty());
}

TEST(ChromeTraceTest, RunsAreInTheRowsOfTheirThreads) {
  StepStats stats;
  stats.dev_stats.push_back(
      {.device = "cpu",
       .node_stats = {RunOf("a", 1'000'000, 2'000, 1, "a = Add(x, y)"),
                      RunOf("b", 1'002'500, 500, 1),
                      RunOf("c", 1'000'000, 100, 2, "c = NoOp()")},
       .thread_names = {{1, "weft/c0"}}});
  const std::vector<Json> runs = Events(stats, "X");
  ASSERT_EQ(runs.size(), 3);
  EXPECT_EQ(runs[0]["name"], "Add");
  EXPECT_EQ(runs[0]["args"]["input1"], "y");
  EXPECT_EQ(runs[0]["ts"], 0);
  EXPECT_EQ(runs[0]["dur"], 2);
  EXPECT_EQ(runs[1]["name"], "b");
  EXPECT_EQ(runs[1]["ts"], 2.5);
  EXPECT_EQ(runs[1]["tid"], runs[0]["tid"]);
  EXPECT_NE(runs[2]["tid"], runs[0]["tid"]);
  EXPECT_FALSE(runs[2]["args"].contains("input0"));
  EXPECT_EQ(Events(stats, "M")[0]["args"]["name"], "cpu");
}

TEST(ChromeTraceTest, OverlappingWaitsGetSeparateRows) {
  StepStats stats;
  stats.dev_stats.push_back(
      {.device = "cpu",
       .node_stats = {RunOf("a", 0, 100'000, 0), RunOf("b", 1'000, 1'000, 0),
                      RunOf("c", 3'000, 1'000, 0)}});
  const std::vector<Json> runs = Events(stats, "X");
  EXPECT_NE(runs[0]["tid"], runs[1]["tid"]);
  EXPECT_EQ(runs[1]["tid"], runs[2]["tid"]);  // b had ended
}

TEST(ChromeTraceTest, SendAndReceiveAreConnectedByAnArrow) {
  StepStats stats;
  stats.dev_stats.push_back(
      {.device = "A",
       .node_stats = {
           RunOf("x/_1", 1'000, 1'000, 1, "[400B] x/_1 = _Send(x:0 @B)"),
           RunOf("y/_3", 1'000, 0, 1, "[4B] y/_3 = _Send(y:0 @B)")}});
  stats.dev_stats.push_back(
      {.device = "B",
       .node_stats = {
           RunOf("x/_2", 0, 9'000, 0, "[400B] x/_2 = _Recv(x:0 @A)")}});
  const std::vector<Json> begins = Events(stats, "s");
  const std::vector<Json> ends = Events(stats, "f");
  ASSERT_EQ(begins.size(), 1);
  ASSERT_EQ(ends.size(), 1);
  EXPECT_EQ(begins[0]["id"], ends[0]["id"]);
  EXPECT_EQ(begins[0]["ts"], 1);
  EXPECT_EQ(ends[0]["ts"], 9);
  EXPECT_NE(begins[0]["pid"], ends[0]["pid"]);
}

TEST(ChromeTraceTest, AnyInputMakesValidJson) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  StepStats stats;
  stats.dev_stats.push_back(
      {.device = "\xff\"\\",
       .node_stats = {RunOf("\x01\xc3", kLeast, kMost, ~0u, " = ("),
                      RunOf("", kMost, kLeast, 0, " = )("),
                      RunOf("", 0, -1, 7, " = _Send()")}});
  stats.dev_stats[0].node_stats[0].output = {{.num_bytes = kMost},
                                             {.num_bytes = kMost}};
  EXPECT_EQ(Events(stats, "X").size(), 3);
}

}  // namespace
}  // namespace weft
