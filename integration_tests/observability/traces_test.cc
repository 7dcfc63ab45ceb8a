// Tests the metadata of a run: traces of all tasks and partition graphs, in
// this process and on a cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kPs[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kOther[] = "/job:worker/replica:0/task:1/device:CPU:0";

constexpr RunOptions kTrace{.trace_level = TraceLevel::kFullTrace};

std::vector<std::string> DevicesOf(const RunMetadata& metadata) {
  std::vector<std::string> devices;
  for (const DeviceStepStats& device : metadata.step_stats.dev_stats) {
    devices.push_back(device.device);
  }
  return devices;
}

// Returns the execution whose label contains `label`, on any device. If there
// is none, the result has an empty name.
NodeExecStats RunOf(const RunMetadata& metadata, absl::string_view label) {
  for (const DeviceStepStats& device : metadata.step_stats.dev_stats) {
    for (const NodeExecStats& run : device.node_stats) {
      if (absl::StrContains(run.timeline_label, label)) return run;
    }
  }
  return {};
}

class TracesTest : public ::testing::TestWithParam<ClusterKind> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(session_,
                         Session::Connect(cluster_.target("worker", 0), root_,
                                          cluster_.session_options()));
    ASSERT_OK(session_->Run(x_.initializer()));
  }

  TestCluster cluster_{
      {.kind = GetParam(), .jobs = {{"ps", 1}, {"worker", 2}}}};
  Scope root_ = Scope::Root();
  ops::Variable x_{root_.WithDevice(kPs).WithName("x"),
                   Tensor::Vector<float>({1, 2, 3})};
  Output doubled_ =
      ops::Mul(root_.WithDevice(kOther).WithName("doubled"), x_, 2.0f);
  Output sum_ =
      ops::Add(root_.WithDevice(kWorker).WithName("sum"), doubled_, x_);
  std::unique_ptr<Session> session_;
};

TEST_P(TracesTest, TraceCoversAllTasks) {
  RunMetadata metadata;
  ASSERT_OK(session_->Run({}, sum_, kTrace, &metadata));
  EXPECT_THAT(DevicesOf(metadata), UnorderedElementsAre(kPs, kWorker, kOther));
  EXPECT_THAT(metadata.partition_graphs, IsEmpty());
  const NodeExecStats sum = RunOf(metadata, "sum = Add");
  const NodeExecStats doubled = RunOf(metadata, "doubled = Mul(");
  ASSERT_EQ(sum.output.size(), 1u);
  EXPECT_EQ(sum.output[0].dims, std::vector<int64_t>({3}));
  EXPECT_EQ(sum.output[0].num_bytes, 12);
  EXPECT_NE(sum.thread_id, 0);
  // All tasks share one clock, so a cause has an earlier time than its effects.
  EXPECT_GE(sum.start_nanos, doubled.start_nanos + doubled.end_rel_nanos);
  // The send and the receive of an edge each name the other device and the size
  // of the value.
  EXPECT_THAT(RunOf(metadata, "_Send(doubled:0 @" + std::string(kWorker))
                  .timeline_label,
              StartsWith("[12B] "));
  EXPECT_THAT(
      RunOf(metadata, "_Recv(doubled:0 @" + std::string(kOther)).timeline_label,
      StartsWith("[12B] "));
}

TEST_P(TracesTest, RunWithoutTraceOptionHasEmptyMetadata) {
  RunMetadata metadata;
  ASSERT_OK(session_->Run({}, sum_, kTrace, &metadata));
  ASSERT_OK(session_->Run({}, sum_, {}, &metadata));
  EXPECT_EQ(metadata, RunMetadata());
  // Without a RunMetadata argument, nothing is recorded.
  ASSERT_OK(session_->Run({}, sum_, kTrace));
}

TEST_P(TracesTest, FailedRunLeavesMetadataUnchanged) {
  RunMetadata metadata;
  ASSERT_OK(session_->Run({}, sum_, kTrace, &metadata));
  const RunMetadata before = metadata;
  Output bad = ops::Add(root_.WithDevice(kPs), sum_,
                        ops::Placeholder(root_.WithDevice(kOther), DT_FLOAT));
  EXPECT_FALSE(session_->Run({}, bad, kTrace, &metadata).ok());
  EXPECT_EQ(metadata, before);
  ASSERT_OK(session_->Run({}, sum_, kTrace, &metadata));
}

TEST_P(TracesTest, PartitionGraphsShowEachDevice) {
  RunMetadata metadata;
  ASSERT_OK(
      session_->Run({}, sum_, {.output_partition_graphs = true}, &metadata));
  EXPECT_THAT(metadata.step_stats.dev_stats, IsEmpty());
  ASSERT_EQ(metadata.partition_graphs.size(), 3u);
  const char* const devices[] = {kPs, kWorker, kOther};
  const char* const nodes[] = {"x", "sum", "doubled"};
  for (int i = 0; i < 3; ++i) {
    Graph graph(StandardOps());
    ASSERT_OK(ImportGraphDef(metadata.partition_graphs[i], graph));
    const Node* node = graph.FindNode(nodes[i]);
    ASSERT_NE(node, nullptr) << nodes[i];
    for (const Node* each : graph.nodes()) {
      EXPECT_EQ(each->requested_device(), devices[i]) << each->name();
    }
  }
}

// Callables return the same metadata as Run, also if the graph was extended
// after the callable was created.
TEST_P(TracesTest, CallablesReturnTheSameMetadata) {
  ASSERT_OK_AND_ASSIGN(auto callable, session_->MakeCallable({}, {sum_}));
  ops::Add(root_.WithDevice(kPs).WithName("more"), sum_, sum_);
  ASSERT_OK(session_->Extend());
  const RunOptions both{.trace_level = TraceLevel::kSoftwareTrace,
                        .output_partition_graphs = true};
  RunMetadata metadata;
  ASSERT_OK(callable->Run({}, both, &metadata));
  EXPECT_EQ(DevicesOf(metadata).size(), 3u);
  EXPECT_EQ(metadata.partition_graphs.size(), 3u);
  RunMetadata later;
  std::unique_ptr<Event> over = session_->scheduler().NewEvent();
  callable->RunAsync(
      {},
      [&](absl::StatusOr<std::vector<Tensor>> result) {
        EXPECT_OK(result);
        over->Set();
      },
      both, &later);
  over->Wait();
  EXPECT_EQ(DevicesOf(later).size(), 3u);
  EXPECT_EQ(later.partition_graphs, metadata.partition_graphs);
}

TEST_P(TracesTest, MetadataIsSerializedAndParsed) {
  RunMetadata metadata;
  ASSERT_OK(session_->Run({}, sum_,
                          {.trace_level = TraceLevel::kHardwareTrace,
                           .output_partition_graphs = true},
                          &metadata));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, Serialize(metadata));
  ASSERT_OK_AND_ASSIGN(const RunMetadata read, ParseRunMetadata(bytes));
  EXPECT_EQ(read, metadata);
}

INSTANTIATE_TEST_SUITE_P(AllKinds, TracesTest,
                         ::testing::ValuesIn(kAllClusterKinds),
                         [](const auto& kind) {
                           return ClusterKindName(kind.param);
                         });

}  // namespace
}  // namespace weft
