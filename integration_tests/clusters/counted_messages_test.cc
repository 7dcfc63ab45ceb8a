// Counts the cost of a warm step between tasks on a simulated cluster, where
// messages, bytes, copies and buffers are deterministic. A comment explains
// each number. A change that lowers a cost must lower the number here; one that
// raises it must explain why.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "integration_tests/clusters/counted_memory.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "schemas/body_generated.h"
#include "schemas/envelope_generated.h"

namespace weft {
namespace {

// Number of control channel messages by type. The types are named as in
// schemas/body.fbs.
using Messages = std::map<std::string, int>;

// Value messages by route, for example "ps:0 to worker:0". Each element is the
// number of values in one message. Messages with other contents are omitted.
using Pushes = std::map<std::string, std::vector<int>>;

struct StepCost {
  Messages messages;
  Pushes pushes;  // those of `messages` that contain only values
  // Total size of control channel messages without attachments. Values of at
  // most 1 KiB are part of the messages.
  int64_t control_bytes = 0;
  // Bytes of attachments on the control channel: values below 64 KiB, and
  // medium-sized values that are sent with their message. `chunks` counts the
  // chunks of 1 MiB on the bulk channel.
  int64_t small_bytes = 0;
  int chunks = 0;
  int64_t chunk_bytes = 0;
  // Bytes copied by memcpy, for values of 1 KiB and more. Each value is copied
  // once, from the message to its buffer.
  int64_t copied_bytes = 0;
  // Number of tensor buffers taken from the pools of all processes.
  int64_t buffers = 0;
};

std::string KindOf(const schemas::Envelope& envelope) {
  if (envelope.kind() == schemas::Kind::Cancel) return "Cancel";
  if (envelope.method() == 0) return "Error";
  return schemas::EnumNameBody(static_cast<schemas::Body>(envelope.method()));
}

// Returns "ps:0 to worker:0", for example. The message has full task names such
// as "/job:ps/replica:0/task:0".
std::string RouteOf(const bus::MessageInfo& message) {
  return absl::StrReplaceAll(absl::StrCat(message.from, " to ", message.to),
                             {{"/job:", ""}, {"/replica:0/task", ""}});
}

class CountedMessagesTest : public ::testing::Test {
 protected:
  explicit CountedMessagesTest(
      const std::map<std::string, int>& jobs = {{"ps", 1}, {"worker", 2}})
      : jobs_(jobs), cluster_({.kind = ClusterKind::kSimulated, .jobs = jobs}) {
    cluster_.network().set_hook([this](const bus::MessageInfo& message) {
      Count(message);
      return bus::HookResult{};
    });
  }

  void Count(const bus::MessageInfo& message) {
    if (message.channel_kind == bus::ChannelKind::kBulk) {
      ++cost_.chunks;
      cost_.chunk_bytes += static_cast<int64_t>(message.frames->back().size());
      return;
    }
    // The frames of a message are its envelope, its body and each small
    // attachment.
    const bus::Frames& frames = *message.frames;
    const std::string kind = KindOf(*schemas::GetEnvelope(frames[0].data()));
    ++cost_.messages[kind];
    if (kind == "Pushes") {
      const auto* body =
          flatbuffers::GetRoot<schemas::Message>(frames[1].data());
      cost_.pushes[RouteOf(message)].push_back(
          static_cast<int>(body->body_as_Pushes()->pushes()->size()));
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      int64_t& bytes = i < 2 ? cost_.control_bytes : cost_.small_bytes;
      bytes += static_cast<int64_t>(frames[i].size());
    }
  }

  // Connects to a task from a separate machine, or from `process` if it is
  // given.
  void Connect(const std::string& job, int index, Process* process = nullptr) {
    SessionOptions options = cluster_.session_options();
    if (process != nullptr) options.process = process;
    auto session =
        Session::Connect(cluster_.target(job, index), root_, options);
    ASSERT_OK(session);
    session_ = *std::move(session);
  }

  // Returns the cost of the fourth run of the callable. By then all connections
  // exist, and the objects of finished steps are reused.
  StepCost CostOf(const std::vector<Output>& fetches,
                  const std::vector<Operation>& targets,
                  const FeedList& feed_list = {}) {
    std::vector<Output> feeds;
    std::vector<Tensor> values;
    for (const auto& [feed, value] : feed_list) {
      feeds.push_back(feed);
      values.push_back(value);
    }
    auto callable = session_->MakeCallable(feeds, fetches, targets);
    EXPECT_TRUE(callable.ok()) << callable.status();
    int64_t buffers = 0, copied = 0;
    for (int i = 0; i < 4; ++i) {
      cluster_.scheduler().RunUntilIdle();
      cost_ = {};
      buffers = BuffersTaken();
      copied = CopiedBytes();
      const auto result = (*callable)->Run(values);
      EXPECT_TRUE(result.ok()) << result.status();
      cluster_.scheduler().RunUntilIdle();
    }
    cost_.copied_bytes = CopiedBytes() - copied;
    cost_.buffers = BuffersTaken() - buffers;
    return cost_;
  }

  int64_t BuffersTaken() {
    int64_t taken =
        cluster_.session_options().process->buffers().stats().allocations;
    for (const auto& [job, num_tasks] : jobs_) {
      for (int i = 0; i < num_tasks; ++i) {
        taken += cluster_.process(job, i).buffers().stats().allocations;
      }
    }
    return taken;
  }

  static void ExpectCopied(int64_t expected, const StepCost& cost) {
    if (!CopiesAreCounted()) return;
    EXPECT_EQ(cost.copied_bytes, expected);
  }

  size_t PeakBytes(const std::string& job) {
    return static_cast<size_t>(
        cluster_.process(job, 0).buffers().stats().peak_bytes_in_use);
  }

  Scope At(const std::string& task) {
    return root_.WithDevice(absl::StrCat("/job:", task, "/cpu:0"));
  }
  // Opens a session on worker `worker` and initializes a. `c` on worker:1 is
  // the sum of a on ps:0 and b on worker:0, and b is computed from a.
  void StartThreeTasks(int worker, Output* c) {
    ops::Variable a(At("ps/task:0").WithName("a"), 1.0f);
    Output b = ops::Add(At("worker/task:0"), a, 2.0f);
    *c = ops::Add(At("worker/task:1"), a, b);
    Connect("worker", worker);
    ASSERT_OK(session_->Run(a.initializer()));
  }
  // Returns a variable whose initial value has `num_floats` floats.
  ops::Variable Large(const std::string& task, const std::string& name,
                      int num_floats) {
    return ops::Variable(At(task).WithName(name),
                         ops::Fill(At(task), ops::Const(At(task), {num_floats}),
                                   ops::Const(At(task), 1.0f)));
  }

  const std::map<std::string, int> jobs_;
  // outlives the cluster, which sends messages during its destruction
  StepCost cost_;
  TestCluster cluster_;
  Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

// The messages of the client and of the master for each run.
const Messages kClient = {{"RunCallable", 1}, {"RunCallableReply", 1}};

// Returns `messages` together with the client's messages.
Messages WithClient(Messages messages) {
  messages.insert(kClient.begin(), kClient.end());
  return messages;
}

TEST_F(CountedMessagesTest, EmptyStepIsOneRoundTrip) {
  Operation noop = ops::NoOp(At("worker/task:0"));
  Connect("worker", 0);
  const StepCost cost = CostOf({}, {noop});
  EXPECT_EQ(cost.messages, kClient);
  // Two envelopes, each with the ids of session and callable.
  EXPECT_LE(cost.control_bytes, 400);
  EXPECT_EQ(cost.small_bytes, 0);
  EXPECT_EQ(cost.chunks, 0);
  EXPECT_EQ(cost.buffers, 0);
  ExpectCopied(0, cost);
}

TEST_F(CountedMessagesTest, StepOnThreeTasks) {
  Output c;
  ASSERT_NO_FATAL_FAILURE(StartThreeTasks(0, &c));
  const StepCost cost = CostOf({c}, {});
  EXPECT_EQ(cost.messages, WithClient({
                               // To ps:0 and worker:1, and the replies.
                               {"RunPartition", 2},
                               {"RunPartitionReply", 2},
                               // a and b are pushed to worker:1; a is returned
                               // to worker:0 in the reply of ps:0.
                               {"Pushes", 2},
                           }));
  EXPECT_LE(cost.control_bytes, 1500);
  EXPECT_EQ(cost.small_bytes, 0);
  EXPECT_EQ(cost.chunks, 0);
  // Receive buffers: two for a, one for b, and two for c, at worker:0 and at
  // the client. The sums are computed in place.
  EXPECT_EQ(cost.buffers, 5);
  ExpectCopied(0, cost);
}

TEST_F(CountedMessagesTest, StepOnThreeTasksFetchingFromTheLast) {
  Output c;
  ASSERT_NO_FATAL_FAILURE(StartThreeTasks(1, &c));
  const StepCost cost = CostOf({c}, {});
  EXPECT_EQ(cost.messages, WithClient({{"RunPartition", 2},
                                       {"RunPartitionReply", 2},
                                       // a is sent to worker:0; a and b are
                                       // sent to worker:1 with the replies.
                                       {"Pushes", 1}}));
  // The same buffers as in StepOnThreeTasks, except that worker:0 does not
  // receive c: it is sent directly to the client.
  EXPECT_EQ(cost.buffers, 4);
}

TEST_F(CountedMessagesTest, ValueForTwoNodesIsSentOnce) {
  ops::Variable a(At("ps/task:0").WithName("a"), 1.0f);
  const Scope worker = At("worker/task:0");
  Output b = ops::Add(worker, ops::Neg(worker, a), ops::Square(worker, a));
  Connect("worker", 0);
  ASSERT_OK(session_->Run(a.initializer()));
  EXPECT_EQ(CostOf({b}, {}).messages, WithClient({{"RunPartition", 1},
                                                  // The reply contains the
                                                  // value.
                                                  {"RunPartitionReply", 1}}));
}

constexpr int kFloats = 3 << 20;
constexpr int64_t kBytes = int64_t{kFloats} * 4;  // 12 chunks

// The worker pulls (reads) a large variable from the ps.
TEST_F(CountedMessagesTest, LargeValuesAreSentOnceInChunks) {
  ops::Variable a = Large("ps/task:0", "a", kFloats);
  const Scope worker = At("worker/task:0");
  Output last = ops::Slice(worker, a, ops::Const(worker, {kFloats - 1}),
                           ops::Const(worker, {1}));
  Connect("worker", 0);
  ASSERT_OK(session_->Run(a.initializer()));
  const StepCost cost = CostOf({last}, {});
  EXPECT_EQ(cost.messages, WithClient({{"RunPartition", 1},
                                       // The reply. The value follows in chunks
                                       // on the bulk channel.
                                       {"RunPartitionReply", 1},
                                       // The worker grants the ps credit for
                                       // another 4 MiB, three times.
                                       {"Credit", 3}}));
  EXPECT_EQ(cost.small_bytes, 0);
  EXPECT_EQ(cost.chunks, 12);
  EXPECT_EQ(cost.chunk_bytes, kBytes);
  // The only copy is into the receive buffer. The ps sends directly from the
  // memory of the variable.
  ExpectCopied(kBytes, cost);
  // One receive buffer, and one buffer for the last element on the worker and
  // on the client each.
  EXPECT_EQ(cost.buffers, 3);
  // The ps used two buffers of this size during the initialization, and no more
  // since.
  constexpr size_t kSmall = 1 << 20;
  EXPECT_LT(PeakBytes("ps"), 2 * kBytes + kSmall);
  EXPECT_GE(PeakBytes("worker"), size_t{kBytes});
  EXPECT_LT(PeakBytes("worker"), kBytes + kSmall);
}

// The worker pushes a large variable: it is added to a variable on the ps.
TEST_F(CountedMessagesTest, LargeValuesAreAssignedInPlace) {
  ops::Variable sum = Large("ps/task:0", "sum", kFloats);
  ops::Variable source = Large("worker/task:0", "source", kFloats);
  Operation add = ops::AssignAdd(At("ps/task:0"), sum, source);
  Connect("worker", 0);
  ASSERT_OK(session_->Run(sum.initializer()));
  ASSERT_OK(session_->Run(source.initializer()));
  const StepCost cost = CostOf({}, {add});
  EXPECT_EQ(cost.messages, WithClient({{"RunPartition", 1},
                                       {"RunPartitionReply", 1},
                                       {"Pushes", 1},
                                       {"Credit", 3}}));
  EXPECT_EQ(cost.small_bytes, 0);
  EXPECT_EQ(cost.chunks, 12);
  EXPECT_EQ(cost.chunk_bytes, kBytes);
  ExpectCopied(kBytes, cost);
  // The only buffer is the receive buffer. The sum is computed in place in the
  // variable.
  EXPECT_EQ(cost.buffers, 1);
}

// A replica for asynchronous training. Its program is also the worker task. Its
// variables are placed alternately on two ps tasks, in the order global step,
// w0, b0, w1, b1.
class MlpOnTwoPsTest : public CountedMessagesTest {
 protected:
  static constexpr int kBatch = 64, kInputs = 784, kHidden = 128, kClasses = 10;
  static constexpr int64_t kW0 = 4 * kInputs * kHidden,
                           kW1 = 4 * kHidden * kClasses;  // bytes

  MlpOnTwoPsTest() : CountedMessagesTest({{"ps", 2}, {"worker", 1}}) {
    const Scope scope = root_.WithDeviceFunction(ReplicaDeviceSetter(
        {.worker_device = "/job:worker/task:0", .cluster = cluster_.spec()}));
    global_step_ = train::GetOrCreateGlobalStep(scope);
    images_ = ops::Placeholder(scope, DT_FLOAT, {.shape = {kBatch, kInputs}});
    labels_ = ops::Placeholder(scope, DT_INT32, {.shape = {kBatch}});
    Output hidden =
        ops::Relu(scope, Layer(scope, "0", images_, kInputs, kHidden));
    Output logits = Layer(scope, "1", hidden, kHidden, kClasses);
    Output loss = ops::Mean(
        scope,
        ops::SparseSoftmaxCrossEntropyWithLogits(scope, logits, labels_).loss,
        {0});
    train_ = train::GradientDescent(0.05f).Minimize(
        scope, loss, {.global_step = global_step_});
  }

  static Output Layer(const Scope& scope, const std::string& name,
                      const Output& x, int inputs, int units) {
    ops::Variable w(scope.WithName("w" + name),
                    ops::Fill(scope, {inputs, units}, 0.01f));
    ops::Variable b(scope.WithName("b" + name), ops::Fill(scope, {units}, 0.f));
    return ops::BiasAdd(scope, ops::MatMul(scope, x, w), b);
  }

  ops::Variable global_step_;
  Output images_, labels_;
  Operation train_;
};

TEST_F(MlpOnTwoPsTest, StepSendsVariablesAndGradientsOnce) {
  Connect("worker", 0, &cluster_.process("worker", 0));
  ASSERT_OK(session_->Run(ops::GlobalVariablesInitializer(root_)));
  const FeedList feeds = {
      {images_, Tensor(DT_FLOAT, {kBatch, kInputs})},
      {labels_, Tensor(DT_INT32, {kBatch})},
  };
  const StepCost cost = CostOf({global_step_}, {train_}, feeds);
  EXPECT_EQ(cost.messages, (Messages{
                               // To both ps tasks, and the replies.
                               {"RunPartition", 2},
                               {"RunPartitionReply", 2},
                               {"Pushes", 8},  // listed by route below
                           }));
  EXPECT_EQ(cost.pushes,
            (Pushes{
                // b0 and b1 in one message, and later the signal that they are
                // updated.
                {"ps:0 to worker:0", {2, 1}},
                // w0 and w1. The reply contains the signal that they are
                // updated.
                {"ps:1 to worker:0", {1, 1}},
                // The gradients of b0 and b1. Then the signal that all
                // variables are updated, after which the ps increments the
                // global step. The learning rate is already on the ps.
                {"worker:0 to ps:0", {2, 1}},
                // The gradients of w0 and w1.
                {"worker:0 to ps:1", {1, 1}},
            }));
  EXPECT_LE(cost.control_bytes, 5000);
  // Both weights and both weight gradients, which are medium-sized. The biases
  // and the global step are in message bodies.
  EXPECT_EQ(cost.small_bytes, 2 * (kW0 + kW1));
  EXPECT_EQ(cost.chunks, 0);
  ExpectCopied(2 * (kW0 + kW1), cost);
  EXPECT_EQ(cost.buffers, 22);
}

// An embedding table with one part on each of two ps tasks, and a replica that
// looks up rows. Four distinct rows are looked up, two of them twice.
class LookUpOnTwoPsTest : public CountedMessagesTest {
 protected:
  static constexpr int kRows = 6000, kDim = 128;
  static constexpr int64_t kRow = 4 * kDim;  // bytes of a row

  LookUpOnTwoPsTest() : CountedMessagesTest({{"ps", 2}, {"worker", 1}}) {
    table_ = ops::GetPartitionedVariable(
        scope_, "table", TensorShape({kRows, kDim}),
        {.initializer = ops::initializers::RandomUniform(-1, 1),
         .partitioner = ops::FixedSizePartitioner(2)});
    ids_ = ops::Placeholder(scope_, DT_INT64, {.shape = {6}});
  }

  StepCost CostOfIds(const std::vector<Output>& fetches,
                     const std::vector<Operation>& targets) {
    EXPECT_OK(root_.status());
    Connect("worker", 0, &cluster_.process("worker", 0));
    EXPECT_OK(session_->Run(ops::GlobalVariablesInitializer(root_)));
    return CostOf(fetches, targets,
                  {{ids_, Tensor::Vector<int64_t>({2, 4001, 4, 2, 5, 4001})}});
  }

  const Scope scope_ = root_.WithDeviceFunction(ReplicaDeviceSetter(
      {.worker_device = "/job:worker/task:0", .cluster = cluster_.spec()}));
  ops::PartitionedVariable table_;
  Output ids_;
};

// Only requested rows are sent, in one message per direction and ps task.
TEST_F(LookUpOnTwoPsTest, LookUpFetchesEachRequestedRowOnce) {
  const Output rows = nn::EmbeddingLookup(scope_, table_, ids_);
  const StepCost cost = CostOfIds({rows}, {});
  // The ids for each ps; the rows are in the replies.
  EXPECT_EQ(cost.pushes,
            (Pushes{{"worker:0 to ps:0", {1}}, {"worker:0 to ps:1", {1}}}));
  EXPECT_EQ(
      cost.messages,
      (Messages{{"RunPartition", 2}, {"RunPartitionReply", 2}, {"Pushes", 2}}));
  EXPECT_EQ(cost.chunks, 0);
  EXPECT_LE(cost.control_bytes + cost.small_bytes, 4 * kRow + 3000);
}

// The worker sends ids to each ps, receives rows, and sends the gradients of
// these rows.
const Pushes kSparseUpdate = {{"ps:0 to worker:0", {1}},
                              {"ps:1 to worker:0", {1}},
                              {"worker:0 to ps:0", {1, 1}},
                              {"worker:0 to ps:1", {1, 1}}};

TEST_F(LookUpOnTwoPsTest, UpdateSendsEachRequestedRowOnce) {
  const Output rows = nn::EmbeddingLookup(scope_, table_, ids_);
  const Output loss = ops::Sum(scope_, ops::Square(scope_, rows), {0, 1});
  const Operation update = train::Adagrad(0.1f).Minimize(scope_, loss);
  const StepCost cost = CostOfIds({}, {update});
  EXPECT_EQ(cost.pushes, kSparseUpdate);
  EXPECT_EQ(cost.chunks, 0);
  EXPECT_LE(cost.control_bytes + cost.small_bytes, 2 * 4 * kRow + 4000);
}

// With wide rows, a step transfers a megabyte, which needs only the control
// channel. Rows are large enough that their copies are counted.
TEST_F(LookUpOnTwoPsTest, ManyRowsAreSentOnTheControlChannel) {
  constexpr int kIds = 1000, kDistinct = 600, kWide = 256;
  constexpr int64_t kWideRow = 4 * kWide;
  const auto table = ops::GetPartitionedVariable(
      scope_, "wide", TensorShape({kRows, kWide}),
      {.initializer = ops::initializers::RandomUniform(-1, 1),
       .partitioner = ops::FixedSizePartitioner(2)});
  const auto ids = ops::Placeholder(scope_, DT_INT64, {.shape = {kIds}});
  const Output rows = nn::EmbeddingLookup(scope_, table, ids);
  const Output loss = ops::Sum(scope_, ops::Square(scope_, rows), {0, 1});
  const Operation update = train::GradientDescent(.1f).Minimize(
      scope_, loss, {.var_list = table.parts()});
  Connect("worker", 0, &cluster_.process("worker", 0));
  ASSERT_OK(session_->Run(ops::GlobalVariablesInitializer(root_)));
  Tensor values(DT_INT64, TensorShape({kIds}));
  for (int i = 0; i < kIds; ++i) {
    values.mutable_flat<int64_t>()[i] = i * 7 % kDistinct;
  }
  StepCost cost = CostOf({loss}, {}, {{ids, values}});
  // These messages contain the ids. The rows are in the replies.
  EXPECT_EQ(
      cost.messages,
      (Messages{{"RunPartition", 2}, {"RunPartitionReply", 2}, {"Pushes", 2}}));
  EXPECT_EQ(cost.chunks, 0);
  EXPECT_EQ(cost.small_bytes, kDistinct * (8 + kWideRow));
  // Copied are the received ids, the gathered rows, the received rows, and one
  // row for each occurrence of an id.
  ExpectCopied(kDistinct * 8 + (2 * kDistinct + kIds) * kWideRow, cost);
  cost = CostOf({}, {update}, {{ids, values}});
  EXPECT_EQ(cost.pushes, kSparseUpdate);
  EXPECT_EQ(cost.chunks, 0);
  EXPECT_EQ(cost.small_bytes, kDistinct * (8 + 2 * kWideRow));
  // The gradient of the squares does not materialize a megabyte of equal
  // numbers, which would need a twentieth buffer. It is written into the buffer
  // of the stitched rows.
  EXPECT_EQ(cost.buffers, 19);
}

// A learning rate that is computed by the graph must be sent. A constant one is
// copied to each ps task when the graph is built.
TEST_F(LookUpOnTwoPsTest, ConstantLearningRateIsNotSent) {
  const Output rows = nn::EmbeddingLookup(scope_, table_, ids_);
  const Output loss = ops::Sum(scope_, ops::Square(scope_, rows), {0, 1});
  const Output rate = ops::Mul(scope_, ops::Const(scope_, .5f), .2f);
  const Operation update = train::GradientDescent(rate).Minimize(scope_, loss);
  EXPECT_EQ(CostOfIds({}, {update}).pushes, kSparseUpdate);
}

// The learning rate is a variable. Its ps sends it to the other ps in one
// message, and to no other task.
TEST_F(LookUpOnTwoPsTest, LearningRateOnPsIsSentToOtherPs) {
  const Output rows = nn::EmbeddingLookup(scope_, table_, ids_);
  const Output loss = ops::Sum(scope_, ops::Square(scope_, rows), {0, 1});
  const ops::Variable rate(scope_.WithName("rate"), .1f, {.trainable = false});
  const Operation update = train::GradientDescent(rate).Minimize(scope_, loss);
  Pushes pushes = CostOfIds({}, {update}).pushes;
  EXPECT_EQ(pushes["ps:0 to ps:1"], std::vector<int>({1}));
  pushes.erase("ps:0 to ps:1");
  EXPECT_EQ(pushes, kSparseUpdate);
}

// The loss has 6,000 classes, and only the rows of the five classes that a step
// uses are fetched.
TEST_F(LookUpOnTwoPsTest, SampledLossFetchesOnlySampledRows) {
  const auto biases = ops::GetPartitionedVariable(
      scope_, "biases", TensorShape({kRows}),
      {.initializer = ops::initializers::Zeros(),
       .partitioner = ops::FixedSizePartitioner(2)});
  const nn::SampledValues sampled = {
      ops::Const(scope_, Tensor::Vector<int64_t>({2, 17})),
      ops::Fill(scope_, {6, 1}, .5f), ops::Fill(scope_, {2}, .5f)};
  const Output loss =
      ops::Sum(scope_,
               nn::SampledSoftmaxLoss(
                   scope_, table_, biases, ops::Reshape(scope_, ids_, {6, 1}),
                   ops::Fill(scope_, {6, kDim}, .1f), sampled),
               {0});
  const Operation update = train::GradientDescent(0.1f).Minimize(scope_, loss);
  const StepCost cost = CostOfIds({}, {update});
  EXPECT_EQ(cost.chunks, 0);
  EXPECT_LE(cost.control_bytes + cost.small_bytes, 2 * 5 * (kRow + 4) + 6000);
}

// Gathers rows of a variable on another task.
TEST_F(LookUpOnTwoPsTest, GatherFetchesOnlyRequestedRows) {
  const Output rows = ops::Gather(scope_, table_.parts()[0], {1, 5});
  const StepCost cost = CostOfIds({ops::Neg(scope_, rows)}, {});
  EXPECT_EQ(cost.chunks, 0);
  EXPECT_LE(cost.control_bytes + cost.small_bytes, 2 * kRow + 2000);
}

}  // namespace
}  // namespace weft
