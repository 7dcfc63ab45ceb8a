// gpu: what Weft does on a GPU of this machine: products of matrices beside
// cuBLAS alone, copies, small kernels in a row, training steps of whole models
// (models.cc says what they are). tools/gpu_check.sh carries it to a machine
// that has one.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "benchmarks/report.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/device/cuda/cuda_blas.h"
#include "libs/device/cuda/cuda_device.h"
#include "libs/fs/local_file_system.h"
#include "libs/graph/graph_def.h"
#include "libs/runtime/cuda_platform.h"
#include "libs/runtime/process.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, graphs, "", "Folder of models, NAME.pb; empty: none.");
ABSL_FLAG(std::string, only, "lenet,resnet,lstm,wide", "Names of models.");

namespace weft::benchmarks {
namespace {

std::unique_ptr<Process> NewGpuProcess() {
  ProcessOptions options;
  options.gpu_platform = std::make_shared<CudaPlatform>();
  return std::make_unique<Process>(options);
}

class Figures {
 public:
  explicit Figures(Report& report)
      : report_(report), process_(NewGpuProcess()) {}

  void Run() {
    Products();
    Copies();
    Launches();
    for (absl::string_view model :
         absl::StrSplit(absl::GetFlag(FLAGS_only), ',', absl::SkipEmpty())) {
      if (!absl::GetFlag(FLAGS_graphs).empty()) Model(std::string(model));
    }
  }

 private:
  std::unique_ptr<Session> Connect(const Scope& scope) {
    SessionOptions options;
    options.process = process_.get();
    options.device_count["GPU"] = 1;
    options.allow_soft_placement = true;
    auto session = Session::Connect("", scope, options);
    Check(session.status());
    return *std::move(session);
  }

  static double Seconds(const std::function<void()>& step, int steps) {
    return Measure(step, steps, 3, 20).Quantile(0.5);
  }

  // Products of matrices in a row, through a session and by cuBLAS alone.
  void Products() {
    constexpr int kSize = 4096;
    constexpr int kInARow = 10;
    constexpr double kFlops = 2.0 * kSize * kSize * kSize * kInARow;
    const Scope root = Scope::Root();
    const Scope gpu = root.WithDevice("/gpu:0");
    ops::Variable x(gpu.WithName("x"),
                    ops::Fill(gpu, {kSize, kSize}, ops::Const(gpu, 1e-4f)));
    Output y = x;
    for (int i = 0; i < kInARow; ++i) y = ops::MatMul(gpu, y, x);
    const Operation product = ops::Group(root, {y});
    auto session = Connect(root);
    Check(session->Run(x.initializer()));
    const double ours =
        Seconds([&] { Check(session->Run({}, {}, {product}).status()); }, 20);
    report_.Value("sgemm", kFlops / ours / 1e12, "TFLOP/s");
#ifdef WEFT_HAVE_CUDA
    const double alone = ProductsAlone(kSize, kInARow);
    report_.Value("sgemm_cublas", kFlops / alone / 1e12, "TFLOP/s");
    report_.Value("sgemm_share", alone / ours, "of cuBLAS alone", ">= 0.9");
#endif
  }

#ifdef WEFT_HAVE_CUDA
  double ProductsAlone(int size, int in_a_row) {
    auto gpus = NewCudaDevices("/job:check/replica:0/task:0", {.count = 1},
                               process_->scheduler(), process_->random());
    Check(gpus.status());
    auto& device = static_cast<CudaDevice&>(*gpus->front());
    const TensorShape shape({size, size});
    std::vector<Tensor> matrices;
    for (int i = 0; i < 2; ++i) {
      auto matrix = Tensor::Allocate(device.allocator(), DT_FLOAT, shape);
      Check(matrix.status());
      matrices.push_back(*std::move(matrix));
    }
    const Tensor zeros(DT_FLOAT, shape);
    Check(device.context()->CopyToDevice(zeros, matrices[0]));
    return Seconds(
        [&] {
          for (int i = 0; i < in_a_row; ++i) {
            device.stream();
            Check(device.blas().Multiply({.m = size,
                                          .n = size,
                                          .k = size,
                                          .a_stride = size,
                                          .b_stride = size,
                                          .c_stride = size},
                                         matrices[0].data(), matrices[0].data(),
                                         matrices[1].mutable_data()));
          }
          auto done = process_->scheduler().NewEvent();
          device.context()->WhenDone([&](absl::Status status) {
            Check(status);
            done->Set();
          });
          done->Wait();
        },
        20);
  }
#endif

  // 64 MiB fed to the GPU, and fetched.
  void Copies() {
    constexpr int64_t kElements = int64_t{16} << 20;
    const Scope root = Scope::Root();
    const Scope gpu = root.WithDevice("/gpu:0");
    const Output x = ops::Placeholder(gpu, DT_FLOAT);
    ops::Variable v(
        gpu.WithName("v"),
        ops::Fill(gpu, {static_cast<int>(kElements)}, ops::Const(gpu, 1.0f)));
    const Operation take = ops::Assign(gpu, v, x);
    auto session = Connect(root);
    Check(session->Run(v.initializer()));
    const Tensor fed(DT_FLOAT, TensorShape({kElements}));
    const double bytes = 4.0 * kElements;
    const double to = Seconds(
        [&] {
          Check(session->Run({{x, fed}}, {}, {take}).status());
        },
        20);
    const double from = Seconds([&] { Check(session->Run(v).status()); }, 20);
    report_.Value("feed_64_MiB", bytes / to / 1e9, "GB/s");
    report_.Value("fetch_64_MiB", bytes / from / 1e9, "GB/s");
  }

  // Small kernels, each after the one before.
  void Launches() {
    constexpr int kNodes = 1000;
    const Scope root = Scope::Root();
    const Scope gpu = root.WithDevice("/gpu:0");
    ops::Variable x(gpu.WithName("x"), Tensor::Vector<float>({1, 1, 1, 1}));
    Output y = x;
    for (int i = 0; i < kNodes; ++i) y = ops::Mul(gpu, y, x);
    const Operation chain = ops::Group(root, {y});
    auto session = Connect(root);
    Check(session->Run(x.initializer()));
    const double step =
        Seconds([&] { Check(session->Run({}, {}, {chain}).status()); }, 30);
    report_.Value("node_of_a_chain", step / kNodes * 1e6, "us");
  }

  // A training step of a model of benchmarks/model_graphs, on the GPU.
  void Model(const std::string& name) {
    LocalFileSystem files;
    const auto bytes = files.ReadFile(
        absl::StrCat(absl::GetFlag(FLAGS_graphs), "/", name, ".pb"));
    Check(bytes.status());
    const Scope root = Scope::Root();
    Check(ImportGraphDef(*bytes, root.graph()));
    for (const Node* node : root.graph().nodes()) {
      root.graph().set_requested_device(node, "/device:GPU:0");
    }
    auto session = Connect(root);
    Check(session->RunNamed({}, {}, {"init_all"}).status());
    float loss = 0;
    const Timing timing = Measure(
        [&] {
          const auto fetched = session->RunNamed({}, {"loss:0"}, {"train"});
          Check(fetched.status());
          loss = (*fetched)[0].flat<float>()[0];
        },
        60, 5, 20);
    report_.Latency(name + "_step", timing);
    report_.Value(name + "_loss", loss, "nats");
  }

  Report& report_;
  const std::unique_ptr<Process> process_;
};

int Main() {
  Check(CudaDeviceCount().status());
  Report report("gpu");
  Figures(report).Run();
  report.Finish(absl::GetFlag(FLAGS_json));
  return 0;
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "What Weft does on a GPU of this machine.");
  return weft::benchmarks::Main();
}
