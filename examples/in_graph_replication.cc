// In-graph replication: one client builds one graph, which splits a batch over
// the GPUs of all workers. The GPUs share the weights on a parameter server.
//
//   in_graph_replication                     # uses CPUs if there is no GPU
//   in_graph_replication --gpus=1            # uses GPUs emulated by the host
//   in_graph_replication --nosoft_placement  # fails if there is no GPU
//
// With --target the program runs on a cluster with a ps and --workers workers,
// and otherwise on a cluster in this program.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "examples/in_process_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(std::string, target, "",
          "Task of a cluster to connect to; empty: a cluster in this program.");
ABSL_FLAG(int, workers, 2, "Workers to split a batch over.");
ABSL_FLAG(int, gpus, 0,
          "GPU devices of host memory for each task of a cluster in this "
          "program.");
ABSL_FLAG(bool, soft_placement, true,
          "Run the share of a missing GPU on the worker's CPU.");

namespace weft::examples {
namespace {

constexpr int kRowsPerWorker = 4;
constexpr int kFeatures = 3;

// Returns a batch in which all elements of row i are i.
Tensor Batch(int rows) {
  Tensor batch(DT_FLOAT, TensorShape({rows, kFeatures}));
  for (int i = 0; i < rows * kFeatures; ++i) {
    const int row = i / kFeatures;
    batch.mutable_flat<float>()[i] = static_cast<float>(row);
  }
  return batch;
}

struct Model {
  Output input, loss;
};

Model BuildModel(const Scope& root, int num_workers) {
  const Scope ps = root.WithDevice("/job:ps/task:0/cpu:0");
  ops::Variable w(ps.WithName("W"),
                  Tensor::FromValues<float>(TensorShape({kFeatures, 1}),
                                            {1.0f, 2.0f, 3.0f}));
  ops::Variable b(ps.WithName("b"), 1.0f);
  auto input = ops::Placeholder(root.WithName("input"), DT_FLOAT,
                                {.shape = {-1, kFeatures}});
  std::vector<Output> inputs = ops::Split(root, 0, input, num_workers);
  InputList outputs;
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const Scope gpu =
        root.WithDevice(absl::StrCat("/job:worker/task:", i, "/gpu:0"));
    outputs.push_back(ops::Add(gpu, ops::MatMul(gpu, inputs[i], w), b));
  }
  auto joint = ops::Concat(root, outputs, 0);
  return {input, ops::Mean(root.WithName("loss"), joint, {0, 1})};
}

// Reports on stderr which workers have no GPU and use their CPU instead. Must
// be called after nodes were placed, because placement waits for all workers.
absl::Status ReportMissingGpus(Session& session, int num_workers) {
  ASSIGN_OR_RETURN(const auto devices, session.ListDevices());
  for (int i = 0; i < num_workers; ++i) {
    const std::string gpu =
        absl::StrCat("/job:worker/replica:0/task:", i, "/device:GPU:0");
    const bool found =
        std::any_of(devices.begin(), devices.end(),
                    [&](const auto& device) { return device.name == gpu; });
    if (found) continue;
    std::fprintf(stderr,
                 "there is no %s: its share runs on the CPU there; "
                 "--gpus=1 makes one of host memory\n",
                 gpu.c_str());
  }
  return absl::OkStatus();
}

absl::Status Run(const std::string& target, int num_workers) {
  Scope root = Scope::Root();
  const Model model = BuildModel(root, num_workers);
  ASSIGN_OR_RETURN(auto session,
                   Session::Connect(target, root,
                                    {.allow_soft_placement =
                                         absl::GetFlag(FLAGS_soft_placement)}));
  RETURN_IF_ERROR(session->Run(ops::GlobalVariablesInitializer(root)));
  if (absl::GetFlag(FLAGS_soft_placement)) {
    RETURN_IF_ERROR(ReportMissingGpus(*session, num_workers));
  }
  const Tensor batch = Batch(num_workers * kRowsPerWorker);
  ASSIGN_OR_RETURN(Tensor loss,
                   session->Run({{model.input, batch}}, model.loss));
  std::printf("loss of %d rows on %d workers: %.1f\n",
              num_workers * kRowsPerWorker, num_workers, loss.scalar<float>());
  return session->Close();
}

absl::Status Main() {
  const std::string target = absl::GetFlag(FLAGS_target);
  const int num_workers = absl::GetFlag(FLAGS_workers);
  const int gpus = absl::GetFlag(FLAGS_gpus);
  if (num_workers < 1 || num_workers > 1000 || gpus < 0 || gpus > 1000) {
    return absl::InvalidArgumentError(
        "--workers must be between 1 and 1000, and --gpus between 0 and 1000.");
  }
  if (!target.empty()) return Run(target, num_workers);
  ASSIGN_OR_RETURN(
      auto cluster,
      InProcessCluster::Start({{"ps", 1}, {"worker", num_workers}}, gpus));
  return Run(cluster->target(), num_workers);
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv,
                   "In-graph replication over the GPUs of workers.");
  const absl::Status status = weft::examples::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
