// What a model offers to those who serve it: the outputs of its signatures,
// TensorFlow's tf.estimator.export.ExportOutput and its three kinds.
//
// Values that refer to a graph. Threads: as the scope's.
#ifndef WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_
#define WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_

#include <map>
#include <string>
#include <variant>

#include "libs/ops/output.h"

namespace weft::estimator {

// Of each example its classes, strings, and what speaks for each, floats; both
// [batch, n]. Either may be null.
struct ClassificationOutput {
  Output scores;
  Output classes;
};
// Of each example a number, a float.
struct RegressionOutput {
  Output value;
};
struct PredictOutput {
  std::map<std::string, Output> outputs;
};
using ExportOutput =
    std::variant<ClassificationOutput, RegressionOutput, PredictOutput>;

// By the name of the signature.
using ExportOutputs = std::map<std::string, ExportOutput>;

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORT_OUTPUT_H_
