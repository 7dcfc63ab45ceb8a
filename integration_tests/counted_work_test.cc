// Work that is counted, not timed: what a warm training step allocates and
// copies. These hold on any machine, however busy.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <set>

#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace {
std::atomic<int64_t> heap_allocations{0};
}  // namespace

// Counts every allocation of this program that goes through operator new.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
void* operator new(size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

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
    // Without the timer that looks for slow steps.
    auto session = Session::Connect(
        "", root_,
        {.log_waits_after = absl::InfiniteDuration(), .process = &process_});
    ASSERT_OK(session);
    session_ = *std::move(session);
    ASSERT_OK(session_->Run(ops::GlobalVariablesInitializer(root_)));
    auto step = session_->MakeCallable({images_, labels_}, {loss_}, {train_});
    ASSERT_OK(step);
    step_ = *std::move(step);
    for (int i = 0; i < 50; ++i) Step();  // warm
  }

  // No matcher here: it would allocate.
  void Step() {
    const absl::Status status =
        step_->RunInto(feeds_, absl::MakeSpan(&result_, 1));
    if (!status.ok()) ADD_FAILURE() << status;
  }

  // Where a variable's memory lies.
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

// Which thread runs which node differs from step to step, so once in a while
// more blocks of a size are in use at one moment than ever before. Work that
// belongs to each step would show kSteps times.
constexpr int kSteps = 1000;
constexpr int kNowAndThen = kSteps / 20;

TEST_F(CountedWorkTest, AWarmStepTakesOnlyMemoryThatThePoolHas) {
  const BufferPoolStats before = process_.buffers().stats();
  for (int i = 0; i < kSteps; ++i) Step();
  const BufferPoolStats after = process_.buffers().stats();
  EXPECT_LT(after.system_allocations - before.system_allocations, kNowAndThen);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_GE(after.allocations - before.allocations, kSteps);
}

TEST_F(CountedWorkTest, AWarmStepAllocatesNothingOnTheHeap) {
  const int64_t before = heap_allocations.load();
  for (int i = 0; i < kSteps; ++i) Step();
  EXPECT_LT(heap_allocations.load() - before, kNowAndThen);
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

TEST_F(CountedWorkTest, AReaderThatKeepsAValueSeesItUnchanged) {
  auto kept = session_->Run(Output(w1_));
  ASSERT_OK(kept);
  const Tensor copy = *kept->DeepCopy(HeapAllocator());
  Step();
  EXPECT_TRUE(SameBits(*kept, copy));
  EXPECT_NE(Address(w1_), kept->data()) << "the writer made its own copy";
}

}  // namespace
}  // namespace weft
