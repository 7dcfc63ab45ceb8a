// gpu measures Weft on a GPU of this machine, relative to the bare GPU in the
// same run. It measures matrix products, copies, and small kernels in sequence.
// It also measures the training steps of complete models (see models.cc), with
// their peak GPU memory, and of workers that share the GPU. tools/gpu_check.sh
// runs it on a machine with a GPU.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "benchmarks/common/report.h"
#include "benchmarks/gpus/bare_gpu.h"
#include "benchmarks/gpus/gpu_errors.h"
#include "benchmarks/gpus/gpu_workers.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/device/cuda/cuda_device.h"
#include "libs/device/device_memory.h"
#include "libs/fs/local_file_system.h"
#include "libs/graph/import/graph_def.h"
#include "libs/runtime/process/cuda_platform.h"
#include "libs/runtime/process/process.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, graphs, "", "Folder of models, NAME.pb; empty: none.");
ABSL_FLAG(std::string, only, "lenet,resnet,lstm,wide", "Names of models.");

ABSL_FLAG(bool, errors, false,
          "Instead: whether steps that feed and compute at once are right, and "
          "errors of memory and of a lost GPU say what they should.");

namespace weft::benchmarks {
namespace {

// A platform that remembers the latest device, which belongs to the newest
// session.
class WatchedPlatform : public CudaPlatform {
 public:
  absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewDevices(
      absl::string_view task, int count, Scheduler& scheduler,
      Random& random) const override {
    auto devices = CudaPlatform::NewDevices(task, count, scheduler, random);
    if (devices.ok() && !devices->empty()) {
      newest_ = devices->front().get();
    }
    return devices;
  }

  // Returns the latest device. REQUIRES: the device still exists.
  const Device* newest() const { return newest_; }

 private:
  mutable std::atomic<const Device*> newest_{nullptr};
};

class Figures {
 public:
  explicit Figures(Report& report)
      : report_(report),
        platform_(std::make_shared<WatchedPlatform>()),
        process_(std::make_unique<Process>(
            ProcessOptions{.gpu_platform = platform_})),
        bare_(*process_) {}

  void Run() {
    Products();
    Copies();
    Launches();
    for (absl::string_view model :
         absl::StrSplit(absl::GetFlag(FLAGS_only), ',', absl::SkipEmpty())) {
      if (!absl::GetFlag(FLAGS_graphs).empty()) Model(std::string(model));
    }
    Workers();
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

  // Measures a sequence of matrix products, in a session and with cuBLAS alone.
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
    const double alone = Seconds([&] { bare_.Products(kSize, kInARow); }, 20);
    report_.Value("sgemm_cublas", kFlops / alone / 1e12, "TFLOP/s");
    report_.Value("sgemm_share", alone / ours, "of cuBLAS alone", ">= 0.9");
  }

  // Measures feeding 64 MiB from heap memory to the GPU and fetching them
  // again. For comparison, measures copies from and to pinned memory, which
  // only the bus limits.
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
    Tensor fed(DT_FLOAT, TensorShape({kElements}));
    // Writes all pages, because unwritten pages would share a single physical
    // page.
    for (float& value : fed.mutable_flat<float>()) value = 2.0f;
    constexpr size_t kBytes = 4 * kElements;
    const auto speed = [](double seconds) { return kBytes / seconds / 1e9; };
    const double to = Seconds(
        [&] {
          Check(session->Run({{x, fed}}, {}, {take}).status());
        },
        20);
    const double from = Seconds([&] { Check(session->Run(v).status()); }, 20);
    const double bare_to = Seconds([&] { bare_.CopyToDevice(kBytes); }, 20);
    const double bare_from = Seconds([&] { bare_.CopyToHost(kBytes); }, 20);
    report_.Value("feed_64_MiB", speed(to), "GB/s");
    report_.Value("feed_pinned", speed(bare_to), "GB/s");
    report_.Value("feed_share", bare_to / to, "of a pinned copy", ">= 0.8");
    report_.Value("fetch_64_MiB", speed(from), "GB/s");
    report_.Value("fetch_pinned", speed(bare_from), "GB/s");
    report_.Value("fetch_share", bare_from / from, "of a pinned copy",
                  ">= 0.8");
  }

  // Measures small kernels that depend on each other, as nodes of a graph and
  // without a session.
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
    const double alone = Seconds([&] { bare_.Launches(kNodes); }, 30);
    report_.Value("node_of_a_chain", step / kNodes * 1e6, "us");
    report_.Value("bare_launch", alone / kNodes * 1e6, "us");
    report_.Value("node_share", step / alone, "bare launches", "<= 2");
  }

  // Measures replicas that train with one ps and share the GPU.
  void Workers() {
    constexpr double kSeconds = 2;
    const double one = GpuWorkersRate(*process_, 1, kSeconds);
    const double two = GpuWorkersRate(*process_, 2, kSeconds);
    report_.Value("one_worker", one, "steps/s");
    report_.Value("two_workers", two, "steps/s");
    report_.Value("two_workers_gain", two / one, "of one worker", "> 1");
  }

  // Measures a training step of a model in benchmarks/model_graphs on the GPU.
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
    // Must be read before the session is destroyed, because the device is
    // destroyed with it.
    const DeviceMemory memory = MemoryOf(*platform_->newest());
    report_.Value(name + "_peak_memory",
                  static_cast<double>(memory.peak_in_use) / (1 << 20), "MiB");
  }

  Report& report_;
  const std::shared_ptr<const WatchedPlatform> platform_;
  const std::unique_ptr<Process> process_;
  BareGpu bare_;
};

int CheckErrors() {
  Process process({.gpu_platform = std::make_shared<CudaPlatform>()});
  Report report("gpu_errors");
  const int values = CountWrongValues(process);
  const int errors = CountWrongGpuErrors(process);
  report.Value("wrong_values", values, "steps", "0");
  report.Value("wrong_errors", errors, "errors", "0");
  report.Finish(absl::GetFlag(FLAGS_json));
  return values + errors == 0 ? 0 : 1;
}

int Main() {
  Check(CudaDeviceCount().status());
  if (absl::GetFlag(FLAGS_errors)) return CheckErrors();
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
