// ExportOutput describes the outputs of a serving signature; TensorFlow's
// tf.estimator.export.ExportOutput and its three kinds.
//
// Values that refer to a graph. Threads: as the scope's.
#ifndef WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_
#define WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_

#include <map>
#include <string>
#include <variant>

#include "libs/ops/output.h"

namespace weft::estimator {

// Classes (strings) and their scores (floats) per example, both [batch, n].
// Either may be null.
struct ClassificationOutput {
  Output scores;
  Output classes;
};
// One float per example.
struct RegressionOutput {
  Output value;
};
struct PredictOutput {
  std::map<std::string, Output> outputs;
};
using ExportOutput =
    std::variant<ClassificationOutput, RegressionOutput, PredictOutput>;

// By signature name.
using ExportOutputs = std::map<std::string, ExportOutput>;

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_
