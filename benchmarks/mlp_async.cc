// mlp_async: asynchronous between-graph replicas of a classifier 784-128-10 on
// 2 ps. Each worker is one process with a server and a session to it. All warm
// up, wait for each other and train until the global step is --steps.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_format.h"
#include "benchmarks/mlp_worker.h"
#include "benchmarks/report.h"
#include "benchmarks/service_processes.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, workers, 2, "Replicas.");
ABSL_FLAG(int, steps, 2000, "Global steps in all.");
ABSL_FLAG(int, batch, 64, "Rows of a batch.");
ABSL_FLAG(int, hidden, 128, "Units of the hidden layer.");

namespace weft::benchmarks {
namespace {

constexpr int kRows = 60'000;
constexpr int kTestRows = 10'000;
constexpr int kWarmupSteps = 20;  // of each worker

// Seconds. All processes read the same clock.
double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What a worker says of its timed steps.
struct Timed {
  double begin = 0, end = 0;
  Timing timing;
  double global_step = 0;
};

std::string ToLine(const Timed& timed) {
  std::string line = absl::StrFormat("%.9f %.9f %.0f", timed.begin, timed.end,
                                     timed.global_step);
  for (double seconds : timed.timing.seconds) {
    absl::StrAppendFormat(&line, " %.9f", seconds);
  }
  return line;
}

Timed FromLine(const std::string& line) {
  Timed timed;
  int used = 0;
  if (std::sscanf(line.c_str(), "%lf %lf %lf%n", &timed.begin, &timed.end,
                  &timed.global_step, &used) != 3) {
    Check(absl::AbortedError("a worker said: " + line));
  }
  const char* rest = line.c_str() + used;
  for (double seconds; std::sscanf(rest, "%lf%n", &seconds, &used) == 1;) {
    timed.timing.seconds.push_back(seconds);
    rest += used;
  }
  return timed;
}

Timed TimeSteps(MlpWorker& worker, const LabelledRows& training) {
  const int64_t steps = absl::GetFlag(FLAGS_steps);
  Timed timed;
  timed.begin = timed.end = Now();
  int64_t global_step = 0;
  while (global_step < steps) {
    global_step = worker.Step(training);
    const double now = Now();
    timed.timing.seconds.push_back(now - timed.end);
    timed.end = now;
  }
  timed.global_step = static_cast<double>(global_step);
  std::sort(timed.timing.seconds.begin(), timed.timing.seconds.end());
  return timed;
}

// A worker's process. Each line that it writes is answered when all workers
// have got there.
void Work(const MlpWorker::Options& options, const LabelledRows& training,
          const LabelledRows& test, Lines& main) {
  const bool is_chief = options.index == 0;
  if (!is_chief) main.Read();  // until there are variables
  MlpWorker worker(options);
  if (is_chief) {
    worker.Initialize();
    main.Write("initialized");
  }
  for (int i = 0; i < kWarmupSteps; ++i) worker.Step(training);
  main.Write("warm");
  main.Read();
  main.Write(ToLine(TimeSteps(worker, training)));
  main.Read();
  if (is_chief) {
    main.Write(absl::StrFormat("%.6f", worker.Accuracy(test)));
  }
  main.Read();  // nobody leaves before
}

using Workers = std::deque<ChildProcess>;

std::vector<std::string> ReadAll(Workers& workers) {
  std::vector<std::string> lines;
  for (ChildProcess& worker : workers) lines.push_back(worker.lines().Read());
  return lines;
}

void WriteAll(Workers& workers) {
  for (ChildProcess& worker : workers) worker.lines().Write("go on");
}

Report NewReport() {
  Report report("mlp_async");
  report.Param("workers", absl::GetFlag(FLAGS_workers));
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("batch", absl::GetFlag(FLAGS_batch));
  report.Param("hidden", absl::GetFlag(FLAGS_hidden));
  return report;
}

void Print(const std::vector<Timed>& timed, double accuracy) {
  double begin = timed[0].begin, end = 0, steps = 0, last = 0;
  for (const Timed& t : timed) {
    begin = std::min(begin, t.begin);
    end = std::max(end, t.end);
    steps += static_cast<double>(t.timing.seconds.size());
    last = std::max(last, t.global_step);
  }
  Report report = NewReport();
  const double rate = steps / (end - begin);
  report.Value("global_steps", rate, "steps/s");
  report.Value("examples", rate * absl::GetFlag(FLAGS_batch), "examples/s");
  report.Latency("worker0_step", timed[0].timing);
  report.Value("final_global_step", last, "step");
  report.Value("held_out_accuracy", accuracy, "fraction", ">= 0.9");
  report.Finish(absl::GetFlag(FLAGS_json));
}

void Main() {
  const int num_workers = absl::GetFlag(FLAGS_workers);
  // Before the workers are forked, so that they share it.
  const LabelledRows training = MakeRows(kRows, 2);
  const LabelledRows test = MakeRows(kTestRows, 3);
  ServiceProcesses services({{"ps", 2}, {"worker", num_workers}}, {"worker"});
  Workers workers;
  for (int i = 0; i < num_workers; ++i) {
    const MlpWorker::Options options{.cluster = services.spec(),
                                     .index = i,
                                     .hidden = absl::GetFlag(FLAGS_hidden),
                                     .batch = absl::GetFlag(FLAGS_batch)};
    workers.emplace_back([&training, &test, options](Lines& main) {
      Work(options, training, test, main);
    });
  }
  workers[0].lines().Read();
  for (int i = 1; i < num_workers; ++i) workers[i].lines().Write("go on");
  ReadAll(workers);  // warm
  WriteAll(workers);
  std::vector<Timed> timed;
  for (const std::string& line : ReadAll(workers)) {
    timed.push_back(FromLine(line));
  }
  WriteAll(workers);
  Print(timed, std::stod(workers[0].lines().Read()));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  if (absl::GetFlag(FLAGS_workers) < 1) return 2;
  weft::benchmarks::Main();
}
