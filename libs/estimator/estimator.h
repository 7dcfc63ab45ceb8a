// Estimator: a model that trains, evaluates and predicts, with checkpoints,
// event files and logs as TensorFlow's tf.estimator.Estimator has them.
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
// Each call builds a graph of its own. Training goes on from the newest
// checkpoint of model_dir; evaluation and prediction restore it, and go by
// initial values where there is none. Canned models are in canned.h.
//
// What is wrong with its arguments the Estimator keeps, and each call fails
// with it.
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
#include "libs/base/scheduler.h"
#include "libs/estimator/estimator_spec.h"
#include "libs/estimator/run_config.h"
#include "libs/estimator/serving_input.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/tensor.h"
#include "libs/train/checkpoint_saver_hook.h"
#include "libs/train/session_manager.h"
#include "libs/train/warm_start.h"

namespace weft::estimator {

struct EstimatorOptions {
  // Empty: the config's. INVALID_ARGUMENT where both are there and differ.
  // Neither: a directory of its own among the machine's temporary files, which
  // stays; the log tells it. INVALID_ARGUMENT in a cluster, whose tasks share
  // one.
  std::string model_dir;
  // What a training that has no checkpoint yet begins with.
  std::optional<train::WarmStartSettings> warm_start_from;

  // What tests put in place of the world; all outlive the Estimator.
  train::SessionFactory session_factory = Session::Connect;
  FileSystem* file_system = nullptr;  // of model_dir; null: the machine's
  Scheduler* scheduler = nullptr;     // null: one of its own
  Logger* logger = nullptr;           // null: lines on stderr
};

struct TrainOptions {
  train::HookList hooks;
  // So many more, or until the global step is there; neither: until the input
  // ends. Both are INVALID_ARGUMENT.
  std::optional<int64_t> steps;
  std::optional<int64_t> max_steps;
  std::vector<std::shared_ptr<train::CheckpointSaverListener>> saving_listeners;
  // True: training is to end, as if a hook had asked for it. Asked on any
  // thread, on several at a time; returns at once. May be null.
  std::function<bool()> stop_requested;
  // Whose threads its sessions use; null: as the config's session_config says.
  Process* process = nullptr;
};

struct EvaluateOptions {
  std::optional<int64_t> steps;  // batches; none: all of the input
  train::HookList hooks;
  std::string checkpoint_path;  // empty: the newest
  std::string name;             // events go to "eval", or "eval_NAME"
  // True: it ends before the next batch, CANCELLED, and writes nothing. As of
  // TrainOptions.
  std::function<bool()> stop_requested;
  // Where it says why events of an evaluation that has metrics could not be
  // written, though they may be another time; OK where they were. May be null.
  absl::Status* lost_events = nullptr;
};
// By name, with "loss", the mean of all batches', and "global_step".
using EvalMetrics = std::map<std::string, Tensor>;

struct PredictOptions {
  std::vector<std::string> predict_keys;  // empty: all
  train::HookList hooks;
  std::string checkpoint_path;  // empty: the newest
  // Whether each prediction is of one example, or of a batch.
  bool yield_single_examples = true;
};
using Prediction = std::map<std::string, Tensor>;

struct ExportSavedModelOptions {
  // Files to copy, by their paths below the export's directory assets.extra.
  std::map<std::string, std::string> assets_extra;
  bool as_text = false;         // saved_model.pbtxt
  std::string checkpoint_path;  // empty: the newest
  // Attrs that hold their op's default are left out, for older readers.
  bool strip_default_attrs = true;
  // Whether a model whose checkpoint is of step 0, so untrained, is exported.
  // One that an Estimator with warm_start_from began is in any case.
  bool allow_untrained = false;
};

// Predictions as they are asked for.
class PredictionStream {
 public:
  virtual ~PredictionStream() = default;
  // None when the input has ended. An error stays.
  virtual absl::StatusOr<std::optional<Prediction>> Next() = 0;
};

class Estimator {
 public:
  Estimator(ModelFn model_fn, EstimatorOptions options, RunConfig config = {});

  const absl::Status& status() const;
  const std::string& model_dir() const;
  const RunConfig& config() const;

  // OK without doing anything where max_steps are there already.
  // INVALID_ARGUMENT of a task that does not train.
  absl::Status Train(const InputFn& input_fn, const TrainOptions& options = {});
  absl::StatusOr<EvalMetrics> Evaluate(const InputFn& input_fn,
                                       const EvaluateOptions& options = {});
  // The stream is independent of the Estimator, but for its options.
  absl::StatusOr<std::unique_ptr<PredictionStream>> Predict(
      const InputFn& input_fn, const PredictOptions& options = {});

  // Writes the model for serving, with the values of a checkpoint, and returns
  // where: EXPORT_DIR_BASE/SECONDS, of now or behind the newest that is there,
  // which is there as a whole or not at all; in an object store it is whole
  // once it has a saved_model.pb. Tables bring their vocabulary files.
  // Signatures are those of the model's export_outputs;
  // docs/user/saved_models.md. NOT_FOUND without a checkpoint;
  // FAILED_PRECONDITION for an untrained model.
  absl::StatusOr<std::string> ExportSavedModel(
      const std::string& export_dir_base,
      const ServingInputReceiverFn& serving_input_receiver_fn,
      const ExportSavedModelOptions& options = {});

  // The prefix of the newest checkpoint; none.
  absl::StatusOr<std::optional<std::string>> LatestCheckpoint() const;
  // Of the newest checkpoint: all keys; a tensor. NOT_FOUND without one.
  absl::StatusOr<std::vector<std::string>> GetVariableNames() const;
  absl::StatusOr<Tensor> GetVariableValue(const std::string& name) const;
  // Where evaluations of that name write.
  std::string eval_dir(const std::string& name = "") const;

  // With what it reads files, waits and logs; there as long as a copy of it.
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
