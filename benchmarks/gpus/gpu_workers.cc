#include "benchmarks/gpus/gpu_workers.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/common/loopback_cluster.h"
#include "benchmarks/common/mlp.h"
#include "benchmarks/common/report.h"
#include "libs/api/weft.h"

namespace weft::benchmarks {
namespace {

constexpr int kRows = 64;  // batch size
constexpr int kHidden = 128;
constexpr int kWarmupSteps = 20;

std::unique_ptr<Server> NewServer(const ClusterSpec& spec, Process& process,
                                  const std::string& job, int index) {
  auto server = Server::Create(spec, {.job_name = job,
                                      .task_index = index,
                                      .gpus = job == "worker" ? 1 : 0,
                                      .process = &process});
  Check(server.status());
  return *std::move(server);
}

class GpuWorker {
 public:
  GpuWorker(const ClusterSpec& spec, Process& process, int index)
      : server_(NewServer(spec, process, "worker", index)) {
    const std::string task = absl::StrCat("/job:worker/task:", index);
    const Scope scope = root_.WithDeviceFunction(ReplicaDeviceSetter(
        {.worker_device = task + "/gpu:0", .cluster = spec}));
    const Output rows =
        ops::RandomUniform(scope, {kRows, kMlpInputs}, DT_FLOAT);
    const Output labels =
        ops::Const(scope, Tensor(DT_INT32, TensorShape({kRows})));
    const ops::Variable global_step = train::GetOrCreateGlobalStep(scope);
    const Mlp mlp = BuildMlp(scope, rows, labels, {kHidden});
    train_ = train::GradientDescent(kMlpLearningRate)
                 .Minimize(scope, mlp.loss, {.global_step = global_step});
    SessionOptions options;
    options.allow_soft_placement = true;
    options.device_filters = {"/job:ps", task};
    options.process = &process;
    auto session = Session::Connect(server_->target(), root_, options);
    Check(session.status());
    session_ = *std::move(session);
  }

  void Initialize() {
    Check(session_->Run(ops::GlobalVariablesInitializer(root_)));
  }
  void Step() { Check(session_->Run(train_)); }

 private:
  const std::unique_ptr<Server> server_;
  Scope root_ = Scope::Root();
  Operation train_;
  std::unique_ptr<Session> session_;
};

}  // namespace

double GpuWorkersRate(Process& process, int workers, double seconds) {
  const ClusterSpec spec = LoopbackCluster({{"ps", 1}, {"worker", workers}});
  const auto ps = NewServer(spec, process, "ps", 0);
  std::vector<std::unique_ptr<GpuWorker>> replicas;
  for (int i = 0; i < workers; ++i) {
    replicas.push_back(std::make_unique<GpuWorker>(spec, process, i));
  }
  replicas[0]->Initialize();
  for (const auto& replica : replicas) {
    for (int i = 0; i < kWarmupSteps; ++i) replica->Step();
  }
  return RateOfThreads(
      process.scheduler(), workers, [&](int i) { replicas[i]->Step(); },
      seconds);
}

}  // namespace weft::benchmarks
