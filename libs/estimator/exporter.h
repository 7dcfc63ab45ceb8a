// Exporter writes SavedModels for serving during training, like TensorFlow's
// tf.estimator.Exporter with its three kinds. TrainAndEvaluate calls each
// exporter after each evaluation:
//
//   EvalSpec eval;
//   eval.exporters = {LatestExporter("latest", serving_input),
//                     BestExporter(serving_input)};
//
// An export is written to export_path/SECONDS, like an export by
// Estimator::ExportSavedModel. The export_path is MODEL_DIR/export/NAME.
//
// Errors in an exporter's arguments are kept, and each call of Export returns
// them.
//
// Threads: only one call at a time is allowed. Export blocks.
#ifndef WEFT_LIBS_ESTIMATOR_EXPORTER_H_
#define WEFT_LIBS_ESTIMATOR_EXPORTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/serving_input.h"

namespace weft::estimator {

class Exporter {
 public:
  virtual ~Exporter() = default;
  // Name of the exporter and of its directory. Must be unique within an
  // EvalSpec.
  virtual const std::string& name() const = 0;
  // Exports the model, and returns the created directory; null if it exports
  // nothing this time. `eval_result` belongs to the checkpoint at
  // `checkpoint_path`.
  virtual absl::StatusOr<std::optional<std::string>> Export(
      Estimator& estimator, const std::string& export_path,
      const std::string& checkpoint_path, const EvalMetrics& eval_result,
      bool is_the_final_export) = 0;
};

struct ExporterOptions {
  std::map<std::string, std::string> assets_extra;
  bool as_text = false;
  // Number of newest exports to keep in export_path; older exports are deleted.
  // Null: all are kept. FinalExporter ignores this field. Only directories
  // whose name is a time in seconds, in ten digits, are counted and deleted.
  std::optional<int64_t> exports_to_keep = 5;
};

// All exporters skip a model of step 0. The final export fails for such a model
// (ExportSavedModelOptions::allow_untrained).

// Returns an exporter that exports after each evaluation.
std::shared_ptr<Exporter> LatestExporter(
    const std::string& name, ServingInputReceiverFn serving_input_receiver_fn,
    ExporterOptions options = {});

// Returns an exporter that exports once, when training has ended.
std::shared_ptr<Exporter> FinalExporter(
    const std::string& name, ServingInputReceiverFn serving_input_receiver_fn,
    ExporterOptions options = {});

// CompareFn returns whether the current evaluation is better than the best so
// far.
using CompareFn =
    std::function<absl::StatusOr<bool>(const EvalMetrics& best_eval_result,
                                       const EvalMetrics& current_eval_result)>;
// Returns whether the current loss is smaller than the best; any number is
// better than NaN. INVALID_ARGUMENT if either result has no loss.
absl::StatusOr<bool> LossSmaller(const EvalMetrics& best_eval_result,
                                 const EvalMetrics& current_eval_result);

struct BestExporterOptions {
  std::string name = "best_exporter";
  // Pattern of event files of earlier evaluations, below the model's directory;
  // empty: earlier evaluations are ignored. The evaluator of an Experiment
  // writes to eval_continuous, so it needs "eval_continuous/*.tfevents.*".
  std::string event_file_pattern = "eval/*.tfevents.*";
  CompareFn compare_fn = LossSmaller;
  ExporterOptions exporter;
};
// Returns an exporter that exports the first time, and whenever an evaluation
// is better than all earlier ones. These include evaluations of earlier
// processes, if their event files are found. (TensorFlow forgets evaluations of
// earlier processes at its first export.)
std::shared_ptr<Exporter> BestExporter(
    ServingInputReceiverFn serving_input_receiver_fn,
    BestExporterOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORTER_H_
