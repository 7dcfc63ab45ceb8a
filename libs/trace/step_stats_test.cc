#include "libs/trace/step_stats.h"

#include <limits>
#include <thread>

#include "gtest/gtest.h"
#include "libs/base/scheduler/thread_name.h"
#include "libs/base/test_matchers.h"
#include "libs/trace/clock_offset.h"
#include "libs/trace/device_trace.h"
#include "schemas/tf/config.pb.h"

namespace weft {
namespace {

RunMetadata Sample() {
  RunMetadata metadata;
  DeviceStepStats device{.device = "/job:ps/replica:0/task:0/device:CPU:0"};
  device.node_stats.push_back(
      {.node_name = "y",
       .start_nanos = 1'700'000'000'123'456'789,
       .end_rel_nanos = 4'500,
       .timeline_label = "y = MatMul(x, w)",
       .thread_id = 1,
       .output = {
           {.slot = 0, .dtype = 1, .dims = {2, 0, 3}, .num_bytes = 24}}});
  device.node_stats.push_back({.node_name = "wait"});
  device.thread_names = {{0, "waits"}, {1, "weft/c0"}};
  metadata.step_stats.dev_stats = {device, {.device = "other"}};
  return metadata;
}

TEST(StepStatsTest, SerializationRoundTrips) {
  RunMetadata metadata = Sample();
  tf::GraphDef graph;
  graph.add_node()->set_name(std::string(300, 'n'));
  metadata.partition_graphs = {graph.SerializeAsString(), ""};
  ASSERT_OK_AND_ASSIGN(const std::string bytes, Serialize(metadata));
  ASSERT_OK_AND_ASSIGN(const RunMetadata read, ParseRunMetadata(bytes));
  EXPECT_EQ(read, metadata);
  ASSERT_OK_AND_ASSIGN(const std::string stats, Serialize(metadata.step_stats));
  ASSERT_OK_AND_ASSIGN(const StepStats read_stats, ParseStepStats(stats));
  EXPECT_EQ(read_stats, metadata.step_stats);
}

TEST(StepStatsTest, MatchesTheTensorFlowFormat) {
  ASSERT_OK_AND_ASSIGN(const std::string bytes, Serialize(Sample()));
  tf::RunMetadata proto;
  ASSERT_TRUE(proto.ParseFromString(bytes));
  const tf::NodeExecStats& node = proto.step_stats().dev_stats(0).node_stats(0);
  EXPECT_EQ(node.all_start_micros(), 1'700'000'000'123'456);
  EXPECT_EQ(node.all_end_rel_micros(), 4);
  EXPECT_EQ(node.op_end_rel_nanos(), 4'500);
  EXPECT_EQ(node.output(0).tensor_description().shape().dim(1).size(), 0);
}

TEST(StepStatsTest, FallsBackToMicroseconds) {
  tf::StepStats proto;
  tf::NodeExecStats* node = proto.add_dev_stats()->add_node_stats();
  node->set_all_start_micros(7);
  node->set_all_end_rel_micros(std::numeric_limits<int64_t>::max());
  ASSERT_OK_AND_ASSIGN(const StepStats stats,
                       ParseStepStats(proto.SerializeAsString()));
  EXPECT_EQ(stats.dev_stats[0].node_stats[0].start_nanos, 7'000);
  // This number of microseconds cannot be converted to nanoseconds, so the
  // stats use the missing nanoseconds, which are 0.
  EXPECT_EQ(stats.dev_stats[0].node_stats[0].end_rel_nanos, 0);
}

TEST(StepStatsTest, OtherBytesAreRefused) {
  EXPECT_THAT(ParseRunMetadata("\x0a\x05no"),
              StatusIs(kInvalid, "RunMetadata"));
  ASSERT_OK_AND_ASSIGN(const RunMetadata none, ParseRunMetadata(""));
  EXPECT_EQ(none, RunMetadata());
}

TEST(StepStatsTest, OptionsRoundTripUnknownLevelIsFullTrace) {
  const MetadataWanted wanted{.trace_level = TraceLevel::kFullTrace,
                              .output_partition_graphs = true};
  ASSERT_OK_AND_ASSIGN(const MetadataWanted read,
                       ParseRunOptions(SerializeRunOptions(wanted)));
  EXPECT_EQ(read, wanted);
  ASSERT_OK_AND_ASSIGN(const MetadataWanted none, ParseRunOptions(""));
  EXPECT_FALSE(none.any());
  ASSERT_OK_AND_ASSIGN(const MetadataWanted unknown,
                       ParseRunOptions("\x08\x63"));
  EXPECT_TRUE(unknown.step_stats());
}

TEST(StepStatsTest, ShiftMovesOnlyStartTimes) {
  StepStats stats = Sample().step_stats;
  stats.Shift(-1'000);
  EXPECT_EQ(stats.dev_stats[0].node_stats[0].start_nanos,
            1'700'000'000'123'455'789);
  stats.Shift(1'000);
  EXPECT_EQ(stats, Sample().step_stats);
  stats.Shift(std::numeric_limits<int64_t>::max());  // overflows without harm
}

TEST(StepStatsTest, DevicesBeyondTheLimitOnlyHaveACount) {
  StepStats stats;
  const NodeExecStats run{.node_name = "n", .start_nanos = 7};
  for (const size_t num_runs : {2, 3, 0, 1}) {
    stats.dev_stats.push_back(
        {.device = "cpu", .node_stats = std::vector(num_runs, run)});
  }
  StepStats limited = stats;
  limited.Limit(6 * BytesOf(run));
  EXPECT_EQ(limited, stats);
  limited.Limit(3 * BytesOf(run));
  EXPECT_EQ(limited.dev_stats[0], stats.dev_stats[0]);
  EXPECT_EQ(limited.dev_stats[1].node_stats,
            std::vector({OmittedRuns(/*num_runs=*/3, /*last_start_nanos=*/7)}));
  EXPECT_EQ(limited.dev_stats[2], stats.dev_stats[2]);
  EXPECT_EQ(limited.dev_stats[3], stats.dev_stats[3]);
  limited.Limit(0);
  EXPECT_EQ(limited.dev_stats[0].node_stats.size(), 1u);
  EXPECT_TRUE(limited.dev_stats[2].node_stats.empty());
}

TEST(DeviceTraceTest, ThreadNamesAreValidUtf8) {
  std::string name;
  std::thread([&name] {
    SetThreadName("\xd1\x82\xd1 \x80\xd0");
    DeviceTrace trace("cpu");
    trace.AddOnThread({.node_name = "a"});
    name = trace.Take().thread_names.at(1);
  }).join();
  EXPECT_EQ(name, "??? ??");
}

TEST(DeviceTraceTest, ThreadsAreNamedAndLongTracesTruncated) {
  DeviceTrace trace("cpu", /*max_bytes=*/2 * sizeof(NodeExecStats) + 10);
  trace.AddOnThread({.node_name = "a", .start_nanos = 1});
  trace.AddWait({.node_name = "b", .start_nanos = 2});
  trace.AddOnThread({.node_name = "c", .start_nanos = 3});
  trace.AddWait({.node_name = "d", .start_nanos = 4});
  const DeviceStepStats stats = trace.Take();
  ASSERT_EQ(stats.node_stats.size(), 3);
  EXPECT_EQ(stats.node_stats[0].thread_id, 1);
  EXPECT_EQ(stats.node_stats[1].thread_id, 0);
  EXPECT_EQ(stats.node_stats[2].node_name, "2 more runs were not recorded");
  EXPECT_EQ(stats.node_stats[2].start_nanos, 4);
  EXPECT_EQ(stats.thread_names.size(), 2);
  EXPECT_EQ(stats.thread_names.at(0), "waits");
}

TEST(DeviceTraceTest, LabelsAndOutputsCountTowardTheLimit) {
  DeviceTrace trace("cpu", /*max_bytes=*/1'000);
  trace.AddWait({.node_name = "a", .timeline_label = std::string(900, 'x')});
  trace.AddWait(
      {.node_name = "b", .output = {{.dims = std::vector<int64_t>(125)}}});
  trace.AddWait({.node_name = "c"});  // would fit, but would leave a gap
  const DeviceStepStats stats = trace.Take();
  ASSERT_EQ(stats.node_stats.size(), 1);
  EXPECT_EQ(stats.node_stats[0].node_name, "3 more runs were not recorded");
}

TEST(DeviceTraceTest, FullTraceOnlyCountsRuns) {
  DeviceTrace trace("cpu", /*max_bytes=*/0);
  EXPECT_FALSE(trace.IsFull());
  trace.AddOnThread({.node_name = "a", .start_nanos = 1});
  EXPECT_TRUE(trace.IsFull());
  trace.AddOmitted(/*start_nanos=*/7);
  const DeviceStepStats stats = trace.Take();
  ASSERT_EQ(stats.node_stats.size(), 1);
  EXPECT_EQ(stats.node_stats[0].node_name, "2 more runs were not recorded");
  EXPECT_EQ(stats.node_stats[0].start_nanos, 7);
}

absl::Duration Offset(int sent, int received, int answered, int back) {
  const auto at = [](int us) {
    return absl::UnixEpoch() + absl::Microseconds(us);
  };
  return EstimateClockOffset({.sent = at(sent),
                              .received_there = at(received),
                              .answered_there = at(answered),
                              .answered = at(back)});
}

TEST(ClockOffsetTest, ClocksThatMayAgreeAreNotShifted) {
  EXPECT_EQ(Offset(0, 10, 90, 100), absl::ZeroDuration());
  EXPECT_EQ(Offset(0, 0, 100, 100), absl::ZeroDuration());
  // The request took all of the time, and the reply none.
  EXPECT_EQ(Offset(0, 99, 100, 100), absl::ZeroDuration());
}

TEST(ClockOffsetTest, OffsetIsTheMiddleOfItsBounds) {
  // The other clock is 1,000 us ahead. The request took 10 us and the reply 20
  // us.
  EXPECT_EQ(Offset(0, 1'010, 1'080, 100), -absl::Microseconds(995));
  // The other clock is 1,000 us behind.
  EXPECT_EQ(Offset(2'000, 1'010, 1'080, 2'100), absl::Microseconds(1'005));
}

TEST(ClockOffsetTest, ClockSetMeanwhileGivesNoOffset) {
  EXPECT_EQ(Offset(0, 500, 2'000, 100), absl::ZeroDuration());
}

}  // namespace
}  // namespace weft
