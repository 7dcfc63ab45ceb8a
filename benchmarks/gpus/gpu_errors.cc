#include "benchmarks/gpus/gpu_errors.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "benchmarks/common/report.h"
#include "benchmarks/gpus/bare_gpu.h"
#include "libs/api/weft.h"

namespace weft::benchmarks {
namespace {

std::unique_ptr<Session> ConnectToGpu(Process& process, const Scope& scope) {
  SessionOptions options;
  options.process = &process;
  options.device_count["GPU"] = 1;
  auto session = Session::Connect("", scope, options);
  Check(session.status());
  return *std::move(session);
}

class GpuErrors {
 public:
  explicit GpuErrors(Process& process) : bare_(process) {
    const Scope gpu = root_.WithDevice("/gpu:0");
    const ops::Variable x(gpu.WithName("x"), Tensor::Vector<float>({1, 2}));
    // The shape of a tensor of 1 TiB.
    const Output big = ops::Fill(gpu.WithName("big"), {1 << 19, 1 << 19},
                                 ops::Const(gpu, 1.0f));
    too_much_ = ops::Group(root_, {ops::Sum(gpu, big, {0, 1})});
    product_ = ops::Group(root_, {ops::Mul(gpu.WithName("product"), x, x)});
    on_cpu_ = ops::Add(root_.WithDevice("/cpu:0"), 1.0f, 2.0f);
    session_ = ConnectToGpu(process, root_);
    Check(session_->Run(x.initializer()));
  }

  int CountWrong() {
    Expect(session_->Run(too_much_), absl::StatusCode::kResourceExhausted,
           {"[524288,524288]", "big", "GPU:0", "buffers hold"});
    Expect(session_->Run(product_), absl::StatusCode::kOk, {});
    bare_.Fault();
    // The first error comes from a kernel launch. Later errors report that the
    // device is lost.
    Expect(session_->Run(product_), absl::StatusCode::kInternal,
           {"launched before", "GPU:0", "the device is lost"});
    Expect(session_->Run(product_), absl::StatusCode::kInternal,
           {"GPU:0", "the device is lost", "CUDA_LAUNCH_BLOCKING"});
    Expect(session_->Run(on_cpu_).status(), absl::StatusCode::kOk, {});
    return wrong_;
  }

 private:
  void Expect(const absl::Status& status, absl::StatusCode code,
              const std::vector<std::string>& texts) {
    std::printf("%s\n", status.ToString().c_str());
    bool is_wrong = status.code() != code;
    for (const std::string& text : texts) {
      if (absl::StrContains(status.message(), text)) continue;
      std::printf("  lacks: %s\n", text.c_str());
      is_wrong = true;
    }
    wrong_ += is_wrong ? 1 : 0;
  }

  BareGpu bare_;
  Scope root_ = Scope::Root();
  Operation too_much_, product_;
  Output on_cpu_;
  std::unique_ptr<Session> session_;
  int wrong_ = 0;
};

// Computes the mean of a matrix in which all elements are v, after many
// products that preserve v.
struct ManyProducts {
  static constexpr int kSize = 1024;
  static constexpr int kInARow = 8;

  explicit ManyProducts(const Scope& gpu)
      : x(ops::Placeholder(gpu, DT_FLOAT)), mean(x) {
    const Output part =
        ops::Fill(gpu, {kSize, kSize}, ops::Const(gpu, 1.0f / kSize));
    for (int i = 0; i < kInARow; ++i) mean = ops::MatMul(gpu, mean, part);
    mean = ops::Mean(gpu, mean, {0, 1});
  }

  Output x, mean;
};

Tensor Everywhere(float value) {
  Tensor tensor(DT_FLOAT,
                TensorShape({ManyProducts::kSize, ManyProducts::kSize}));
  for (float& element : tensor.mutable_flat<float>()) element = value;
  return tensor;
}

}  // namespace

int CountWrongValues(Process& process) {
  constexpr int kThreads = 4;
  constexpr double kSeconds = 5;
  const Scope root = Scope::Root();
  const ManyProducts products(root.WithDevice("/gpu:0"));
  const auto session = ConnectToGpu(process, root);
  std::vector<Tensor> fed;
  for (int i = 0; i < kThreads; ++i) {
    fed.push_back(Everywhere(static_cast<float>(1 << i)));
  }
  std::atomic<int> wrong{0};
  RateOfThreads(
      process.scheduler(), kThreads,
      [&](int i) {
        const auto mean = session->Run({{products.x, fed[i]}}, products.mean);
        Check(mean.status());
        const float expected = static_cast<float>(1 << i);
        if (std::abs(mean->scalar<float>() / expected - 1) > 1e-3f) ++wrong;
      },
      kSeconds);
  return wrong;
}

int CountWrongGpuErrors(Process& process) {
  return GpuErrors(process).CountWrong();
}

}  // namespace weft::benchmarks
