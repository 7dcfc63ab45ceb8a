// mlp_async measures asynchronous between-graph replicas that train a
// classifier of Fashion-MNIST on 2 ps. Its layers are 784-128-10, or those set
// by --hidden. Each worker is one process with a server and a session. All
// workers warm up, wait for each other and train until the global step is
// --steps.
//
// --sync=replicas selects the workload "sync_replicas", in which one gradient
// from each replica makes a global step. Only the chief counts steps. The other
// replicas run until they are killed, because the chief needs their gradients.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "benchmarks/common/fashion_mnist.h"
#include "benchmarks/common/mlp.h"
#include "benchmarks/common/mlp_worker.h"
#include "benchmarks/common/replicas.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/service_processes.h"
#include "libs/base/command_line.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, workers, 2, "Replicas.");
ABSL_FLAG(int, steps, 2000, "Global steps in all.");
ABSL_FLAG(int, batch, 64, "Rows of a batch.");
ABSL_FLAG(std::vector<std::string>, hidden, {"128"},
          "Units of each hidden layer.");
ABSL_FLAG(std::string, data, "feed",
          "feed: a step feeds its batch; resident: the training set is in a "
          "variable on the worker.");
ABSL_FLAG(std::string, sync, "none",
          "none: each replica updates by itself; replicas: all together.");
ABSL_FLAG(std::string, data_dir, "/usr/share/datasets/fashion-mnist",
          "Directory of the dataset-fashion-mnist package's files.");

namespace weft::benchmarks {
namespace {

// Runs some steps, or an unlimited number if `for_ever` is set. Returns the
// global step.
int64_t WarmUp(MlpWorker& worker, bool for_ever) {
  int64_t global_step = 0;
  for (int i = 0; i < kWarmupSteps || for_ever; ++i) {
    global_step = worker.Step();
  }
  return global_step;
}

Timed TimeTraining(MlpWorker& worker, int64_t first_step) {
  int64_t global_step = 0;
  Timed timed = TimeSteps([&] {
    global_step = worker.Step();
    return global_step < absl::GetFlag(FLAGS_steps);
  });
  timed.first_step = static_cast<double>(first_step);
  timed.last_step = static_cast<double>(global_step);
  return timed;
}

// Runs the process of a worker. The parent process replies to a line when all
// workers have written the same line.
void Work(const MlpWorker::Options& options, const LabelledRows& training,
          const LabelledRows& test, Lines& main) {
  const bool is_chief = options.index == 0;
  if (!is_chief) main.Read();  // waits until the variables are initialized
  MlpWorker worker(options, training);
  if (is_chief) {
    worker.Initialize();
    main.Write("initialized");
  }
  worker.Prepare();
  const int64_t first_step = WarmUp(worker, options.sync && !is_chief);
  ReportTimed(main, [&] { return TimeTraining(worker, first_step); });
  if (is_chief) {
    main.Write(absl::StrFormat("%.6f", worker.Accuracy(test)));
  }
  main.Read();  // waits until all workers have finished
}

bool IsSync() { return absl::GetFlag(FLAGS_sync) == "replicas"; }

Report NewReport() {
  Report report(IsSync() ? "sync_replicas" : "mlp_async");
  report.Param("workers", absl::GetFlag(FLAGS_workers));
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("batch", absl::GetFlag(FLAGS_batch));
  report.Param("hidden", absl::StrJoin(absl::GetFlag(FLAGS_hidden), ","));
  report.Param("data", absl::GetFlag(FLAGS_data));
  return report;
}

void Print(const std::vector<Timed>& timed, double accuracy) {
  const Total total = TotalOf(timed);
  double steps = total.steps;
  int batches_a_step = 1;
  if (IsSync()) {
    steps = total.last_step - timed[0].first_step;
    batches_a_step = absl::GetFlag(FLAGS_workers);
  }
  Report report = NewReport();
  const double rate = steps / total.seconds;
  report.Value("global_steps", rate, "steps/s");
  report.Value("examples", rate * batches_a_step * absl::GetFlag(FLAGS_batch),
               "examples/s");
  report.Latency("worker0_step", timed[0].timing);
  report.Value("final_global_step", total.last_step, "step");
  report.Value("test_accuracy", accuracy, "fraction");
  report.Finish(absl::GetFlag(FLAGS_json));
}

void Main() {
  const int num_workers = absl::GetFlag(FLAGS_workers);
  const std::vector<int> hidden = HiddenUnits(absl::GetFlag(FLAGS_hidden));
  const std::string data = absl::GetFlag(FLAGS_data);
  if (data != "feed" && data != "resident") {
    Check(absl::InvalidArgumentError("--data must be feed or resident"));
  }
  if (!IsSync() && absl::GetFlag(FLAGS_sync) != "none") {
    Check(absl::InvalidArgumentError("--sync must be none or replicas"));
  }
  // Reads the data before the workers are forked, so that they share its
  // memory.
  const std::string data_dir = absl::GetFlag(FLAGS_data_dir);
  const LabelledRows training = ReadFashionMnist(data_dir, "train");
  const LabelledRows test = ReadFashionMnist(data_dir, "t10k");
  ServiceProcesses services({{"ps", 2}, {"worker", num_workers}}, {"worker"});
  Workers workers;
  for (int i = 0; i < num_workers; ++i) {
    const MlpWorker::Options options{.cluster = services.spec(),
                                     .index = i,
                                     .hidden = hidden,
                                     .batch = absl::GetFlag(FLAGS_batch),
                                     .resident = data == "resident",
                                     .sync = IsSync()};
    workers.emplace_back([&training, &test, options](Lines& main) {
      Work(options, training, test, main);
    });
  }
  const std::vector<Timed> timed =
      TimeTogether(workers, IsSync() ? 1 : num_workers);
  Print(timed, std::stod(workers[0].lines().Read()));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv,
                   "Asynchronous replicas of a small classifier on two ps.");
  if (absl::GetFlag(FLAGS_workers) < 1) return 2;
  weft::benchmarks::Main();
}
