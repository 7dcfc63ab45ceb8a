// What the programs that run an Experiment share: where the data lies and which
// rows of it are for evaluation, one line of progress, how they run, and what
// is told in the end.
#ifndef WEFT_EXAMPLES_EXPERIMENT_PROGRAM_H_
#define WEFT_EXAMPLES_EXPERIMENT_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/stop_signals.h"

namespace weft::examples {

// Logs what is wrong and no more: there is a line of progress. Thread-safe.
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

// The path of `file` in `data_dir`; where that is empty, of examples/testdata/
// `sample`, which lies beside `program` (argv[0]). NOT_FOUND says `remedy`.
absl::StatusOr<std::string> FindData(const std::string& program,
                                     const std::string& data_dir,
                                     const std::string& file,
                                     const std::string& sample,
                                     const std::string& remedy);

// The rows for training, shuffled, or once those for evaluation, each fifth.
// They are read once and stay in memory.
estimator::RowOptions PartRows(int64_t batch_size,
                               const estimator::RunConfig::Shard& shard,
                               bool for_training);

// Shows on stdout how far a training by an Estimator is.
std::shared_ptr<train::SessionRunHook> ShowProgress(int64_t steps,
                                                    int64_t batch_size);

// What such a program says of itself.
struct ProgramOptions {
  std::string name;
  // Where checkpoints and logs go. Empty: alone, a new directory among the
  // temporary ones; the tasks of a cluster, one that they share as long as they
  // are on one machine.
  std::string model_dir;
  int64_t save_every = 0;  // steps from one checkpoint to the next
  int64_t seed = 0;        // of the graph
};

// Runs the experiment as the task of TF_CONFIG, or alone, until it ends or a
// signal has come. Prints "accuracy 0.84, AUC 0.89 after 2000 steps", or "RMSE
// 0.94 after 2000 steps" of a regression, where there was an evaluation, and
// where the model and TensorBoard's log lie.
absl::Status RunExperiment(const ProgramOptions& options,
                           const estimator::ExperimentFn& experiment_fn,
                           const estimator::HParams& params,
                           const StopSignals& signals);

// What main does: parses flags, calls `run` with argv[0], and says on stderr
// what went wrong. The exit code.
int ProgramMain(int argc, char** argv, const char* usage,
                absl::Status (*run)(const std::string& program,
                                    const StopSignals& signals));

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_EXPERIMENT_PROGRAM_H_
