// Counts work instead of timing it: allocations and copies of a step after a
// warm-up, in one process and between tasks over sockets. The bounds hold on
// any machine and under any load.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "integration_tests/clusters/counted_memory.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr int kBatch = 16, kInputs = 32, kHidden = 24, kClasses = 10;

class CountedWorkTest : public ::testing::Test {
 protected:
  ops::Variable Weights(const std::string& name, TensorShape shape) {
    Tensor value(DT_FLOAT, shape);
    float next = 0.01f;
    for (float& v : value.mutable_flat<float>()) v = (next = -next * 1.01f);
    return ops::Variable(root_.WithName(name), value);
  }

  void SetUp() override {
    images_ = ops::Placeholder(root_, DT_FLOAT, {.shape = {kBatch, kInputs}});
    labels_ = ops::Placeholder(root_, DT_INT32, {.shape = {kBatch}});
    w0_ = Weights("w0", {kInputs, kHidden});
    auto b0 = Weights("b0", {kHidden});
    w1_ = Weights("w1", {kHidden, kClasses});
    auto b1 = Weights("b1", {kClasses});
    Output hidden = ops::Relu(
        root_, ops::BiasAdd(root_, ops::MatMul(root_, images_, w0_), b0));
    Output logits = ops::BiasAdd(root_, ops::MatMul(root_, hidden, w1_), b1);
    loss_ = ops::Mean(
        root_,
        ops::SparseSoftmaxCrossEntropyWithLogits(root_, logits, labels_).loss,
        {0});
    train_ = train::GradientDescent(0.05f).Minimize(root_, loss_);
    ASSERT_OK(root_.status());
    // Disables the timer that checks for slow steps, because its allocations
    // would be counted.
    auto session = Session::Connect(
        "", root_,
        {.log_waits_after = absl::InfiniteDuration(), .process = &process_});
    ASSERT_OK(session);
    session_ = *std::move(session);
    ASSERT_OK(session_->Run(ops::GlobalVariablesInitializer(root_)));
    auto step = session_->MakeCallable({images_, labels_}, {loss_}, {train_});
    ASSERT_OK(step);
    step_ = *std::move(step);
    for (int i = 0; i < 50; ++i) Step();  // warm-up
  }

  // Must not use a gMock matcher, which would allocate.
  void Step() {
    const absl::Status status =
        step_->RunInto(feeds_, absl::MakeSpan(&result_, 1));
    if (!status.ok()) ADD_FAILURE() << status;
  }

  // Returns the address of the buffer of `variable`.
  const void* Address(const ops::Variable& variable) {
    auto value = session_->Run(Output(variable));
    EXPECT_TRUE(value.ok()) << value.status();
    return value->data();
  }

  Process process_{{.compute_threads = 1}};
  Scope root_ = Scope::Root();
  Output images_, labels_, loss_;
  ops::Variable w0_, w1_;
  Operation train_;
  const Tensor feeds_[2] = {Tensor(DT_FLOAT, {kBatch, kInputs}),
                            Tensor(DT_INT32, {kBatch})};
  Tensor result_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> step_;
};

// Tolerated allocations. Nodes run on different threads in each step, so
// occasionally more blocks of a size are in use than ever before. An allocation
// in every step would be counted kSteps times.
constexpr int kSteps = 1000;
constexpr int kNowAndThen = kSteps / 20;

TEST_F(CountedWorkTest, WarmStepUsesOnlyPooledMemory) {
  const BufferPoolStats before = process_.buffers().stats();
  for (int i = 0; i < kSteps; ++i) Step();
  const BufferPoolStats after = process_.buffers().stats();
  EXPECT_LT(after.system_allocations - before.system_allocations, kNowAndThen);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_GE(after.allocations - before.allocations, kSteps);
}

// Makes no heap allocation even in a step that follows a traced step.
TEST_F(CountedWorkTest, WarmStepMakesNoHeapAllocation) {
  RunMetadata metadata;
  ASSERT_OK(
      step_->Run(feeds_, {.trace_level = TraceLevel::kFullTrace}, &metadata));
  EXPECT_FALSE(metadata.step_stats.dev_stats.empty());
  const int64_t before = HeapAllocations();
  for (int i = 0; i < kSteps; ++i) Step();
  EXPECT_LT(HeapAllocations() - before, kNowAndThen);
}

TEST_F(CountedWorkTest, WarmStepCopiesNoTensor) {
  if (!CopiesAreCounted()) GTEST_SKIP() << "the sanitizer copies by itself";
  const int64_t before = CopiedBytes();
  for (int i = 0; i < kSteps; ++i) Step();
  EXPECT_EQ(CopiedBytes() - before, 0);
}

TEST_F(CountedWorkTest, VariablesAreUpdatedInPlace) {
  const void* w0 = Address(w0_);
  const void* w1 = Address(w1_);
  for (int i = 0; i < 3; ++i) {
    Step();
    EXPECT_EQ(Address(w0_), w0);
    EXPECT_EQ(Address(w1_), w1);
  }
}

TEST_F(CountedWorkTest, ValueHeldByReaderIsNotOverwritten) {
  auto kept = session_->Run(Output(w1_));
  ASSERT_OK(kept);
  const Tensor copy = *kept->DeepCopy(HeapAllocator());
  Step();
  EXPECT_TRUE(SameBits(*kept, copy));
  EXPECT_NE(Address(w1_), kept->data()) << "the writer made its own copy";
}

// Counts the allocations of the client and all tasks in a step, over real
// sockets. Most of them are for messages: an envelope, a body, and the object
// that keeps an attachment alive, at either end. counted_messages_test counts
// the messages. Each bound is a tenth above the usual count, because the timing
// of threads varies.
class CountedClusterWorkTest : public ::testing::Test {
 protected:
  void Connect() {
    auto session = Session::Connect(cluster_.target("worker", 0), root_,
                                    cluster_.session_options());
    ASSERT_OK(session);
    session_ = *std::move(session);
  }

  double AllocationsOf(const std::vector<Output>& fetches,
                       const std::vector<Operation>& targets) {
    auto callable = session_->MakeCallable({}, fetches, targets);
    EXPECT_TRUE(callable.ok()) << callable.status();
    std::vector<Tensor> results(fetches.size());
    constexpr int kWarmSteps = 50, kCountedSteps = 200;
    int64_t before = 0;
    for (int i = 0; i < kWarmSteps + kCountedSteps; ++i) {
      if (i == kWarmSteps) before = HeapAllocations();
      const absl::Status status =
          (*callable)->RunInto({}, absl::MakeSpan(results));
      if (!status.ok()) ADD_FAILURE() << status;
    }
    return static_cast<double>(HeapAllocations() - before) / kCountedSteps;
  }

  TestCluster cluster_{
      {.kind = ClusterKind::kSockets, .jobs = {{"ps", 1}, {"worker", 2}}}};
  Scope root_ = Scope::Root();
  const Scope ps_ = root_.WithDevice("/job:ps/task:0/cpu:0");
  const Scope worker_ = root_.WithDevice("/job:worker/task:0/cpu:0");
  const Scope other_worker_ = root_.WithDevice("/job:worker/task:1/cpu:0");
  std::unique_ptr<Session> session_;
};

TEST_F(CountedClusterWorkTest, EmptyStepAllocatesLittle) {
  Operation noop = ops::NoOp(worker_);
  Connect();
  EXPECT_LE(AllocationsOf({}, {noop}), 26);
}

TEST_F(CountedClusterWorkTest, StepOnThreeTasksAllocatesLittle) {
  ops::Variable a(ps_.WithName("a"), 1.0f);
  Output c = ops::Add(other_worker_, a, ops::Add(worker_, a, 2.0f));
  Connect();
  ASSERT_OK(session_->Run(a.initializer()));
  EXPECT_LE(AllocationsOf({c}, {}), 130);
}

TEST_F(CountedClusterWorkTest, PullAndPushOfOneMegabyteAllocatesLittle) {
  constexpr int kFloats = 1 << 18;
  ops::Variable on_ps(ps_.WithName("on_ps"), ops::Fill(ps_, {kFloats}, 1.0f));
  ops::Variable on_worker(worker_.WithName("on_worker"),
                          ops::Fill(worker_, {kFloats}, 1.0f));
  Output pull = ops::Slice(worker_, on_ps, {kFloats - 1}, {1});
  Operation push = ops::AssignAdd(ps_, on_ps, on_worker);
  Connect();
  ASSERT_OK(session_->Run(on_ps.initializer()));
  ASSERT_OK(session_->Run(on_worker.initializer()));
  EXPECT_LE(AllocationsOf({pull}, {}), 88);
  EXPECT_LE(AllocationsOf({}, {push}), 86);
}

}  // namespace
}  // namespace weft
