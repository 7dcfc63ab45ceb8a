#include "benchmarks/gpu_errors.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "benchmarks/bare_gpu.h"
#include "benchmarks/report.h"
#include "libs/api/weft.h"

namespace weft::benchmarks {
namespace {

class GpuErrors {
 public:
  explicit GpuErrors(Process& process) : bare_(process) {
    const Scope gpu = root_.WithDevice("/gpu:0");
    const ops::Variable x(gpu.WithName("x"), Tensor::Vector<float>({1, 2}));
    // A TiB.
    const Output big = ops::Fill(gpu.WithName("big"), {1 << 19, 1 << 19},
                                 ops::Const(gpu, 1.0f));
    too_much_ = ops::Group(root_, {ops::Sum(gpu, big, {0, 1})});
    product_ = ops::Group(root_, {ops::Mul(gpu.WithName("product"), x, x)});
    on_cpu_ = ops::Add(root_.WithDevice("/cpu:0"), 1.0f, 2.0f);
    SessionOptions options;
    options.process = &process;
    options.device_count["GPU"] = 1;
    auto session = Session::Connect("", root_, options);
    Check(session.status());
    session_ = *std::move(session);
    Check(session_->Run(x.initializer()));
  }

  int CountWrong() {
    Expect(session_->Run(too_much_), absl::StatusCode::kResourceExhausted,
           {"[524288,524288]", "big", "GPU:0", "buffers hold"});
    Expect(session_->Run(product_), absl::StatusCode::kOk, {});
    bare_.Fault();
    // The first is told by a launch, the next are told that all is over.
    Expect(session_->Run(product_), absl::StatusCode::kInternal,
           {"launched before", "GPU:0"});
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

}  // namespace

int CountWrongGpuErrors(Process& process) {
  return GpuErrors(process).CountWrong();
}

}  // namespace weft::benchmarks
