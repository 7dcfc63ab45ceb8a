// models: training steps of whole models in this process, on all cores.
//
// The graphs are TensorFlow's own, as its 2.21 wrote them (model_graphs/): each
// makes its random input, has a node `loss`, a target `train` and a target
// `init_all`. lenet: 2 convolutions 5x5, 64 images 28x28x1, Adam. resnet: 13
// convolutions in 6 blocks, batch norm, 32 images 32x32x3, momentum. lstm: a
// loop of 20 turns, batch 32, 128 units, Adagrad. wide: 512 rows of 26 ids into
// [200000, 32], three layers, Adagrad. A step fetches the loss and trains.
// NAME_peak is what the process has grown by at most, from before its session
// to the last step. Memory that a model leaves serves the next, so it says
// something of the first one only: --only=NAME.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "benchmarks/child_process.h"
#include "benchmarks/report.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/fs/local_file_system.h"
#include "libs/graph/graph_def.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, graphs, "",
          "Folder of other graphs, NAME.pb, than those built with it.");
ABSL_FLAG(std::string, only, "lenet,resnet,lstm,wide", "Names of models.");
ABSL_FLAG(int, steps, 60, "Steps to time of each model.");
ABSL_FLAG(bool, remapping, false,
          "Whether element-wise nodes are joined (rewrite_options.remapping).");
ABSL_FLAG(double, seconds, 60.0, "Bound of each measurement.");

namespace weft::benchmarks {
namespace {

// The folder of the graphs; Bazel lays them beside the program.
std::string GraphFolder() {
  if (const std::string given = absl::GetFlag(FLAGS_graphs); !given.empty()) {
    return given;
  }
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return self.string() + ".runfiles/weft/benchmarks/model_graphs";
}

void MeasureModel(const std::string& name, Report& report) {
  LocalFileSystem files;
  const auto bytes =
      files.ReadFile(absl::StrCat(GraphFolder(), "/", name, ".pb"));
  Check(bytes.status());
  const Scope root = Scope::Root();
  Check(ImportGraphDef(*bytes, root.graph()));
  const MemoryGrowth growth({getpid()});
  SessionOptions options;
  if (absl::GetFlag(FLAGS_remapping)) {
    options.graph_options.rewrite_options.remapping = RewriterConfig::kOn;
  }
  auto session = Session::Connect("", root, options);
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

void Main() {
  Report report("models");
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("remapping", absl::GetFlag(FLAGS_remapping));
  report.Param("only", absl::GetFlag(FLAGS_only));
  for (const std::string& name : std::vector<std::string>(
           absl::StrSplit(absl::GetFlag(FLAGS_only), ','))) {
    MeasureModel(name, report);
  }
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "Training steps of whole models.");
  weft::benchmarks::Main();
}
