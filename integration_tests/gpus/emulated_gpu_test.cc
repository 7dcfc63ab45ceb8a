// Tests sessions on emulated NVIDIA GPUs (EmulatedCuda): the copies of a
// CudaDevice and their order, its memory, and the errors when the device is
// lost.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/device/cuda/cuda_device.h"
#include "libs/device/cuda/testing/emulated_cuda.h"
#include "libs/runtime/process/cuda_platform.h"
#include "libs/runtime/process/process.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class EmulatedGpuTest : public testing::Test {
 protected:
  EmulatedGpuTest() {
    EmulatedCuda::Reset(testing::UnitTest::GetInstance()->random_seed());
    process_ = std::make_unique<Process>(
        ProcessOptions{.gpu_platform = std::make_shared<CudaPlatform>()});
  }
  // Resets lost devices, so that other tests are not affected.
  ~EmulatedGpuTest() override {
    process_.reset();
    EmulatedCuda::Reset(0);
  }

  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope& scope,
                                                   int gpus = 1) {
    SessionOptions options;
    options.process = process_.get();
    options.device_count["GPU"] = gpus;
    return Session::Connect("", scope, options);
  }
  static Tensor Everywhere(int64_t count, float value) {
    Tensor x(DT_FLOAT, TensorShape({count}));
    for (float& element : x.mutable_flat<float>()) element = value;
    return x;
  }

  std::unique_ptr<Process> process_;
  const Scope root_ = Scope::Root();
  const Scope gpu_ = root_.WithDevice("/gpu:0");
};

// Covers sizes around the 64 KiB up to which values are copied along with
// kernels, and around the chunks of 2 MiB, of which 32 are in flight at a time.
TEST_F(EmulatedGpuTest, ValuesOfAnySizeAreCopiedBothWays) {
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  const Output y = ops::Add(gpu_, x, x);
  ASSERT_OK_AND_ASSIGN(const auto session, Connect(root_));
  for (const int64_t count : {0, 1, 16383, 16384, 16385, (1 << 19) - 1,
                              (1 << 19) + 1, 40 * (1 << 19) + 3}) {
    Tensor fed(DT_FLOAT, TensorShape({count}));
    float* const numbers = fed.mutable_flat<float>().data();
    for (int64_t i = 0; i < count; ++i) {
      numbers[i] = static_cast<float>(i % 4099);
    }
    ASSERT_OK_AND_ASSIGN(const Tensor got, session->Run({{x, fed}}, y));
    ASSERT_EQ(got.num_elements(), count);
    const float* const values = got.flat<float>().data();
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i) {
      wrong += values[i] == static_cast<float>(i % 4099 * 2) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << "of " << count;
  }
}

// A copy may overtake kernels of other steps. It must not overtake a kernel
// that still uses the memory of the copy.
TEST_F(EmulatedGpuTest, ConcurrentStepsKeepTheirValues) {
  // larger than the values that are copied along with kernels
  constexpr int64_t kCount = 20000;
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  Output y = x;
  for (int i = 0; i < 4; ++i) y = ops::Mul(gpu_, y, ops::Const(gpu_, 2.0f));
  ASSERT_OK_AND_ASSIGN(const auto session, Connect(root_));
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      const auto own = static_cast<float>(t);
      for (int i = 0; i < 25; ++i) {
        const auto got = session->Run({{x, Everywhere(kCount, own)}}, y);
        ASSERT_OK(got);
        for (const float value : got->flat<float>()) {
          ASSERT_EQ(value, 16 * own);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(EmulatedGpuTest, TwoGpusExchangeValues) {
  const Output x = ops::Placeholder(gpu_, DT_FLOAT);
  const Output y = ops::Mul(gpu_, x, x);
  const Output z = ops::Mul(root_.WithDevice("/gpu:1"), y, y);
  ASSERT_OK_AND_ASSIGN(const auto session, Connect(root_, 2));
  for (const int64_t count : {1, 100000}) {
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         session->Run({{x, Everywhere(count, 2)}}, z));
    for (const float value : got.flat<float>()) ASSERT_EQ(value, 16);
  }
}

TEST_F(EmulatedGpuTest, TwoGpusComputeConcurrently) {
  const Scope other = root_.WithDevice("/gpu:1");
  const ops::Variable v(gpu_, Everywhere(1000, 1));
  const ops::Variable w(other, Everywhere(1000, 1));
  const Operation both =
      ops::Group(root_, {ops::AssignAdd(gpu_, v, ops::Mul(gpu_, v, v)),
                         ops::AssignAdd(other, w, ops::Mul(other, w, w))});
  const Operation products =
      ops::Group(root_, {ops::Mul(gpu_, v, 2.0f), ops::Mul(other, w, 2.0f)});
  ASSERT_OK_AND_ASSIGN(const auto session, Connect(root_, 2));
  ASSERT_OK(
      session->Run(ops::Group(root_, {v.initializer(), w.initializer()})));
  float expected = 1;
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(session->Run(both));
    expected += expected * expected;
    for (const ops::Variable& variable : {v, w}) {
      ASSERT_OK_AND_ASSIGN(const Tensor got, session->Run(variable));
      for (const float value : got.flat<float>()) ASSERT_EQ(value, expected);
    }
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) ASSERT_OK(session->Run(products));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(EmulatedGpuTest, ClosedSessionsFreeAllDeviceMemory) {
  for (int i = 0; i < 30; ++i) {
    const Scope root = Scope::Root();
    const Scope gpu = root.WithDevice("/gpu:0");
    const ops::Variable v(gpu, Everywhere(1000, 1));
    ASSERT_OK_AND_ASSIGN(auto session, Connect(root));
    ASSERT_OK(session->Run(v.initializer()));
  }
  process_.reset();  // waits until all memory is freed
  EXPECT_EQ(EmulatedCuda::memory_in_use(), 0);
}

// A callback of the device destroys the device. This happens when a session is
// destroyed after it got the result of its last step.
TEST_F(EmulatedGpuTest, DeviceMayBeDestroyedAfterItsWork) {
  const auto random = NewSeededRandom(1);
  Scheduler& scheduler = process_->scheduler();
  ASSERT_OK_AND_ASSIGN(auto devices,
                       NewCudaDevices("/job:localhost/replica:0/task:0",
                                      {.count = 1}, scheduler, *random));
  const auto done = scheduler.NewEvent();
  DeviceContext* const context = devices[0]->context();
  context->WhenDone([&, devices = std::move(devices)](absl::Status) mutable {
    devices.clear();
    done->Set();
  });
  done->Wait();
}

// Trains on a worker's `device`. Returns the weights on the ps, which are large
// enough to be transferred through pinned memory.
Tensor TrainedOn(TestCluster& cluster, const std::string& device) {
  constexpr int kRows = 9, kInputs = 129, kOutputs = 257;
  const Scope root = Scope::Root();
  const Scope scope = root.WithDevice("/job:worker/task:1/" + device);
  const Tensor start(DT_FLOAT, TensorShape({kInputs, kOutputs}));
  const ops::Variable w(root.WithDevice("/job:ps/task:0/cpu:0").WithName("w"),
                        start, {.use_resource = true});
  Tensor rows(DT_FLOAT, TensorShape({kRows, kInputs}));
  for (int i = 0; i < kRows * kInputs; ++i) {
    rows.mutable_flat<float>()[i] = static_cast<float>(i % 17 - 8) / 16;
  }
  const Output x = ops::Const(scope, rows);
  const Output y = ops::Sub(scope, ops::MatMul(scope, x, w), 1.0f);
  const Output loss = ops::Mean(scope, ops::Square(scope, y), {0, 1});
  const Operation train = train::Momentum(0.5f, 0.9f).Minimize(scope, loss);
  const Operation init = ops::GlobalVariablesInitializer(root);
  auto session = Session::Connect(cluster.target("worker", 0), root,
                                  cluster.session_options());
  EXPECT_OK(session);
  if (!session.ok()) return {};
  EXPECT_OK((*session)->Run(init));
  for (int i = 0; i < 4; ++i) EXPECT_OK((*session)->Run(train));
  return (*session)->Run(w).value_or(Tensor());
}

TEST_F(EmulatedGpuTest, WorkersTrainOnTheirOwnGpus) {
  TestCluster cluster({.kind = ClusterKind::kSockets,
                       .jobs = {{"ps", 1}, {"worker", 2}},
                       .fake_gpus = 1,
                       .gpu_platform = std::make_shared<CudaPlatform>()});
  const Tensor here = TrainedOn(cluster, "cpu:0");
  const Tensor there = TrainedOn(cluster, "gpu:0");
  ASSERT_EQ(there.shape(), here.shape());
  ASSERT_GT(here.num_elements(), 0);
  for (int64_t i = 0; i < here.num_elements(); ++i) {
    ASSERT_NEAR(there.flat<float>()[i], here.flat<float>()[i], 1e-6);
  }
}

TEST_F(EmulatedGpuTest, FailedKernelLosesOnlyItsDevice) {
  const Scope cpu = root_.WithDevice("/cpu:0");
  const Output x = ops::Placeholder(cpu, DT_FLOAT);
  const Output y = ops::Mul(gpu_.WithName("y"), x, x);
  const Output other = ops::Mul(root_.WithDevice("/gpu:1"), x, x);
  const Output on_cpu = ops::Mul(cpu, x, x);
  const Tensor two = Tensor::Scalar(2.0f);
  {
    ASSERT_OK_AND_ASSIGN(const auto session, Connect(root_, 2));
    ASSERT_OK(session->Run({{x, two}}, y));
    EmulatedCuda::FailNextKernel();
    const auto failed = session->Run({{x, two}}, y);
    EXPECT_THAT(failed, StatusIs(absl::StatusCode::kInternal, "GPU:0"));
    EXPECT_THAT(std::string(failed.status().message()),
                HasSubstr("an illegal memory access was encountered"));
    const auto later = session->Run({{x, two}}, y);
    EXPECT_THAT(later,
                StatusIs(absl::StatusCode::kInternal, "the device is lost"));
    EXPECT_THAT(std::string(later.status().message()),
                HasSubstr("CUDA_LAUNCH_BLOCKING"));
    // The feed needs more memory than the device has cached, so the device must
    // allocate.
    EXPECT_THAT(session->Run({{x, Everywhere(100 << 20, 2)}}, y),
                StatusIs(absl::StatusCode::kInternal, "the device is lost"));
    for (const Output& value : {other, on_cpu}) {
      const auto well = session->Run({{x, two}}, value);
      EXPECT_OK(well.status());
    }
  }
  const auto again = Connect(root_);
  EXPECT_THAT(again, StatusIs(absl::StatusCode::kInternal, "GPU:0"));
}

TEST_F(EmulatedGpuTest, OutOfMemoryNamesNodeDeviceAndHolders) {
  const ops::Variable held(gpu_.WithName("held"), Everywhere(1000, 1));
  const Output big = ops::Fill(gpu_.WithName("big"), {1 << 19, 1 << 19},
                               ops::Const(gpu_, 1.0f));
  const Output sum = ops::Sum(gpu_, big, {0, 1});
  ASSERT_OK_AND_ASSIGN(const auto session, Connect(root_));
  ASSERT_OK(session->Run(held.initializer()));
  const auto result = session->Run(sum);
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kResourceExhausted,
                               "[524288,524288]"));
  const std::string text(result.status().message());
  for (const char* part : {"big", "GPU:0", "1 variable 4000 (held 4000)"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  ASSERT_OK(session->Run(held));
}

}  // namespace
}  // namespace weft
