// Exporter: makes SavedModels for serving while a model trains; TensorFlow's
// tf.estimator.Exporter and its three kinds. TrainAndEvaluate calls each one
// after each evaluation:
//
//   EvalSpec eval;
//   eval.exporters = {LatestExporter("latest", serving_input),
//                     BestExporter({}, serving_input)};
//
// What one makes lies in export_path/SECONDS, as Estimator::ExportSavedModel
// has it; export_path is MODEL_DIR/export/NAME.
//
// Threads: one call at a time. Export blocks.
#ifndef WEFT_LIBS_ESTIMATOR_EXPORTER_H_
#define WEFT_LIBS_ESTIMATOR_EXPORTER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/estimator/estimator.h"

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

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORTER_H_
