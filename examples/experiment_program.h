// Shared code of example programs that run an Experiment: it finds the data,
// splits rows for evaluation, shows a progress line, runs the experiment, and
// prints the result.
#ifndef WEFT_EXAMPLES_EXPERIMENT_PROGRAM_H_
#define WEFT_EXAMPLES_EXPERIMENT_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "libs/api/weft.h"
#include "libs/base/async/stop_signals.h"
#include "libs/base/logging.h"

namespace weft::examples {

// Warnings logs only warnings and errors, because the progress line replaces
// other messages. Thread-safe.
class Warnings : public Logger {
 public:
  explicit Warnings(const std::string& program)
      : console_(NewConsoleLogger(program)) {}
  void Log(Severity severity, absl::string_view message) override {
    if (severity >= Severity::kWarning) console_->Log(severity, message);
  }

 private:
  const std::unique_ptr<Logger> console_;
};

// Returns the path of `file` in `data_dir`. If `data_dir` is empty, returns the
// path of `sample` in examples/testdata/, beside `program` (argv[0]). NOT_FOUND
// contains the text `remedy`.
absl::StatusOr<std::string> FindData(const std::string& program,
                                     const std::string& data_dir,
                                     const std::string& file,
                                     const std::string& sample,
                                     const std::string& remedy);

// Returns either the shuffled rows for training, or, for evaluation, every
// fifth row once. The rows are read only once and stay in memory.
estimator::RowOptions PartRows(int64_t batch_size,
                               const estimator::RunConfig::Shard& shard,
                               bool for_training);

// Returns a hook that shows the progress of an Estimator's training on stdout.
std::shared_ptr<train::SessionRunHook> ShowProgress(int64_t steps,
                                                    int64_t batch_size);

// Options of an example program.
struct ProgramOptions {
  std::string name;
  // Directory of checkpoints and logs. If it is empty, a new temporary
  // directory is used. The tasks of a cluster on one machine share such a
  // directory.
  std::string model_dir;
  int64_t save_every = 0;  // number of steps between two checkpoints
  int64_t seed = 0;        // seed of the graph
};

// Runs the experiment as the task in TF_CONFIG, or as a single process, until
// it ends or a signal arrives. After an evaluation, prints "accuracy 0.84, AUC
// 0.89 after 2000 steps", or "RMSE 0.94 after 2000 steps" for a regression.
// Also prints the locations of the model and of TensorBoard's log.
absl::Status RunExperiment(const ProgramOptions& options,
                           const estimator::ExperimentFn& experiment_fn,
                           const estimator::HParams& params,
                           const StopSignals& signals);

// Implements main: parses flags, calls `run` with argv[0], and prints errors to
// stderr. Returns the exit code.
int ProgramMain(int argc, char** argv, const char* usage,
                absl::Status (*run)(const std::string& program,
                                    const StopSignals& signals));

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_EXPERIMENT_PROGRAM_H_
