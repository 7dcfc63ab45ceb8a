// InputLayer and LinearModel build the input of a model from feature columns;
// TensorFlow's functions of these names, with its variable names, so that
// checkpoints are interchangeable.
//
//   Output net = InputLayer(scope, features, columns);   // [batch, n]
//   LinearModelOutputs linear = LinearModel(scope, features, columns);
//
// Columns are used in the order of their names, regardless of the given order.
// Variables are created by the variable scope (GetVariable), so partitioners
// and reuse are those of `scope`.
//
// Errors stick to the scope; outputs are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_FEATURE_COLUMN_INPUT_LAYER_H_
#define WEFT_LIBS_FEATURE_COLUMN_INPUT_LAYER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/feature_column/feature_column.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/partitioned_variable.h"

namespace weft::feature_column {

using ColumnsToVariables = std::map<std::string, std::vector<ops::Variable>>;

struct InputLayerOptions {
  bool trainable = true;
  // Receives the variables by column name; may be null.
  ColumnsToVariables* cols_to_vars = nullptr;
};
// Concatenates all columns, [batch, sum of their sizes]. Dense columns only.
// Variables are "input_layer/COLUMN/embedding_weights"; "input_layer_1/..." in
// a second call.
Output InputLayer(const Scope& scope, const Features& features,
                  const FeatureColumns& feature_columns,
                  const InputLayerOptions& options = {});

struct LinearModelOptions {
  int64_t units = 1;
  // How the weights of the ids of one example are combined.
  std::string sparse_combiner = "sum";
  bool trainable = true;
};
struct LinearModelOutputs {
  Output logits;  // [batch, units]
  ops::PartitionedVariable bias;
  ColumnsToVariables weights;                 // by name of column
  operator Output() const { return logits; }  // NOLINT: the model's output
};
// A weighted sum of all columns, and a bias. Variables are
// "linear_model/COLUMN/weights" and "linear_model/bias_weights".
LinearModelOutputs LinearModel(const Scope& scope, const Features& features,
                               const FeatureColumns& feature_columns,
                               const LinearModelOptions& options = {});

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_INPUT_LAYER_H_
