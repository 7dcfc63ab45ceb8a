// estimator measures the training of Estimators in this process, from files to
// checkpoints, with the defaults of RunConfig (summaries every 100 steps).
//
//   estimator --data=DIR                       # adult.csv; wide & deep
//   estimator --model=criteo_wide_deep --data=DIR      # train.tsv, dev.tsv
//   estimator --model=criteo_dlrm --data=DIR
//
// It first trains some epochs and evaluates the model. The timed steps continue
// from that checkpoint, after 100 warm-up steps. `step` is the time between the
// ends of two steps, including everything in Estimator::Train; `examples` is
// the number per second over all timed steps, and `examples_per_core` the same
// divided by the number of CPUs.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "benchmarks/common/report.h"
#include "benchmarks/training/estimator_models.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/base/logging.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(std::string, model, "adult",
          "adult: wide & deep on UCI Adult; criteo_wide_deep, criteo_dlrm: "
          "DeepRec's models on Criteo's rows.");
ABSL_FLAG(std::string, data, "",
          "Directory of adult.csv, or of train.tsv and dev.tsv.");
ABSL_FLAG(std::string, input, "csv",
          "csv: rows are decoded in each step; memory: once.");
ABSL_FLAG(std::string, hidden, "",
          "Units of the hidden layers, as 100,75; empty: the model's own.");
ABSL_FLAG(std::string, optimizer, "adagrad",
          "Of the criteo models, or adam, which moves all rows in each step.");
ABSL_FLAG(int64_t, batch, 0, "Rows of a step; 0: 128 of adult, 512 of criteo.");
ABSL_FLAG(int64_t, epochs, 0,
          "Before the evaluation; 0: 3 of adult, 1 of criteo.");
ABSL_FLAG(int64_t, steps, 3000, "Timed ones.");
ABSL_FLAG(std::string, timeline, "",
          "A directory for timelines of some of the timed steps, which are "
          "slower then.");
ABSL_FLAG(int64_t, seed, 1, "Seed of the order of rows and of the weights.");

namespace weft::benchmarks {
namespace {

constexpr int64_t kWarmUp = 100;

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// A hook that records the time at the end of each step.
class StepClock : public train::SessionRunHook {
 public:
  absl::Status AfterRun(train::SessionRunContext&,
                        const train::SessionRunValues&) override {
    ends_.push_back(Clock::now());
    return absl::OkStatus();
  }
  const std::vector<Clock::time_point>& ends() const { return ends_; }

 private:
  std::vector<Clock::time_point> ends_;
};

std::string NewDirectory() {
  std::string made =
      (std::filesystem::temp_directory_path() / "estimator_XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) {
    Check(absl::InternalError("Cannot create a directory at " + made));
  }
  return made;
}

bool IsAdult() { return absl::GetFlag(FLAGS_model) == "adult"; }

EstimatorSettings Settings(const std::string& scratch, Logger& logger) {
  EstimatorSettings settings;
  const std::string directory = absl::GetFlag(FLAGS_data);
  settings.data = IsAdult() ? directory + "/adult.csv" : directory;
  settings.scratch = scratch;
  settings.batch = absl::GetFlag(FLAGS_batch);
  if (settings.batch == 0) settings.batch = IsAdult() ? 128 : 512;
  settings.in_memory = absl::GetFlag(FLAGS_input) == "memory";
  settings.optimizer = absl::GetFlag(FLAGS_optimizer);
  settings.seed = absl::GetFlag(FLAGS_seed);
  settings.logger = &logger;
  for (const absl::string_view text :
       absl::StrSplit(absl::GetFlag(FLAGS_hidden), ',', absl::SkipEmpty())) {
    int64_t units = 0;
    if (!absl::SimpleAtoi(text, &units) || units < 1) {
      Check(
          absl::InvalidArgumentError("--hidden must be a list such as 100,75"));
    }
    settings.hidden.push_back(units);
  }
  return settings;
}

absl::StatusOr<EstimatorTask> NewTask(const EstimatorSettings& settings) {
  const std::string model = absl::GetFlag(FLAGS_model);
  if (model == "adult") return AdultWideDeep(settings);
  if (model == "criteo_wide_deep") return CriteoWideDeep(settings);
  if (model == "criteo_dlrm") return CriteoDlrm(settings);
  return absl::InvalidArgumentError(
      "--model must be adult, criteo_wide_deep or criteo_dlrm");
}

void CheckFlags() {
  if (absl::GetFlag(FLAGS_data).empty()) {
    Check(absl::InvalidArgumentError(
        "Give the directory of adult.csv, or of Criteo's train.tsv and "
        "dev.tsv, with --data"));
  }
  const std::string input = absl::GetFlag(FLAGS_input);
  const std::string optimizer = absl::GetFlag(FLAGS_optimizer);
  if ((input == "csv" || input == "memory") &&
      (optimizer == "adagrad" || optimizer == "adam") &&
      absl::GetFlag(FLAGS_batch) >= 0 && absl::GetFlag(FLAGS_epochs) >= 0 &&
      absl::GetFlag(FLAGS_steps) >= 1) {
    return;
  }
  Check(absl::InvalidArgumentError(
      "--input is csv or memory, --optimizer adagrad or adam, --batch and "
      "--epochs are not negative, --steps at least 1"));
}

void ReportParams(const EstimatorTask& task, const EstimatorSettings& settings,
                  int64_t epochs, Report& report) {
  report.Param("model", absl::GetFlag(FLAGS_model));
  report.Param("batch", static_cast<double>(settings.batch));
  report.Param("epochs", static_cast<double>(epochs));
  report.Param("input", absl::GetFlag(FLAGS_input));
  report.Param("steps", static_cast<double>(absl::GetFlag(FLAGS_steps)));
  report.Param("seed", static_cast<double>(settings.seed));
  report.Param("train_rows", static_cast<double>(task.train_rows));
  report.Param("eval_rows", static_cast<double>(task.eval_rows));
  if (!IsAdult()) report.Param("optimizer", settings.optimizer);
}

void ReportEpochs(EstimatorTask& task, int64_t epochs, Report& report) {
  const auto begin = Clock::now();
  const auto clock = std::make_shared<StepClock>();
  Check(task.model.Train(task.train_input(epochs), {.hooks = {clock}}));
  const auto trained = Clock::now();
  const auto metrics = task.model.Evaluate(task.eval_input);
  Check(metrics.status());
  const auto evaluated = Clock::now();
  if (clock->ends().empty()) {
    Check(absl::InternalError("No step was run: the input is empty."));
  }
  report.Value("train_to_first_step", Seconds(begin, clock->ends().front()),
               "s");
  report.Value("epochs_train", Seconds(begin, trained), "s");
  report.Value("evaluate", Seconds(trained, evaluated), "s");
  report.Value("steps_of_epochs", static_cast<double>(clock->ends().size()),
               "steps");
  for (const std::string name : {"auc", "accuracy", "average_loss"}) {
    report.Value("eval_" + name, metrics->at(name).scalar<float>(),
                 name == "average_loss" ? "nats" : "fraction");
  }
}

std::shared_ptr<train::SessionRunHook> Timelines() {
  return std::make_shared<train::ProfilerHook>(train::ProfilerOptions{
      .save_steps = 1000, .output_dir = absl::GetFlag(FLAGS_timeline)});
}

void ReportSteps(EstimatorTask& task, int64_t batch, Report& report) {
  const auto clock = std::make_shared<StepClock>();
  std::vector<std::shared_ptr<train::SessionRunHook>> hooks = {clock};
  if (!absl::GetFlag(FLAGS_timeline).empty()) hooks.push_back(Timelines());
  Check(task.model.Train(
      task.train_input({}),
      {.hooks = hooks, .steps = absl::GetFlag(FLAGS_steps) + kWarmUp}));
  const auto& ends = clock->ends();
  Timing timing;
  for (size_t i = kWarmUp; i < ends.size(); ++i) {
    timing.seconds.push_back(Seconds(ends[i - 1], ends[i]));
  }
  const double rate = static_cast<double>(timing.seconds.size()) /
                      Seconds(ends[kWarmUp - 1], ends.back()) *
                      static_cast<double>(batch);
  std::sort(timing.seconds.begin(), timing.seconds.end());
  report.Latency("step", timing);
  report.Value("examples", rate, "examples/s");
  report.Value(
      "examples_per_core",
      rate / static_cast<double>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))),
      "examples/s");
}

// Measures the model. The caller deletes the directory `scratch`.
void Measure(const std::string& scratch) {
  NullLogger logger;
  const EstimatorSettings settings = Settings(scratch, logger);
  auto task = NewTask(settings);
  Check(task.status());
  int64_t epochs = absl::GetFlag(FLAGS_epochs);
  if (epochs == 0) epochs = IsAdult() ? 3 : 1;
  Report report("estimator");
  ReportParams(*task, settings, epochs, report);
  ReportEpochs(*task, epochs, report);
  ReportSteps(*task, settings.batch, report);
  report.Finish(absl::GetFlag(FLAGS_json));
}

void Main() {
  CheckFlags();
  const std::string scratch = NewDirectory();
  Measure(scratch);
  std::filesystem::remove_all(scratch);
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "Training by Estimators.");
  weft::benchmarks::Main();
}
