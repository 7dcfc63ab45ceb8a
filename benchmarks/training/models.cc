// models measures the training steps of complete models: in this process on all
// cores or, with --cluster, by asynchronous replicas on --ps and --workers,
// where each task is a process.
//
// The graphs were written by TensorFlow 2.21 (model_graphs/). Each generates
// its random input, and has a node `loss`, a target `train` and a target
// `init_all`. lenet: 2 convolutions 5x5, 64 images 28x28x1, Adam. resnet: 13
// convolutions in 6 blocks, batch norm, 32 images 32x32x3, momentum. lstm: a
// loop of 20 iterations, batch 32, 128 units, Adagrad. wide: 512 rows of 26 ids
// into [200000, 32], three layers, Adagrad. A step fetches the loss and trains.
//
// NAME_peak is the largest growth of the process's memory, from before the
// session to the last step. Later models reuse memory of earlier ones, so the
// value is only meaningful for the first model: use --only=NAME.
//
// --cluster selects the workload "models_cluster". Variables are assigned to
// the ps round robin, and all other nodes are on the workers. Each worker takes
// --steps steps after 20 warm-up steps. NAME_global_steps counts the steps of
// all workers, from the start of the first worker to the end of the last one.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "benchmarks/common/child_process.h"
#include "benchmarks/common/report.h"
#include "benchmarks/training/model_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/fs/local_file_system.h"
#include "libs/graph/import/graph_def.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, graphs, "",
          "Folder of other graphs, NAME.pb, than those built with it.");
ABSL_FLAG(std::string, only, "lenet,resnet,lstm,wide", "Names of models.");
ABSL_FLAG(int, steps, 60, "Steps to time of each model, of each worker.");
ABSL_FLAG(bool, cluster, false,
          "Whether replicas train, on the processes of a cluster.");
ABSL_FLAG(int, ps, 2, "Parameter servers of a cluster.");
ABSL_FLAG(int, workers, 2, "Replicas on a cluster.");
ABSL_FLAG(bool, remapping, false,
          "Whether element-wise nodes are joined (rewrite_options.remapping).");
ABSL_FLAG(double, seconds, 60.0, "Time limit of each measurement.");

namespace weft::benchmarks {
namespace {

// Returns the folder of the graphs, which Bazel places beside the program.
std::string GraphFolder() {
  if (const std::string given = absl::GetFlag(FLAGS_graphs); !given.empty()) {
    return given;
  }
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return self.string() + ".runfiles/weft/benchmarks/model_graphs";
}

// Returns the value of a flag, which must be at least 1.
int AtLeastOne(const absl::Flag<int>& flag) {
  const int value = absl::GetFlag(flag);
  if (value < 1) {
    Refuse(absl::StrCat("--", absl::GetFlagReflectionHandle(flag).Name(),
                        " is 1 or more: ", value));
  }
  return value;
}

// A model's name and its serialized GraphDef.
using NamedGraph = std::pair<std::string, std::string>;

// Reads all graphs before the first measurement, so that an invalid name fails
// early. Returns them by name.
std::vector<NamedGraph> ReadGraphs() {
  LocalFileSystem files;
  const std::string folder = GraphFolder();
  std::vector<NamedGraph> graphs;
  for (const std::string& name : std::vector<std::string>(
           absl::StrSplit(absl::GetFlag(FLAGS_only), ','))) {
    auto bytes = files.ReadFile(absl::StrCat(folder, "/", name, ".pb"));
    if (absl::IsNotFound(bytes.status())) {
      Refuse(absl::StrCat("--only names a model that there is not: ", name));
    }
    Check(bytes.status());
    graphs.emplace_back(name, *std::move(bytes));
  }
  return graphs;
}

SessionOptions OptionsOfSessions() {
  SessionOptions options;
  if (absl::GetFlag(FLAGS_remapping)) {
    options.graph_options.rewrite_options.remapping = RewriterConfig::kOn;
  }
  return options;
}

void MeasureModel(const std::string& name, const std::string& graph,
                  Report& report) {
  const Scope root = Scope::Root();
  Check(ImportGraphDef(graph, root.graph()));
  const MemoryGrowth growth({getpid()});
  auto session = Session::Connect("", root, OptionsOfSessions());
  Check(session.status());
  Check((*session)->RunNamed({}, {}, {"init_all"}).status());
  float loss = 0;
  const Timing timing = Measure(
      [&] {
        const auto fetched = (*session)->RunNamed({}, {"loss:0"}, {"train"});
        Check(fetched.status());
        loss = (*fetched)[0].flat<float>()[0];
      },
      absl::GetFlag(FLAGS_steps), 5, absl::GetFlag(FLAGS_seconds));
  report.Latency(name + "_step", timing);
  report.Value(name + "_loss", loss, "nats");
  report.Value(name + "_peak", growth.Mebibytes(), "MiB");
}

void MeasureModels(Report& report) {
  for (const auto& [name, graph] : ReadGraphs()) {
    MeasureModel(name, graph, report);
  }
}

// Returns the options for a cluster. Rejects invalid flags, with and without
// --cluster.
ModelClusterOptions ReadClusterOptions() {
  return {
      .ps = AtLeastOne(FLAGS_ps),
      .workers = AtLeastOne(FLAGS_workers),
      .steps = AtLeastOne(FLAGS_steps),
      .seconds = absl::GetFlag(FLAGS_seconds),
      .session = OptionsOfSessions(),
  };
}

void MeasureClusters(const ModelClusterOptions& options, Report& report) {
  report.Param("ps", options.ps);
  report.Param("workers", options.workers);
  for (const auto& [name, graph] : ReadGraphs()) {
    MeasureModelCluster(name, graph, options, report);
  }
}

void Main() {
  const bool cluster = absl::GetFlag(FLAGS_cluster);
  const ModelClusterOptions options = ReadClusterOptions();
  Report report(cluster ? "models_cluster" : "models");
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("remapping", absl::GetFlag(FLAGS_remapping));
  report.Param("only", absl::GetFlag(FLAGS_only));
  cluster ? MeasureClusters(options, report) : MeasureModels(report);
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "Training steps of whole models.");
  weft::benchmarks::Main();
}
