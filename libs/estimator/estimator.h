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
// The Estimator keeps errors of its arguments, and each call returns them.
//
// Threads: one call at a time. All block. Copies are the same Estimator.
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
  // Empty: the config's. INVALID_ARGUMENT if both are set and differ. Neither:
  // a new temporary directory, which is logged and not deleted;
  // INVALID_ARGUMENT in a cluster, whose tasks must share a directory.
  std::string model_dir;
  // Initializes a training that has no checkpoint yet.
  std::optional<train::WarmStartSettings> warm_start_from;

  // Replaceable dependencies for tests; all must outlive the Estimator.
  train::SessionFactory session_factory = Session::Connect;
  FileSystem* file_system = nullptr;  // of model_dir; null: local
  Scheduler* scheduler = nullptr;     // null: its own
  Logger* logger = nullptr;           // null: stderr
};

struct TrainOptions {
  train::HookList hooks;
  // A number of additional steps, or a global step; neither: until the input
  // ends. Both are INVALID_ARGUMENT.
  std::optional<int64_t> steps;
  std::optional<int64_t> max_steps;
  std::vector<std::shared_ptr<train::CheckpointSaverListener>> saving_listeners;
  // Returns true to end training as if a hook had requested it. Called on any
  // thread, also concurrently; must return at once. May be null.
  std::function<bool()> stop_requested;
  // Process of its sessions; null: as in the config's session_config.
  Process* process = nullptr;
};

struct EvaluateOptions {
  std::optional<int64_t> steps;  // batches; none: all of the input
  train::HookList hooks;
  std::string checkpoint_path;  // empty: the newest
  std::string name;             // events go to "eval", or "eval_NAME"
  // Returns true to end before the next batch, with CANCELLED and no output.
  // Otherwise as in TrainOptions.
  std::function<bool()> stop_requested;
  // Receives a transient error that prevented writing the events of an
  // otherwise successful evaluation; OK if they were written. May be null.
  absl::Status* lost_events = nullptr;
};
// Metrics by name, with "loss", the mean over all batches, and "global_step".
using EvalMetrics = std::map<std::string, Tensor>;

struct PredictOptions {
  std::vector<std::string> predict_keys;  // empty: all
  train::HookList hooks;
  std::string checkpoint_path;  // empty: the newest
  // Whether each prediction is for one example, or for a batch.
  bool yield_single_examples = true;
};
using Prediction = std::map<std::string, Tensor>;

struct ExportSavedModelOptions {
  // Files to copy, by their paths below assets.extra in the export directory.
  std::map<std::string, std::string> assets_extra;
  bool as_text = false;         // saved_model.pbtxt
  std::string checkpoint_path;  // empty: the newest
  // If true, drops attrs that have the default of their op, for older readers.
  bool strip_default_attrs = true;
  // Whether to export an untrained model, whose checkpoint is of step 0. A
  // model started by warm_start_from is always exported.
  bool allow_untrained = false;
};

// PredictionStream computes predictions on demand.
class PredictionStream {
 public:
  virtual ~PredictionStream() = default;
  // None at the end of the input. An error is permanent.
  virtual absl::StatusOr<std::optional<Prediction>> Next() = 0;
};

class Estimator {
 public:
  Estimator(ModelFn model_fn, EstimatorOptions options, RunConfig config = {});

  const absl::Status& status() const;
  const std::string& model_dir() const;
  const RunConfig& config() const;

  // Returns OK at once if max_steps are reached already. INVALID_ARGUMENT for a
  // task that does not train.
  absl::Status Train(const InputFn& input_fn, const TrainOptions& options = {});
  absl::StatusOr<EvalMetrics> Evaluate(const InputFn& input_fn,
                                       const EvaluateOptions& options = {});
  // The stream is independent of the Estimator, except for its options.
  absl::StatusOr<std::unique_ptr<PredictionStream>> Predict(
      const InputFn& input_fn, const PredictOptions& options = {});

  // Writes the model for serving, with the values of a checkpoint, and returns
  // its directory: EXPORT_DIR_BASE/SECONDS, the current time or later than the
  // newest existing one. The directory appears atomically; in an object store
  // it is complete once it has a saved_model.pb. Vocabulary files of tables are
  // included. Signatures are those of the model's export_outputs;
  // docs/user/saved_models.md. NOT_FOUND without a checkpoint;
  // FAILED_PRECONDITION for an untrained model.
  absl::StatusOr<std::string> ExportSavedModel(
      const std::string& export_dir_base,
      const ServingInputReceiverFn& serving_input_receiver_fn,
      const ExportSavedModelOptions& options = {});

  // Returns the prefix of the newest checkpoint, or none.
  absl::StatusOr<std::optional<std::string>> LatestCheckpoint() const;
  // Reads the newest checkpoint: all keys; one tensor. NOT_FOUND without one.
  absl::StatusOr<std::vector<std::string>> GetVariableNames() const;
  absl::StatusOr<Tensor> GetVariableValue(const std::string& name) const;
  // Directory of the events of evaluations with that name.
  std::string eval_dir(const std::string& name = "") const;

  // Its file system, scheduler and logger; lives as long as any copy of the
  // Estimator.
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
