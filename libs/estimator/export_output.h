// ExportOutput describes the outputs of a serving signature, like TensorFlow's
// tf.estimator.export.ExportOutput with its three kinds.
//
// Outputs are values that refer to a graph, and are as thread-safe as the
// scope.
#ifndef WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_
#define WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_

#include <map>
#include <string>
#include <variant>

#include "libs/ops/output.h"

namespace weft::estimator {

// Class names (strings) and their scores (floats) for each example, both of
// shape [batch, n]. Either may be null.
struct ClassificationOutput {
  Output scores;
  Output classes;
};
// One predicted float per example.
struct RegressionOutput {
  Output value;
};
struct PredictOutput {
  std::map<std::string, Output> outputs;
};
using ExportOutput =
    std::variant<ClassificationOutput, RegressionOutput, PredictOutput>;

// Outputs by the name of their signature.
using ExportOutputs = std::map<std::string, ExportOutput>;

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_
