// Tests sessions on a fake GPU with its own memory (FakeDevice), which runs on
// the host: copies, values that stay on the device, saves, and errors.
// tools/conformance/fake_gpu_test.cc compares the values of all recorded cases.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"
#include "libs/runtime/testing/fake_gpu_platform.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class FakeGpuTest : public testing::Test {
 protected:
  std::unique_ptr<Process> NewProcess(int64_t arena_bytes = int64_t{1} << 30) {
    ProcessOptions options;
    options.file_system = &files_;
    options.gpu_platform = std::make_shared<FakeGpuPlatform>(
        [this](FakeDevice& device) { gpus_.push_back(&device); }, arena_bytes);
    return std::make_unique<Process>(options);
  }
  FakeGpuTest() : process_(NewProcess()) {}

  SessionOptions WithGpus(int count) {
    SessionOptions options;
    options.process = process_.get();
    options.device_count["GPU"] = count;
    return options;
  }
  std::unique_ptr<Session> Connect(const Scope& scope) {
    auto session = Session::Connect("", scope, WithGpus(1));
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  FakeDevice& gpu() { return *gpus_.at(0); }

  MemoryFileSystem files_;
  std::vector<FakeDevice*> gpus_;
  std::unique_ptr<Process> process_;
  const Scope root_ = Scope::Root();
  const Scope gpu_ = root_.WithDevice("/gpu:0");
};

// Trains a slope by gradient descent. The results of a few steps are exact in
// floats.
struct Slope {
  Slope(const Scope& scope, bool use_resource) {
    w = ops::Variable(scope.WithName("w"),
                      Tensor::FromValues<float>({2}, {1, 2}),
                      {.use_resource = use_resource});
    x = ops::Placeholder(scope, DT_FLOAT);
    const Output loss = ops::Sum(scope, ops::Mul(scope, w, x), 0);
    train = train::Momentum(0.5f, 0.5f).Minimize(scope, loss);
    init = ops::GlobalVariablesInitializer(scope);
  }
  ops::Variable w;
  Output x;
  Operation train, init;
};

TEST_F(FakeGpuTest, VariableIsTrainedOnItsDevice) {
  for (const bool use_resource : {false, true}) {
    const Scope root = Scope::Root();
    Slope slope(root.WithDevice("/gpu:0"), use_resource);
    auto session = Connect(root);
    ASSERT_OK(session->Run(slope.init));
    const Tensor x = Tensor::FromValues<float>({2}, {1, -1});
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK(session->Run({{slope.x, x}}, {}, {slope.train}));
    }
    auto w = session->Run(slope.w);
    ASSERT_OK(w);
    EXPECT_FALSE(w->IsOnDevice());
    EXPECT_TRUE(SameBits(*w, Tensor::FromValues<float>({2}, {-0.25, 3.25})))
        << w->ToString();
    EXPECT_GT(gpus_.back()->launches(), 0);
  }
}

TEST_F(FakeGpuTest, ValuesOnTheDeviceAreNotCopied) {
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  Output y = x;
  for (int i = 0; i < 5; ++i) y = ops::Mul(gpu_, ops::Identity(gpu_, y), x);
  auto session = Connect(root_);
  const Tensor two = Tensor::Vector<float>({2, 1});
  ASSERT_OK(session->Run({{x, two}}, y));
  const int64_t to_device = gpu().copies_to_device();
  const int64_t to_host = gpu().copies_to_host();
  auto result = session->Run({{x, two}}, y);
  ASSERT_OK(result);
  EXPECT_EQ(result->flat<float>()[0], 64);
  EXPECT_EQ(gpu().copies_to_device(), to_device + 1);
  EXPECT_EQ(gpu().copies_to_host(), to_host + 1);
}

TEST_F(FakeGpuTest, ConstantIsCopiedOnce) {
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  const Output y = ops::Mul(gpu_, x, ops::Const(gpu_, 3.0f));
  auto session = Connect(root_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(session->Run({{x, Tensor::Scalar(2.0f)}}, y));
  }
  EXPECT_EQ(gpu().copies_to_device(), 1 + 3);
}

TEST_F(FakeGpuTest, ClosedSessionFreesDeviceMemory) {
  const Scope root = Scope::Root();
  Slope slope(root.WithDevice("/gpu:0"), true);
  auto session = Connect(root);
  ASSERT_OK(session->Run(slope.init));
  const int64_t before = gpu().bytes_in_use();
  EXPECT_GT(before, 0);
  const Tensor x = Tensor::Vector<float>({1, -1});
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(session->Run({{slope.x, x}}, {}, {slope.train}));
  }
  // Remaining are at most the constants of the step and one feed.
  EXPECT_LE(gpu().bytes_in_use(), before + 8 * 256);
}

TEST_F(FakeGpuTest, BranchesAndLoopsRunOnTheDevice) {
  const Output n = ops::Placeholder(gpu_, DT_INT32);
  auto loop = ops::WhileLoop(
      gpu_, {n, ops::Const(gpu_, 1.0f)},
      [](const Scope& s, const std::vector<Output>& in) {
        return ops::Greater(s, in[0], 0);
      },
      [](const Scope& s, const std::vector<Output>& in) {
        return std::vector<Output>{ops::Sub(s, in[0], 1),
                                   ops::Mul(s, in[1], 2.0f)};
      });
  auto session = Connect(root_);
  auto power = session->Run({{n, Tensor::Scalar<int32_t>(10)}}, loop[1]);
  ASSERT_OK(power);
  EXPECT_EQ(power->scalar<float>(), 1024);
}

// Each iteration copies only the loop condition to the host.
TEST_F(FakeGpuTest, LoopStacksStayOnTheDevice) {
  const Output n = ops::Placeholder(gpu_, DT_INT32);
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  auto loop = ops::WhileLoop(
      gpu_, {n, x},
      [](const Scope& s, const std::vector<Output>& in) {
        return ops::Greater(s, in[0], 0);
      },
      [](const Scope& s, const std::vector<Output>& in) {
        return std::vector<Output>{ops::Sub(s, in[0], 1),
                                   ops::Square(s, in[1])};
      });
  const auto gradients = AddGradients(gpu_, {loop[1]}, {x});
  ASSERT_OK(gradients);
  auto session = Connect(root_);
  const auto run = [&](int turns) {
    const int64_t before = gpu().copies_to_host() + gpu().copies_to_device();
    auto gradient = session->Run(
        {{n, Tensor::Scalar<int32_t>(turns)}, {x, Tensor::Scalar(1.5f)}},
        (*gradients)[0].dense);
    EXPECT_OK(gradient);
    const float expected = turns == 1 ? 3 : 13.5f;
    if (gradient.ok()) {
      EXPECT_EQ(gradient->scalar<float>(), expected);
    }
    return gpu().copies_to_host() + gpu().copies_to_device() - before;
  };
  run(1);  // warms up: one-time copies are not counted
  EXPECT_EQ(run(2), run(1));
}

// Stack pushes and pops run on the device of the stack, even if another device
// is requested. That device could not read the pushed values.
TEST_F(FakeGpuTest, StackPushesAndPopsAreColocated) {
  const Output stack = root_.AddOutput("Stack", {}, {{"elem_type", DT_FLOAT}});
  const Output pushed =
      gpu_.AddOutput("StackPush", {stack, ops::Const(gpu_, 1.5f)});
  const Output popped =
      root_.WithDevice("/gpu:1").WithControlDependencies({pushed}).AddOutput(
          "StackPop", {stack}, {{"elem_type", DT_FLOAT}});
  auto session = Session::Connect("", root_, WithGpus(2));
  ASSERT_OK(session);
  auto value = (*session)->Run(popped);
  ASSERT_OK(value);
  EXPECT_EQ(value->scalar<float>(), 1.5f);
}

TEST_F(FakeGpuTest, VariablesAreSavedAndRestored) {
  for (const bool use_resource : {false, true}) {
    const Scope root = Scope::Root();
    Slope slope(root.WithDevice("/gpu:0"), use_resource);
    train::SaverOptions options;
    options.file_system = &files_;
    train::Saver saver(root, options);
    std::string path;
    {
      SessionOptions with_gpu = WithGpus(1);
      with_gpu.allow_soft_placement = true;
      auto session = Session::Connect("", root, with_gpu);
      ASSERT_OK(session);
      ASSERT_OK((*session)->Run(slope.init));
      ASSERT_OK((*session)->Run({{slope.x, Tensor::Vector<float>({1, -1})}}, {},
                                {slope.train}));
      auto saved = saver.Save(**session, "/ckpt/model");
      ASSERT_OK(saved);
      path = *saved;
    }
    SessionOptions with_gpu = WithGpus(1);
    with_gpu.allow_soft_placement = true;
    auto session = Session::Connect("", root, with_gpu);
    ASSERT_OK(session);
    ASSERT_OK(saver.Restore(**session, path));
    auto w = (*session)->Run(slope.w);
    ASSERT_OK(w);
    EXPECT_TRUE(SameBits(*w, Tensor::Vector<float>({0.5, 2.5})))
        << w->ToString();
  }
}

TEST_F(FakeGpuTest, FailedDeviceEndsOnlyItsSteps) {
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  const Output y = ops::Mul(gpu_, x, x);
  const Output z = ops::Add(root_.WithDevice("/cpu:0"), 1.0f, 2.0f);
  auto session = Connect(root_);
  ASSERT_OK(session->Run({{x, Tensor::Scalar(2.0f)}}, y));
  gpu().Fail(absl::InternalError(
      absl::StrCat("the device ", gpu().name(), " is lost")));
  auto lost = session->Run({{x, Tensor::Scalar(2.0f)}}, y);
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(lost.status().message(), HasSubstr("GPU:0 is lost"));
  auto sum = session->Run(z);
  ASSERT_OK(sum);
  EXPECT_EQ(sum->scalar<float>(), 3);
}

// The step has no op that waits for a result of the device. It ends only when
// its kernels have ended, so an error after the last launch fails the step.
TEST_F(FakeGpuTest, StepWaitsForItsDevice) {
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  const Output y = ops::Mul(gpu_.WithName("y"), x, x);
  auto session = Connect(root_);
  const Tensor two = Tensor::Scalar(2.0f);
  ASSERT_OK(session->Run({{x, two}}, {}, {y}));
  gpu().FailAfterNextLaunch(absl::InternalError(
      absl::StrCat("the device ", gpu().name(), " is lost")));
  const auto late = session->Run({{x, two}}, {}, {y});
  EXPECT_THAT(late, StatusIs(absl::StatusCode::kInternal, "GPU:0 is lost"));
  const std::string text(late.status().message());
  EXPECT_THAT(text, HasSubstr("the last nodes of the step that ran there: "));
  EXPECT_THAT(text, HasSubstr("y (Mul)"));
}

TEST_F(FakeGpuTest, FedBufferIsReturnedToCaller) {
  const ops::Variable v(gpu_.WithName("v"), Tensor::Vector<float>({0, 0}),
                        {.use_resource = true});
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  const Output assign = ops::Assign(gpu_, v, x);
  auto session = Connect(root_);
  for (int i = 0; i < 20; ++i) {
    const Tensor value = Tensor::Vector<float>({1, 2});
    ASSERT_OK(session->Run({{x, value}}, {}, {assign}));
    EXPECT_TRUE(value.RefCountIsOne()) << i;
  }
}

TEST_F(FakeGpuTest, OutOfMemoryNamesNodeDeviceAndHolders) {
  process_ = NewProcess(/*arena_bytes=*/1 << 20);
  const ops::Variable held(gpu_.WithName("held"),
                           Tensor(DT_FLOAT, TensorShape({1000})));
  const Output big =
      ops::Fill(gpu_.WithName("big"), {1024, 1024}, ops::Const(gpu_, 1.0f));
  const Output sum = ops::Sum(gpu_, big, {0, 1});
  auto session = Connect(root_);
  ASSERT_OK(session->Run(held.initializer()));
  auto result = session->Run(sum);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(result.status().message(), HasSubstr("[1024,1024]"));
  EXPECT_THAT(result.status().message(), HasSubstr("GPU:0"));
  EXPECT_THAT(result.status().message(), HasSubstr("big"));
  EXPECT_THAT(result.status().message(), HasSubstr("of its 1048576 bytes"));
  EXPECT_THAT(result.status().message(),
              HasSubstr("1 variable 4000 (held 4000)"));
}

TEST_F(FakeGpuTest, TooManyGpusAreRejected) {
  auto session = Session::Connect("", root_, WithGpus(7));
  EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(session.status().message(), HasSubstr("there are 2 GPUs"));
}

TEST_F(FakeGpuTest, GpuIndexOutOfRangeIsRejected) {
  const Output y = ops::Mul(root_.WithDevice("/gpu:7"), 2.0f, 3.0f);
  auto session = Session::Connect("", root_, WithGpus(2));
  ASSERT_OK(session);
  auto result = (*session)->Run(y);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("GPU:7"));
}

TEST_F(FakeGpuTest, TwoGpusExchangeValues) {
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  const Output y = ops::Mul(gpu_, x, x);
  const Output z = ops::Mul(root_.WithDevice("/gpu:1"), y, y);
  auto session = Session::Connect("", root_, WithGpus(2));
  ASSERT_OK(session);
  auto result = (*session)->Run({{x, Tensor::Scalar(2.0f)}}, z);
  ASSERT_OK(result);
  EXPECT_EQ(result->scalar<float>(), 16);
}

}  // namespace
}  // namespace weft
