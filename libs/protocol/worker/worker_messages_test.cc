// Tests that each request and reply of the role Worker is decoded as it was
// encoded, and that a damaged one is refused or at least harmless.
#include "libs/protocol/worker/worker_messages.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/graph.h"
#include "libs/graph/inference_context.h"
#include "libs/protocol/method.h"
#include "libs/protocol/testing/damage.h"
#include "libs/tensor/testing/sample_tensor.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

constexpr WorkerSession kSession{11, 7};

std::shared_ptr<const OpRegistry> TestOps() {
  auto ops = std::make_shared<OpRegistry>();
  const ShapeFn scalar = [](InferenceContext& c) {
    c.set_output(0, PartialShape::Scalar());
    return absl::OkStatus();
  };
  ops->Add(OpDefBuilder("Source").Output("out: float").Shape(scalar));
  ops->Add(OpDefBuilder("Double")
               .Input("in: float")
               .Output("out: float")
               .Shape(scalar));
  return ops;
}

PartitionRegistration SampleRegistration(
    const std::shared_ptr<const OpRegistry>& ops) {
  auto graph = std::make_shared<Graph>(ops);
  auto source = graph->AddNode({.name = "a", .op = "Source"});
  EXPECT_OK(source);
  EXPECT_OK(
      graph->AddNode({.name = "b", .op = "Double", .inputs = {{*source, 0}}}));
  PartitionRegistration registration;
  registration.session = kSession;
  registration.registration = 5;
  registration.wants_new_variables = true;
  registration.partitions = {{"/job:ps/replica:0/task:0/device:CPU:0", graph},
                             {"/job:ps/replica:0/task:0/device:GPU:0", graph}};
  return registration;
}

TEST(WorkerMessagesTest, SessionsRoundTrip) {
  EXPECT_OK(ReadGetStatus(WriteGetStatus()));
  const WorkerSessionOptions options = {.isolated = true, .is_monitored = true};
  ASSERT_OK_AND_ASSIGN(
      const CreateWorkerSessionRequest open,
      ReadCreateWorkerSession(WriteCreateWorkerSession(kSession, options)));
  EXPECT_EQ(open.session.master_incarnation, 11u);
  EXPECT_EQ(open.session.session, 7u);
  EXPECT_EQ(open.options, options);
  ASSERT_OK_AND_ASSIGN(
      const CreateWorkerSessionRequest plain,
      ReadCreateWorkerSession(WriteCreateWorkerSession(kSession, {})));
  EXPECT_EQ(plain.options, WorkerSessionOptions());
  ASSERT_OK_AND_ASSIGN(
      const WorkerSession deleted,
      ReadDeleteWorkerSession(WriteDeleteWorkerSession(kSession)));
  EXPECT_EQ(deleted.master_incarnation, 11u);
  EXPECT_EQ(deleted.session, 7u);
}

TEST(WorkerMessagesTest, RegistrationsRoundTrip) {
  const auto ops = TestOps();
  ASSERT_OK_AND_ASSIGN(bus::Message message,
                       WriteRegister(SampleRegistration(ops)));
  ASSERT_OK_AND_ASSIGN(const PartitionRegistration read,
                       ReadRegister(std::move(message), ops));
  EXPECT_EQ(read.session.session, 7u);
  EXPECT_EQ(read.registration, 5u);
  EXPECT_TRUE(read.wants_new_variables);
  ASSERT_EQ(read.partitions.size(), 2u);
  for (const DevicePartition& partition : read.partitions) {
    const Graph& graph = *partition.graph;
    ASSERT_EQ(graph.num_nodes(), 2);
    const Node* b = graph.FindNode("b");
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(b->input(0).node, graph.FindNode("a"));
    EXPECT_EQ(b->assigned_device(), partition.device);
  }
  EXPECT_EQ(read.partitions[1].device, "/job:ps/replica:0/task:0/device:GPU:0");
  ASSERT_OK_AND_ASSIGN(const DeregisterRequest deregister,
                       ReadDeregister(WriteDeregister(kSession, 5)));
  EXPECT_EQ(deregister.session.master_incarnation, 11u);
  EXPECT_EQ(deregister.registration, 5u);
}

NewVariables SampleNewVariables() {
  NewVariables made;
  made.Add("table/part_0", 1000);
  made.Add("table/part_0/Adagrad", 999);
  made.available = {
      .task = 1500, .machine = "this one", .machine_has = 4000, .kept = 30};
  return made;
}

TEST(WorkerMessagesTest, NewVariablesRoundTrip) {
  ASSERT_OK_AND_ASSIGN(
      const NewVariables read,
      ReadNewVariables(WriteNewVariables(SampleNewVariables())));
  EXPECT_EQ(read.bytes, 1999);
  EXPECT_EQ(read.largest, "table/part_0");
  EXPECT_EQ(read.largest_bytes, 1000);
  EXPECT_EQ(read.available.task, 1500);
  EXPECT_EQ(read.available.machine, "this one");
  EXPECT_EQ(read.available.machine_has, 4000);
  EXPECT_EQ(read.available.kept, 30);
}

// An older master thus gets no answer that it does not know, and a newer one
// understands an older task.
TEST(WorkerMessagesTest, NoNewVariablesRoundTrip) {
  const bus::Message message = WriteNewVariables({});
  EXPECT_EQ(message.method, static_cast<uint8_t>(Method::kDone));
  ASSERT_OK_AND_ASSIGN(const auto read, ReadNewVariables(message));
  EXPECT_EQ(read.bytes, 0);
  EXPECT_EQ(read.available.task, AvailableMemory::kUnknown);
}

// Invalid values are ignored; sums of the rest do not overflow.
TEST(WorkerMessagesTest, InvalidNewVariablesAreHarmless) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  NewVariables made = SampleNewVariables();
  made.largest_bytes = kLeast;
  made.largest = std::string(kMaxNameInReply + 1, 'x');
  made.available = {.task = kLeast,
                    .machine = std::string(kMaxNameInReply + 1, 'x'),
                    .machine_has = -1,
                    .kept = -1};
  ASSERT_OK_AND_ASSIGN(auto read, ReadNewVariables(WriteNewVariables(made)));
  EXPECT_EQ(read.largest_bytes, 0);
  EXPECT_EQ(read.largest, "");
  EXPECT_EQ(read.available.task, AvailableMemory::kUnknown);
  EXPECT_EQ(read.available.machine, "");
  EXPECT_EQ(read.available.machine_has, AvailableMemory::kUnknown);
  EXPECT_EQ(read.available.kept, 0);
  made.bytes = kLeast;
  ASSERT_OK_AND_ASSIGN(read, ReadNewVariables(WriteNewVariables(made)));
  EXPECT_EQ(read.bytes, 0);
  read.bytes = std::numeric_limits<int64_t>::max();
  read.Add("more", 1);
  EXPECT_EQ(read.bytes, std::numeric_limits<int64_t>::max());
}

TEST(WorkerMessagesTest, UnknownOpIsNamed) {
  ASSERT_OK_AND_ASSIGN(bus::Message message,
                       WriteRegister(SampleRegistration(TestOps())));
  EXPECT_THAT(ReadRegister(std::move(message), std::make_shared<OpRegistry>()),
              StatusIs(absl::StatusCode::kNotFound, "Source"));
}

TEST(WorkerMessagesTest, ADeviceHasOnePartition) {
  const auto ops = TestOps();
  PartitionRegistration registration = SampleRegistration(ops);
  registration.partitions[1] = registration.partitions[0];
  ASSERT_OK_AND_ASSIGN(bus::Message message, WriteRegister(registration));
  EXPECT_THAT(ReadRegister(std::move(message), ops),
              StatusIs(kInvalid, "twice"));
}

PartitionStep SampleStep(const std::vector<Tensor>& feeds,
                         const std::vector<int>& feed_indices,
                         const std::vector<int>& fetch_indices) {
  PartitionStep step;
  step.session = kSession;
  step.registration = 5;
  step.step = 30;
  step.steps_finished_below = 28;
  step.feeds = feeds;
  step.feed_indices = feed_indices;
  step.fetch_indices = fetch_indices;
  return step;
}

TEST(WorkerMessagesTest, RunPartitionCarriesOnlyNamedFeeds) {
  const std::vector<Tensor> feeds = {
      Tensor(), SampleTensor(DT_FLOAT, TensorShape({3})), Tensor(),
      SampleTensor(DT_STRING, TensorShape({2})), Tensor()};
  const std::vector<int> feed_indices = {3, 1};
  const std::vector<int> fetch_indices = {0, 2};
  ASSERT_OK_AND_ASSIGN(
      bus::Message message,
      WriteRunPartition(SampleStep(feeds, feed_indices, fetch_indices)));
  ASSERT_OK_AND_ASSIGN(const RunPartitionRequest read,
                       ReadRunPartition(std::move(message), HeapAllocator()));
  EXPECT_EQ(read.session.master_incarnation, 11u);
  EXPECT_EQ(read.registration, 5u);
  EXPECT_EQ(read.step, 30u);
  EXPECT_EQ(read.steps_finished_below, 28u);
  EXPECT_EQ(read.feed_indices, feed_indices);
  EXPECT_EQ(read.fetch_indices, fetch_indices);
  ASSERT_EQ(read.feeds.size(), 4u);
  EXPECT_FALSE(read.feeds[0].IsInitialized());
  EXPECT_TRUE(SameBits(read.feeds[1], feeds[1]));
  EXPECT_FALSE(read.feeds[2].IsInitialized());
  EXPECT_TRUE(SameBits(read.feeds[3], feeds[3]));
}

TEST(WorkerMessagesTest, RunPartitionNamesFinishedSteps) {
  const FinishedSteps over{.below = 9000, .running = {28, 700}};
  PartitionStep step = SampleStep({}, {}, {});
  step.more_finished = &over;
  ASSERT_OK_AND_ASSIGN(bus::Message message, WriteRunPartition(step));
  ASSERT_OK_AND_ASSIGN(const RunPartitionRequest read,
                       ReadRunPartition(std::move(message), HeapAllocator()));
  EXPECT_EQ(read.more_finished.below, 9000u);
  EXPECT_EQ(read.more_finished.running, over.running);
}

TEST(WorkerMessagesTest, RunningStepsOutOfOrderAreRefused) {
  for (const FinishedSteps& over :
       {FinishedSteps{9, {5, 4}}, FinishedSteps{9, {5, 5}},
        FinishedSteps{9, {9}},
        FinishedSteps{999, std::vector<uint64_t>(65, 1)}}) {
    PartitionStep step = SampleStep({}, {}, {});
    step.more_finished = &over;
    ASSERT_OK_AND_ASSIGN(bus::Message message, WriteRunPartition(step));
    EXPECT_THAT(ReadRunPartition(std::move(message), HeapAllocator()),
                StatusIs(kInvalid, "running steps"));
  }
}

TEST(WorkerMessagesTest, MissingNamedFeedIsAnError) {
  const std::vector<Tensor> feeds = {Tensor()};
  EXPECT_THAT(WriteRunPartition(SampleStep(feeds, {0}, {})),
              StatusIs(kInvalid, "feed 0"));
  EXPECT_THAT(WriteRunPartition(SampleStep(feeds, {1}, {})),
              StatusIs(absl::StatusCode::kInternal, "feed 1"));
}

TEST(WorkerMessagesTest, RunPartitionReplyHasRequestedFetches) {
  const std::vector<Tensor> fetches = {
      SampleTensor(DT_INT32, TensorShape()), Tensor(),
      SampleTensor(DT_FLOAT, TensorShape({2000}))};
  const std::vector<int> indices = {2, 0};
  ASSERT_OK_AND_ASSIGN(const bus::Message message,
                       WriteRunPartitionReply(fetches, indices, {}));
  ASSERT_OK_AND_ASSIGN(
      const RunPartitionAnswer read,
      ReadRunPartitionReply(message, indices, HeapAllocator()));
  EXPECT_TRUE(SameBits(read.fetches[0], fetches[2]));
  EXPECT_TRUE(SameBits(read.fetches[1], fetches[0]));
  EXPECT_TRUE(read.pushes.empty());
  EXPECT_THAT(ReadRunPartitionReply(message, {{0, 1}}, HeapAllocator()),
              StatusIs(kInvalid, "fetch 1"));
  EXPECT_THAT(WriteRunPartitionReply(fetches, {1}, {}),
              StatusIs(kInvalid, "fetch 1"));
}

TEST(WorkerMessagesTest, RunPartitionReplyHasValuesOfEdges) {
  const std::vector<Push> pushes = {
      {{11, 7}, 30, 1, 0, 0, false, SampleTensor(DT_INT32, TensorShape({2}))},
      {{11, 7}, 30, 2, 77, 3, true, Tensor()}};
  ASSERT_OK_AND_ASSIGN(const bus::Message message,
                       WriteRunPartitionReply({}, {}, pushes));
  ASSERT_OK_AND_ASSIGN(const RunPartitionAnswer read,
                       ReadRunPartitionReply(message, {}, HeapAllocator()));
  ASSERT_EQ(read.pushes.size(), 2u);
  EXPECT_EQ(read.pushes[0].edge, 1u);
  EXPECT_TRUE(SameBits(read.pushes[0].tensor, pushes[0].tensor));
  EXPECT_TRUE(read.pushes[1].is_dead);
  EXPECT_EQ(read.pushes[1].iteration, 3u);
}

TEST(WorkerMessagesTest, TraceIsSentOnlyIfRequested) {
  PartitionTrace trace{
      .stats = {{{.device = "cpu",
                  .node_stats = {{.node_name = "x", .start_nanos = 7}}}}},
      .begun = absl::FromUnixNanos(1'700'000'000'123'456'789),
      .ended = absl::FromUnixNanos(1'700'000'001'000'000'001)};
  for (const bool is_traced : {false, true}) {
    PartitionStep step = SampleStep({}, {}, {});
    if (is_traced) step.trace = &trace;
    ASSERT_OK_AND_ASSIGN(bus::Message message, WriteRunPartition(step));
    ASSERT_OK_AND_ASSIGN(const RunPartitionRequest read,
                         ReadRunPartition(std::move(message), HeapAllocator()));
    EXPECT_EQ(read.collect_stats, is_traced);
    ASSERT_OK_AND_ASSIGN(const bus::Message reply,
                         WriteRunPartitionReply({}, {}, {}, step.trace));
    ASSERT_OK_AND_ASSIGN(const RunPartitionAnswer answer,
                         ReadRunPartitionReply(reply, {}, HeapAllocator()));
    ASSERT_EQ(answer.trace.has_value(), is_traced);
    if (!is_traced) continue;
    EXPECT_EQ(answer.trace->stats, trace.stats);
    EXPECT_EQ(answer.trace->begun, trace.begun);
    EXPECT_EQ(answer.trace->ended, trace.ended);
  }
}

TEST(WorkerMessagesTest, TraceEndsWhenTheReplyIsWritten) {
  const PartitionTrace trace{.ended = absl::FromUnixSeconds(7)};
  const ManualClock clock;
  ASSERT_OK_AND_ASSIGN(const bus::Message reply,
                       WriteRunPartitionReply({}, {}, {}, &trace, &clock));
  ASSERT_OK_AND_ASSIGN(const RunPartitionAnswer answer,
                       ReadRunPartitionReply(reply, {}, HeapAllocator()));
  ASSERT_TRUE(answer.trace.has_value());
  EXPECT_EQ(answer.trace->ended, clock.Now());
}

// Returns a RunPartition with indices that this version refuses.
bus::Message RunPartitionOf(const std::vector<uint32_t>& feed_indices,
                            const std::vector<uint32_t>& fetch_indices) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<schemas::IndexedTensor>> feeds;
  for (const uint32_t index : feed_indices) {
    const auto bytes = builder.CreateVector(std::vector<uint8_t>(4));
    const auto data = schemas::CreateBytes(builder, bytes);
    const auto tensor = schemas::CreateTensor(builder, DT_FLOAT, 0, 4, data);
    feeds.push_back(schemas::CreateIndexedTensor(builder, index, tensor));
  }
  const auto all = builder.CreateVector(feeds);
  const auto fetches = builder.CreateVector(fetch_indices);
  const auto run =
      schemas::CreateRunPartition(builder, 1, 2, 3, 4, 5, all, fetches);
  schemas::FinishMessageBuffer(
      builder, schemas::CreateMessage(builder, schemas::Body::RunPartition,
                                      run.Union()));
  bus::Message message;
  message.method = static_cast<uint8_t>(Method::kRunPartition);
  message.body = bus::Blob::FromString(
      std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                  builder.GetSize()));
  return message;
}

TEST(WorkerMessagesTest, IndicesAreBounded) {
  EXPECT_OK(
      ReadRunPartition(RunPartitionOf({0, 65535}, {65535}), HeapAllocator()));
  EXPECT_THAT(ReadRunPartition(RunPartitionOf({65536}, {}), HeapAllocator()),
              StatusIs(kInvalid, "65536"));
  EXPECT_THAT(
      ReadRunPartition(RunPartitionOf({}, {0xffffffff}), HeapAllocator()),
      StatusIs(kInvalid, "4294967295"));
  EXPECT_THAT(ReadRunPartition(RunPartitionOf({3, 3}, {}), HeapAllocator()),
              StatusIs(kInvalid, "twice"));
}

TEST(WorkerMessagesTest, WaitsOfAStepRoundTrip) {
  ASSERT_OK_AND_ASSIGN(const StepId step,
                       ReadDescribeWaits(WriteDescribeWaits({11, 30})));
  EXPECT_EQ(step, (StepId{11, 30}));
  const std::vector<std::string> waits = {"tensor x:0", "node q"};
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> read,
                       ReadWaits(WriteWaits(waits)));
  EXPECT_EQ(read, waits);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> none,
                       ReadWaits(WriteWaits({})));
  EXPECT_TRUE(none.empty());
}

StepHold SampleHold() {
  return {.action = StepHold::Action::kHoldSteps,
          .holder = {11, 30},
          .session = 7,
          .registration = 3,
          .writers = {{"/job:worker/replica:0/task:1", {12, 8}, 4},
                      {"/job:worker/replica:0/task:1", {12, 9}, 5}},
          .max_wait = absl::Seconds(2),
          .lease = absl::Seconds(14)};
}

TEST(WorkerMessagesTest, StepHoldRoundTrips) {
  const StepHold hold = SampleHold();
  ASSERT_OK_AND_ASSIGN(const StepHold read,
                       ReadHoldSteps(WriteHoldSteps(hold)));
  EXPECT_EQ(read.action, hold.action);
  EXPECT_EQ(read.holder, hold.holder);
  EXPECT_EQ(read.session, 7u);
  EXPECT_EQ(read.registration, 3u);
  EXPECT_EQ(read.writers, hold.writers);
  EXPECT_EQ(read.max_wait, absl::Seconds(2));
  EXPECT_EQ(read.lease, absl::Seconds(14));
  ASSERT_OK_AND_ASSIGN(const auto writers,
                       ReadWriters(WriteWriters(hold.writers)));
  EXPECT_EQ(writers, hold.writers);
  ASSERT_OK_AND_ASSIGN(const auto none, ReadWriters(WriteWriters({})));
  EXPECT_TRUE(none.empty());
}

TEST(WorkerMessagesTest, ManyWritersOfOneTaskRoundTrip) {
  const std::vector<VariableWriter> many(1000, SampleHold().writers[0]);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadWriters(WriteWriters(many)));
  EXPECT_EQ(read, many);
}

// Holds are never longer than that, whatever a message says.
TEST(WorkerMessagesTest, LeasesAndWaitsAreBounded) {
  StepHold hold = SampleHold();
  hold.max_wait = -absl::Seconds(1);
  hold.lease = absl::InfiniteDuration();
  ASSERT_OK_AND_ASSIGN(const StepHold read,
                       ReadHoldSteps(WriteHoldSteps(hold)));
  EXPECT_EQ(read.max_wait, absl::ZeroDuration());
  EXPECT_EQ(read.lease, Worker::kMaxLease);
}

TEST(WorkerMessagesTest, AbortKeepsItsCause) {
  const absl::Status cause =
      MarkDerived(absl::OutOfRangeError("step 3: the queue is closed"));
  ASSERT_OK_AND_ASSIGN(const AbortRequest read,
                       ReadAbort(WriteAbort({11, 30}, 28, cause)));
  EXPECT_EQ(read.step, (StepId{11, 30}));
  EXPECT_EQ(read.steps_finished_below, 28u);
  EXPECT_EQ(read.cause.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(read.cause.message(), "step 3: the queue is closed");
  EXPECT_TRUE(IsDerived(read.cause));
  ASSERT_OK_AND_ASSIGN(
      const AbortRequest plain,
      ReadAbort(WriteAbort({11, 30}, 28, absl::CancelledError("by hand"))));
  EXPECT_FALSE(IsDerived(plain.cause));
}

// An Abort that does not fit into a control message would be lost.
TEST(WorkerMessagesTest, LongAbortCauseIsShortened) {
  const absl::Status cause = absl::OutOfRangeError(absl::StrCat(
      "node 'q' has failed: ", std::string(17 << 20, 'x'), " raise its limit"));
  const bus::Message message = WriteAbort({11, 30}, 28, cause);
  EXPECT_LE(message.body.size(), 100'000u);
  ASSERT_OK_AND_ASSIGN(const AbortRequest read, ReadAbort(message));
  EXPECT_EQ(read.cause.code(), absl::StatusCode::kOutOfRange);
  const std::string text(read.cause.message());
  EXPECT_THAT(text, StartsWith("node 'q' has failed"));
  EXPECT_THAT(text, EndsWith("raise its limit"));
}

TEST(WorkerMessagesTest, LongDescriptionsOfWaitsAreShortened) {
  const std::vector<std::string> waits = {"node 'short'",
                                          std::string(17 << 20, 'x')};
  const bus::Message message = WriteWaits(waits);
  EXPECT_LE(message.body.size(), 100'000u);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> read, ReadWaits(message));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0], waits[0]);
}

TEST(WorkerMessagesTest, LongVariableNameIsLeftOutOfTheReply) {
  NewVariables made = SampleNewVariables();
  made.largest.assign(17 << 20, 'x');
  const bus::Message message = WriteNewVariables(made);
  EXPECT_LE(message.body.size(), 100'000u);
  ASSERT_OK_AND_ASSIGN(const NewVariables read, ReadNewVariables(message));
  EXPECT_EQ(read.bytes, made.bytes);
}

TEST(WorkerMessagesTest, ContainersKeepTheirNames) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> read,
                       ReadClearContainers(WriteClearContainers({"a", "b"})));
  EXPECT_EQ(read, (std::vector<std::string>{"a", "b"}));
}

std::vector<Push> SamplePushes() {
  std::vector<Push> pushes(3);
  pushes[0] = {kSession,
               30,
               1,
               0,
               0,
               false,
               SampleTensor(DT_BFLOAT16, TensorShape({4}))};
  pushes[1] = {kSession, 30, 2, 0xdecade, 5, true, Tensor()};
  pushes[2] = {kSession,
               31,
               3,
               0xdecade,
               6,
               false,
               SampleTensor(DT_COMPLEX128, TensorShape({500}))};
  return pushes;
}

TEST(WorkerMessagesTest, PushesShareAMessage) {
  const std::vector<Push> pushes = SamplePushes();
  ASSERT_OK_AND_ASSIGN(const bus::Message message, WritePushes(pushes));
  ASSERT_OK_AND_ASSIGN(const std::vector<Push> read,
                       ReadPushes(message, HeapAllocator()));
  ASSERT_EQ(read.size(), pushes.size());
  for (size_t i = 0; i < pushes.size(); ++i) {
    EXPECT_EQ(read[i].session.master_incarnation,
              pushes[i].session.master_incarnation);
    EXPECT_EQ(read[i].session.session, pushes[i].session.session);
    EXPECT_EQ(read[i].step, pushes[i].step);
    EXPECT_EQ(read[i].edge, pushes[i].edge);
    EXPECT_EQ(read[i].frame, pushes[i].frame);
    EXPECT_EQ(read[i].iteration, pushes[i].iteration);
    EXPECT_EQ(read[i].is_dead, pushes[i].is_dead);
  }
  EXPECT_TRUE(SameBits(read[0].tensor, pushes[0].tensor));
  EXPECT_FALSE(read[1].tensor.IsInitialized());
  EXPECT_TRUE(SameBits(read[2].tensor, pushes[2].tensor));
}

TEST(WorkerMessagesTest, PushesWithoutTheirTensorsStillNameTheirEdges) {
  ASSERT_OK_AND_ASSIGN(bus::Message message, WritePushes(SamplePushes()));
  message.attachments.clear();
  EXPECT_THAT(ReadPushes(message, HeapAllocator()), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const std::vector<Push> headers,
                       ReadPushHeaders(message));
  ASSERT_EQ(headers.size(), 3u);
  EXPECT_EQ(headers[0].edge, 1u);
  EXPECT_TRUE(headers[1].is_dead);
  EXPECT_EQ(headers[2].session.master_incarnation, 11u);
  EXPECT_EQ(headers[2].step, 31u);
  EXPECT_EQ(headers[2].edge, 3u);
  EXPECT_FALSE(headers[2].tensor.IsInitialized());
}

TEST(WorkerMessagesTest, DamagedBytesAreRefusedOrHarmless) {
  const auto ops = TestOps();
  ASSERT_OK_AND_ASSIGN(const bus::Message registration,
                       WriteRegister(SampleRegistration(ops)));
  ReadDamaged(registration, [&](bus::Message message) {
    return ReadRegister(std::move(message), ops).ok();
  });
  ASSERT_OK_AND_ASSIGN(const bus::Message pushes, WritePushes(SamplePushes()));
  ReadDamaged(pushes, [](bus::Message message) {
    (void)ReadPushHeaders(message);
    return ReadPushes(std::move(message), HeapAllocator()).ok();
  });
  const std::vector<Tensor> feeds = {
      SampleTensor(DT_FLOAT, TensorShape({3})),
      SampleTensor(DT_INT64, TensorShape({200}))};
  ASSERT_OK_AND_ASSIGN(const bus::Message run,
                       WriteRunPartition(SampleStep(feeds, {{0, 1}}, {0})));
  ReadDamaged(run, [](bus::Message message) {
    return ReadRunPartition(std::move(message), HeapAllocator()).ok();
  });
  ASSERT_OK_AND_ASSIGN(
      const bus::Message reply,
      WriteRunPartitionReply(
          feeds, {{0, 1}},
          std::vector<Push>{
              {{11, 7}, 30, 1, 0, 0, false, Tensor::Scalar(1.0f)}}));
  ReadDamaged(reply, [](bus::Message message) {
    return ReadRunPartitionReply(std::move(message), {{0, 1}}, HeapAllocator())
        .ok();
  });
  ReadDamaged(WriteAbort({1, 2}, 1, absl::AbortedError("x")),
              [](bus::Message message) {
                const auto read = ReadAbort(std::move(message));
                EXPECT_TRUE(!read.ok() || !read->cause.ok());
                return read.ok();
              });
  ReadDamaged(WriteClearContainers({"a"}), [](bus::Message message) {
    return ReadClearContainers(std::move(message)).ok();
  });
  ReadDamaged(WriteNewVariables(SampleNewVariables()),
              [](bus::Message message) {
                const auto read = ReadNewVariables(std::move(message));
                EXPECT_TRUE(!read.ok() ||
                            (read->bytes >= 0 && read->available.task >= 0));
                return read.ok();
              });
  ReadDamaged(WriteHoldSteps(SampleHold()), [](bus::Message message) {
    const auto read = ReadHoldSteps(std::move(message));
    EXPECT_TRUE(!read.ok() || read->lease <= Worker::kMaxLease);
    return read.ok();
  });
  ReadDamaged(WriteWriters(SampleHold().writers), [](bus::Message message) {
    return ReadWriters(std::move(message)).ok();
  });
  ReadDamaged(WriteDescribeWaits({11, 30}), [](bus::Message message) {
    return ReadDescribeWaits(std::move(message)).ok();
  });
  ReadDamaged(WriteWaits({"tensor x:0"}), [](bus::Message message) {
    return ReadWaits(std::move(message)).ok();
  });
}

}  // namespace
}  // namespace weft::protocol
