// Tests that each request and reply of the role Master is decoded as it was
// encoded, and that a damaged one is refused or at least harmless.
#include "libs/protocol/master/master_messages.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/method.h"
#include "libs/protocol/testing/damage.h"
#include "libs/tensor/testing/sample_tensor.h"

namespace weft::protocol {
namespace {

TEST(MasterMessagesTest, CreateSessionRoundTrips) {
  SessionConfig config;
  config.allow_soft_placement = true;
  config.isolate_session_state = true;
  config.operation_timeout = absl::Milliseconds(1500);
  config.device_filters = {"/job:ps", "/job:worker/task:1"};
  config.graph_options = NoRewrites();
  config.is_monitored = true;
  ASSERT_OK_AND_ASSIGN(const SessionConfig read,
                       ReadCreateSession(WriteCreateSession(config)));
  EXPECT_TRUE(read.allow_soft_placement);
  EXPECT_FALSE(read.log_device_placement);
  EXPECT_TRUE(read.isolate_session_state);
  EXPECT_EQ(read.operation_timeout, absl::Milliseconds(1500));
  EXPECT_EQ(read.device_filters, config.device_filters);
  EXPECT_EQ(read.graph_options, config.graph_options);
  EXPECT_TRUE(read.is_monitored);
}

TEST(MasterMessagesTest, MissingTimeoutRoundTrips) {
  ASSERT_OK_AND_ASSIGN(const SessionConfig read,
                       ReadCreateSession(WriteCreateSession({})));
  EXPECT_EQ(read.operation_timeout, absl::InfiniteDuration());
  EXPECT_TRUE(read.device_filters.empty());
  EXPECT_FALSE(read.is_monitored);
}

TEST(MasterMessagesTest, CreateSessionReplyRoundTrips) {
  ASSERT_OK_AND_ASSIGN(
      const CreatedSession read,
      ReadCreateSessionReply(WriteCreateSessionReply({7, absl::Seconds(60)})));
  EXPECT_EQ(read.session, 7u);
  EXPECT_EQ(read.lease, absl::Seconds(60));
}

TEST(MasterMessagesTest, ExtendSessionRoundTrips) {
  for (const size_t size : {0, 10, 1024, 1025, 1 << 20}) {
    const GraphExtension extension{std::string(size, 'g'), 3};
    ASSERT_OK_AND_ASSIGN(const ExtendSessionRequest read,
                         ReadExtendSession(WriteExtendSession(7, extension)));
    EXPECT_EQ(read.session, 7u);
    EXPECT_EQ(read.extension.from_version, 3);
    EXPECT_EQ(read.extension.graph_def, extension.graph_def);
  }
  ExtensionResult result{4, {{"x", "VariableV2", "/job:ps/task:0"}}};
  ASSERT_OK_AND_ASSIGN(const ExtensionResult read,
                       ReadExtendSessionReply(WriteExtendSessionReply(result)));
  EXPECT_EQ(read.version, 4);
  ASSERT_EQ(read.placement.size(), 1u);
  EXPECT_EQ(read.placement[0].ToString(), "x: (VariableV2): /job:ps/task:0");
}

// Far more than fits into one control message.
TEST(MasterMessagesTest, ManyPlacementsTravelAsAttachments) {
  constexpr size_t kNodes = 150'000;
  constexpr size_t kMaxBody = 9 << 20;
  ExtensionResult result{4, {}};
  for (size_t i = 0; i < kNodes; ++i) {
    result.placement.push_back(
        {absl::StrCat("tower/layer/with/a/long/name/", i), "VariableV2",
         absl::StrCat("/job:ps/replica:0/task:", i % 7, "/device:CPU:0")});
  }
  const bus::Message message = WriteExtendSessionReply(result);
  EXPECT_LE(message.body.size(), kMaxBody);
  ASSERT_OK_AND_ASSIGN(const ExtensionResult read,
                       ReadExtendSessionReply(message));
  EXPECT_EQ(read.version, 4);
  ASSERT_EQ(read.placement.size(), kNodes);
  for (size_t i = 0; i < kNodes; ++i) {
    ASSERT_EQ(read.placement[i].ToString(), result.placement[i].ToString());
  }
}

TEST(MasterMessagesTest, CallablesRoundTrip) {
  const CallableSpec spec{{"x:0", "y:1"}, {"z:0"}, {"train", "init"}};
  ASSERT_OK_AND_ASSIGN(const MakeCallableRequest make,
                       ReadMakeCallable(WriteMakeCallable(7, spec)));
  EXPECT_EQ(make.session, 7u);
  EXPECT_EQ(make.spec.feeds, spec.feeds);
  EXPECT_EQ(make.spec.fetches, spec.fetches);
  EXPECT_EQ(make.spec.targets, spec.targets);
  ASSERT_OK_AND_ASSIGN(const uint64_t callable,
                       ReadMakeCallableReply(WriteMakeCallableReply(9)));
  EXPECT_EQ(callable, 9u);
  ASSERT_OK_AND_ASSIGN(const ReleaseCallableRequest release,
                       ReadReleaseCallable(WriteReleaseCallable(7, 9)));
  EXPECT_EQ(release.session, 7u);
  EXPECT_EQ(release.callable, 9u);
}

TEST(MasterMessagesTest, RunCallableRoundTrips) {
  const std::vector<Tensor> feeds = {
      SampleTensor(DT_FLOAT, TensorShape({2, 3})),
      SampleTensor(DT_STRING, TensorShape({2})),
      SampleTensor(DT_HALF, TensorShape({5000}))};
  std::vector<Tensor> fetches(2);
  CallableRun run;
  run.feeds = feeds;
  run.fetches = absl::MakeSpan(fetches);
  run.timeout = absl::Seconds(3);
  ASSERT_OK_AND_ASSIGN(bus::Message message, WriteRunCallable(7, 9, run));
  EXPECT_EQ(message.method, static_cast<uint8_t>(Method::kRunCallable));
  ASSERT_OK_AND_ASSIGN(const RunCallableRequest read,
                       ReadRunCallable(std::move(message), HeapAllocator()));
  EXPECT_EQ(read.session, 7u);
  EXPECT_EQ(read.callable, 9u);
  EXPECT_EQ(read.num_fetches, 2u);
  EXPECT_EQ(read.timeout, absl::Seconds(3));
  ASSERT_EQ(read.feeds.size(), feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    EXPECT_TRUE(SameBits(read.feeds[i], feeds[i]));
  }
}

TEST(MasterMessagesTest, AFeedWithoutAValueIsNamed) {
  const std::vector<Tensor> feeds = {Tensor::Scalar(1.0f), Tensor()};
  CallableRun run;
  run.feeds = feeds;
  EXPECT_THAT(WriteRunCallable(7, 9, run), StatusIs(kInvalid, "feed 1"));
}

TEST(MasterMessagesTest, ARunOfTooManyFetchesIsRefused) {
  std::vector<Tensor> fetches(kMaxCallableEdges + 1);
  CallableRun run;
  run.fetches = absl::MakeSpan(fetches);
  EXPECT_THAT(WriteRunCallable(7, 9, run), StatusIs(kInvalid, "65536"));
}

TEST(MasterMessagesTest, RunCallableReplyRoundTrips) {
  const std::vector<Tensor> fetches = {
      SampleTensor(DT_INT32, TensorShape()),
      SampleTensor(DT_DOUBLE, TensorShape({1000}))};
  ASSERT_OK_AND_ASSIGN(const bus::Message message,
                       WriteRunCallableReply(fetches));
  ASSERT_OK_AND_ASSIGN(const RunCallableAnswer read,
                       ReadRunCallableReply(message, 2, HeapAllocator()));
  EXPECT_TRUE(SameBits(read.fetches[0], fetches[0]));
  EXPECT_TRUE(SameBits(read.fetches[1], fetches[1]));
  EXPECT_EQ(read.metadata, RunMetadata());
  EXPECT_THAT(ReadRunCallableReply(message, 3, HeapAllocator()),
              StatusIs(kInvalid, "2 fetches instead of 3"));
}

TEST(MasterMessagesTest, MetadataIsSentOnlyIfRequested) {
  RunMetadata metadata{.step_stats = {{{.device = "cpu"}}},
                       .partition_graphs = {""}};
  const MetadataWanted wanted{.trace_level = TraceLevel::kSoftwareTrace,
                              .output_partition_graphs = true};
  CallableRun run{.wanted = wanted};
  // Without a destination nothing is requested.
  for (RunMetadata* const room :
       {static_cast<RunMetadata*>(nullptr), &metadata}) {
    run.metadata = room;
    ASSERT_OK_AND_ASSIGN(bus::Message message, WriteRunCallable(7, 9, run));
    ASSERT_OK_AND_ASSIGN(const RunCallableRequest read,
                         ReadRunCallable(std::move(message), HeapAllocator()));
    EXPECT_EQ(read.wanted, room == nullptr ? MetadataWanted() : wanted);
  }
  ASSERT_OK_AND_ASSIGN(const bus::Message reply,
                       WriteRunCallableReply({}, &metadata));
  ASSERT_OK_AND_ASSIGN(const RunCallableAnswer read,
                       ReadRunCallableReply(reply, 0, HeapAllocator()));
  EXPECT_EQ(read.metadata, metadata);
}

TEST(MasterMessagesTest, PartialRunsRoundTrip) {
  const CallableSpec spec{
      .feeds = {"a:0"}, .fetches = {"b:0"}, .is_partial = true};
  ASSERT_OK_AND_ASSIGN(const MakeCallableRequest made,
                       ReadMakeCallable(WriteMakeCallable(7, spec)));
  EXPECT_TRUE(made.spec.is_partial);
  const std::vector<Tensor> feeds = {Tensor::Scalar(1.0f)};
  std::vector<Tensor> fetches(2);
  CallableRun run{.feeds = feeds, .fetches = absl::MakeSpan(fetches)};
  const std::vector<int> feed_indices = {3};
  const std::vector<int> fetch_indices = {9, 0};
  run.feed_indices = feed_indices;
  run.fetch_indices = fetch_indices;
  ASSERT_OK_AND_ASSIGN(const bus::Message message, WriteRunCallable(7, 9, run));
  ASSERT_OK_AND_ASSIGN(const RunCallableRequest read,
                       ReadRunCallable(message, HeapAllocator()));
  EXPECT_EQ(read.feed_indices, feed_indices);
  EXPECT_EQ(read.fetch_indices, fetch_indices);
  const std::vector<int> far = {static_cast<int>(kMaxCallableEdges)};
  run.feed_indices = far;
  ASSERT_OK_AND_ASSIGN(const bus::Message bad, WriteRunCallable(7, 9, run));
  EXPECT_THAT(ReadRunCallable(bad, HeapAllocator()),
              StatusIs(kInvalid, "has index 65536"));
}

TEST(MasterMessagesTest, OtherMessagesRoundTrip) {
  ASSERT_OK_AND_ASSIGN(const uint64_t closed,
                       ReadCloseSession(WriteCloseSession(7)));
  EXPECT_EQ(closed, 7u);
  ASSERT_OK_AND_ASSIGN(const ResetRequest reset,
                       ReadReset(WriteReset({"a", ""}, {"/job:ps"})));
  EXPECT_EQ(reset.containers, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(reset.device_filters, std::vector<std::string>{"/job:ps"});
  EXPECT_OK(ReadListDevices(WriteListDevices()));
  EXPECT_OK(ReadDone(WriteDone()));
  EXPECT_THAT(ReadDone(WriteListDevices()), StatusIs(kInvalid, "Done"));
}

TEST(MasterMessagesTest, DevicesRoundTrip) {
  const std::vector<DeviceAttributes> devices = {
      {"/job:ps/replica:0/task:0/device:CPU:0", "CPU", 1 << 28, 77, "a CPU"},
      {"/job:ps/replica:0/task:0/device:GPU:0", "GPU", 0, 78, ""}};
  ASSERT_OK_AND_ASSIGN(const std::vector<DeviceAttributes> read,
                       ReadDevices(WriteDevices(devices)));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].name, devices[0].name);
  EXPECT_EQ(read[0].device_type, "CPU");
  EXPECT_EQ(read[0].memory_limit, 1 << 28);
  EXPECT_EQ(read[0].incarnation, 77u);
  EXPECT_EQ(read[0].physical_description, "a CPU");
  EXPECT_EQ(read[1].name, devices[1].name);
}

TEST(MasterMessagesTest, DamagedBytesAreRefusedOrHarmless) {
  SessionConfig config;
  config.device_filters = {"/job:ps"};
  ReadDamaged(WriteCreateSession(config), [](bus::Message message) {
    return ReadCreateSession(std::move(message)).ok();
  });
  ReadDamaged(WriteExtendSession(7, {std::string(2000, 'g'), 3}),
              [](bus::Message message) {
                const auto read = ReadExtendSession(std::move(message));
                // The graph's own bytes need not parse; the importer checks
                // them.
                return read.ok() && read->extension.graph_def.size() == 2000;
              });
  ReadDamaged(WriteExtendSessionReply({4, {{"x", "Add", "/cpu:0"}}}),
              [](bus::Message message) {
                return ReadExtendSessionReply(std::move(message)).ok();
              });
  ReadDamaged(WriteMakeCallable(7, {{"x:0"}, {"z:0"}, {"train"}}),
              [](bus::Message message) {
                return ReadMakeCallable(std::move(message)).ok();
              });
  ReadDamaged(WriteReset({"a"}, {"/job:ps"}), [](bus::Message message) {
    return ReadReset(std::move(message)).ok();
  });
  ReadDamaged(WriteDevices({{"/device:CPU:0", "CPU", 1, 2, "d"}}),
              [](bus::Message message) {
                return ReadDevices(std::move(message)).ok();
              });
}

TEST(MasterMessagesTest, DamagedTensorsAreRefusedOrHarmless) {
  const std::vector<Tensor> feeds = {
      SampleTensor(DT_FLOAT, TensorShape({2, 3})),
      SampleTensor(DT_STRING, TensorShape({2})),
      SampleTensor(DT_INT8, TensorShape({2000}))};
  CallableRun run;
  run.feeds = feeds;
  ASSERT_OK_AND_ASSIGN(const bus::Message request, WriteRunCallable(7, 9, run));
  ReadDamaged(request, [](bus::Message message) {
    return ReadRunCallable(std::move(message), HeapAllocator()).ok();
  });
  ASSERT_OK_AND_ASSIGN(const bus::Message reply, WriteRunCallableReply(feeds));
  ReadDamaged(reply, [](bus::Message message) {
    return ReadRunCallableReply(std::move(message), 3, HeapAllocator()).ok();
  });
}

}  // namespace
}  // namespace weft::protocol
