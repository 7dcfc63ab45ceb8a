// Exporter writes SavedModels for serving during training; TensorFlow's
// tf.estimator.Exporter and its three kinds. TrainAndEvaluate calls each
// exporter after each evaluation:
//
//   EvalSpec eval;
//   eval.exporters = {LatestExporter("latest", serving_input),
//                     BestExporter(serving_input)};
//
// An export is written to export_path/SECONDS, as by
// Estimator::ExportSavedModel; export_path is MODEL_DIR/export/NAME.
//
// An exporter keeps errors of its arguments, and each Export returns them.
//
// Threads: one call at a time. Export blocks.
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
  // Returns the created directory; none if it exports nothing this time.
  // `eval_result` belongs to the checkpoint at `checkpoint_path`.
  virtual absl::StatusOr<std::optional<std::string>> Export(
      Estimator& estimator, const std::string& export_path,
      const std::string& checkpoint_path, const EvalMetrics& eval_result,
      bool is_the_final_export) = 0;
};

struct ExporterOptions {
  std::map<std::string, std::string> assets_extra;
  bool as_text = false;
  // Number of newest exports to keep in export_path; others are deleted; none:
  // all are kept. Not used by FinalExporter. Only directories named by a time
  // in seconds, in ten digits, are counted and deleted.
  std::optional<int64_t> exports_to_keep = 5;
};

// All exporters skip a model of step 0, which is an error of the final export
// (ExportSavedModelOptions::allow_untrained).

// Exports each time.
std::shared_ptr<Exporter> LatestExporter(
    const std::string& name, ServingInputReceiverFn serving_input_receiver_fn,
    ExporterOptions options = {});

// Exports once, when training has ended.
std::shared_ptr<Exporter> FinalExporter(
    const std::string& name, ServingInputReceiverFn serving_input_receiver_fn,
    ExporterOptions options = {});

// Whether the current evaluation is better than the best so far.
using CompareFn =
    std::function<absl::StatusOr<bool>(const EvalMetrics& best_eval_result,
                                       const EvalMetrics& current_eval_result)>;
// Whether its loss is smaller; a number is better than NaN. INVALID_ARGUMENT if
// one of them has no loss.
absl::StatusOr<bool> LossSmaller(const EvalMetrics& best_eval_result,
                                 const EvalMetrics& current_eval_result);

struct BestExporterOptions {
  std::string name = "best_exporter";
  // Event files of earlier evaluations, below the model's directory; empty:
  // ignored. An Experiment's evaluator writes to eval_continuous, so for it
  // this is "eval_continuous/*.tfevents.*".
  std::string event_file_pattern = "eval/*.tfevents.*";
  CompareFn compare_fn = LossSmaller;
  ExporterOptions exporter;
};
// Exports the first time, and when an evaluation is better than all earlier
// ones, including those of earlier processes, if their event files are found
// (TensorFlow forgets these at its first export).
std::shared_ptr<Exporter> BestExporter(
    ServingInputReceiverFn serving_input_receiver_fn,
    BestExporterOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORTER_H_
