// Estimator is a model that trains, evaluates and predicts, with the
// checkpoints, event files and logs of TensorFlow's tf.estimator.Estimator.
//
//   Estimator model(model_fn, {.model_dir = "/job/model"}, config);
//   RETURN_IF_ERROR(model.Train(train_input, {.max_steps = 1000}));
//   ASSIGN_OR_RETURN(EvalMetrics metrics, model.Evaluate(eval_input));
//   ASSIGN_OR_RETURN(auto predictions, model.Predict(new_input));
//   while (true) {
//     ASSIGN_OR_RETURN(auto example, predictions->Next());
//     if (!example) break;
//     Use(example->at("probabilities"));
//   }
//
// Each call builds its own graph. Training resumes from the newest checkpoint
// of model_dir; evaluation and prediction restore it, or use initial values if
// there is none. Canned models are in canned.h.
//
// Errors in its arguments are kept, and each call returns them.
//
// Threads: only one call at a time is allowed. All calls block. Copies refer to
// the same Estimator.
#ifndef WEFT_LIBS_ESTIMATOR_ESTIMATOR_H_
#define WEFT_LIBS_ESTIMATOR_ESTIMATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/estimator/estimator_spec.h"
#include "libs/estimator/run_config.h"
#include "libs/estimator/serving_input.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/tensor.h"
#include "libs/train/sessions/checkpoint_saver_hook.h"
#include "libs/train/sessions/session_manager.h"
#include "libs/train/sessions/warm_start.h"

namespace weft::estimator {

struct EstimatorOptions {
  // Model directory. Empty: the model_dir of the RunConfig; INVALID_ARGUMENT if
  // both are set and differ. If neither is set, a new temporary directory is
  // used, which is logged and not deleted. In a cluster that is
  // INVALID_ARGUMENT, because the tasks must share a directory.
  std::string model_dir;
  // How to initialize a training that has no checkpoint yet.
  std::optional<train::WarmStartSettings> warm_start_from;

  // Replaceable dependencies for tests; all must outlive the Estimator.
  train::SessionFactory session_factory = Session::Connect;
  FileSystem* file_system = nullptr;  // file system of model_dir; null: local
  Scheduler* scheduler = nullptr;     // null: a scheduler of its own
  Logger* logger = nullptr;           // null: stderr
};

struct TrainOptions {
  train::HookList hooks;
  // Training ends after `steps` more steps, or at global step `max_steps`.
  // Without either it ends with the input. Setting both is INVALID_ARGUMENT.
  std::optional<int64_t> steps;
  std::optional<int64_t> max_steps;
  std::vector<std::shared_ptr<train::CheckpointSaverListener>> saving_listeners;
  // Returns true to end training as if a hook had requested a stop. Called on
  // any thread, also concurrently, and must return at once. May be null.
  std::function<bool()> stop_requested;
  // Process of the training's sessions; null: the process in the config's
  // session_config.
  Process* process = nullptr;
};

struct EvaluateOptions {
  std::optional<int64_t> steps;  // in batches; null: all of the input
  train::HookList hooks;
  std::string checkpoint_path;  // empty: the newest checkpoint
  std::string name;             // events go to "eval", or "eval_NAME"
  // Returns true to end before the next batch, with CANCELLED and without
  // results. The rules for threads are those of TrainOptions::stop_requested.
  std::function<bool()> stop_requested;
  // Receives a transient error that prevented writing the events of an
  // otherwise successful evaluation, or OK if they were written. May be null.
  absl::Status* lost_events = nullptr;
};
// Metrics by name. Always contains "loss", the mean over all batches, and
// "global_step".
using EvalMetrics = std::map<std::string, Tensor>;

struct PredictOptions {
  std::vector<std::string> predict_keys;  // empty: all predictions
  train::HookList hooks;
  std::string checkpoint_path;  // empty: the newest checkpoint
  // If true, each Prediction is for one example; if false, for a batch.
  bool yield_single_examples = true;
};
using Prediction = std::map<std::string, Tensor>;

struct ExportSavedModelOptions {
  // Files to copy, by their paths below assets.extra in the export directory.
  std::map<std::string, std::string> assets_extra;
  bool as_text = false;         // writes saved_model.pbtxt instead of .pb
  std::string checkpoint_path;  // empty: the newest checkpoint
  // If true, drops attrs that have the default value of their op, so that older
  // readers can load the model.
  bool strip_default_attrs = true;
  // Whether to export an untrained model: one whose checkpoint is of step 0. A
  // model started by warm_start_from is always exported.
  bool allow_untrained = false;
};

// PredictionStream computes predictions on demand.
class PredictionStream {
 public:
  virtual ~PredictionStream() = default;
  // Returns the next prediction; null at the end of the input. An error is
  // permanent.
  virtual absl::StatusOr<std::optional<Prediction>> Next() = 0;
};

class Estimator {
 public:
  Estimator(ModelFn model_fn, EstimatorOptions options, RunConfig config = {});

  const absl::Status& status() const;
  const std::string& model_dir() const;
  const RunConfig& config() const;

  // Trains the model. Returns OK at once if max_steps has been reached already.
  // INVALID_ARGUMENT for a task that does not train.
  absl::Status Train(const InputFn& input_fn, const TrainOptions& options = {});
  absl::StatusOr<EvalMetrics> Evaluate(const InputFn& input_fn,
                                       const EvaluateOptions& options = {});
  // Returns a stream of predictions. Besides the dependencies in
  // EstimatorOptions, it does not need the Estimator.
  absl::StatusOr<std::unique_ptr<PredictionStream>> Predict(
      const InputFn& input_fn, const PredictOptions& options = {});

  // Writes the model for serving, with the values of a checkpoint. Returns the
  // new directory, EXPORT_DIR_BASE/SECONDS. SECONDS is the current time, or the
  // next number if an export with a later time exists. The directory appears
  // atomically; in an object store it is complete once it has a saved_model.pb.
  // Vocabulary files of tables are included. Signatures are those of the
  // model's export_outputs (docs/user/saved_models.md). NOT_FOUND if there is
  // no checkpoint; FAILED_PRECONDITION for an untrained model.
  absl::StatusOr<std::string> ExportSavedModel(
      const std::string& export_dir_base,
      const ServingInputReceiverFn& serving_input_receiver_fn,
      const ExportSavedModelOptions& options = {});

  // Returns the prefix of the newest checkpoint; null if there is no
  // checkpoint.
  absl::StatusOr<std::optional<std::string>> LatestCheckpoint() const;
  // Read the newest checkpoint: the names of all variables, or the value of
  // one. NOT_FOUND if there is no checkpoint.
  absl::StatusOr<std::vector<std::string>> GetVariableNames() const;
  absl::StatusOr<Tensor> GetVariableValue(const std::string& name) const;
  // Returns the directory for the events of evaluations that are named `name`.
  std::string eval_dir(const std::string& name = "") const;

  // Environment is the file system, scheduler and logger of an Estimator. It
  // lives as long as any copy of the Estimator.
  struct Environment {
    FileSystem& files;
    Scheduler& scheduler;
    Logger& logger;
  };
  Environment environment() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_ESTIMATOR_H_
