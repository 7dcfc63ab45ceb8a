// Exporter: makes SavedModels for serving while a model trains; TensorFlow's
// tf.estimator.Exporter and its three kinds. TrainAndEvaluate calls each one
// after each evaluation:
//
//   EvalSpec eval;
//   eval.exporters = {LatestExporter("latest", serving_input),
//                     BestExporter(serving_input)};
//
// What one makes lies in export_path/SECONDS, as Estimator::ExportSavedModel
// has it; export_path is MODEL_DIR/export/NAME.
//
// What is wrong with its arguments an exporter keeps, and each Export fails
// with it.
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
  // Of the exporter, and of its directory. Those of one EvalSpec differ.
  virtual const std::string& name() const = 0;
  // The directory that was made; none where this time none is. `eval_result`
  // is of the checkpoint at `checkpoint_path`.
  virtual absl::StatusOr<std::optional<std::string>> Export(
      Estimator& estimator, const std::string& export_path,
      const std::string& checkpoint_path, const EvalMetrics& eval_result,
      bool is_the_final_export) = 0;
};

struct ExporterOptions {
  std::map<std::string, std::string> assets_extra;
  bool as_text = false;
  // The newest so many of export_path stay, others are deleted; none: all do.
  // Not of FinalExporter. Only directories that are named by their second, in
  // ten digits, are counted, and deleted.
  std::optional<int64_t> exports_to_keep = 5;
};

// Of all of them: a model of step 0 is not exported, and is an error of the
// final export (ExportSavedModelOptions::allow_untrained).

// Each time.
std::shared_ptr<Exporter> LatestExporter(
    const std::string& name, ServingInputReceiverFn serving_input_receiver_fn,
    ExporterOptions options = {});

// Once, when training has ended.
std::shared_ptr<Exporter> FinalExporter(
    const std::string& name, ServingInputReceiverFn serving_input_receiver_fn,
    ExporterOptions options = {});

// Whether the current evaluation is better than the best so far.
using CompareFn =
    std::function<absl::StatusOr<bool>(const EvalMetrics& best_eval_result,
                                       const EvalMetrics& current_eval_result)>;
// Whether its loss is smaller; a number is better than NaN. INVALID_ARGUMENT
// where one of them has no loss.
absl::StatusOr<bool> LossSmaller(const EvalMetrics& best_eval_result,
                                 const EvalMetrics& current_eval_result);

struct BestExporterOptions {
  std::string name = "best_exporter";
  // Where earlier evaluations are read from, below the model's directory;
  // empty: they are not. An Experiment's evaluator writes to eval_continuous,
  // so for it this is "eval_continuous/*.tfevents.*".
  std::string event_file_pattern = "eval/*.tfevents.*";
  CompareFn compare_fn = LossSmaller;
  ExporterOptions exporter;
};
// The first time, and when an evaluation is better than all before it, those of
// an earlier process too, as far as their event files have them (TensorFlow
// forgets these at its first export).
std::shared_ptr<Exporter> BestExporter(
    ServingInputReceiverFn serving_input_receiver_fn,
    BestExporterOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORTER_H_
