// InputLayer and LinearModel build the input of a model from feature columns.
// They are TensorFlow's input_layer and linear_model, and use its variable
// names, so that checkpoints are interchangeable.
//
//   Output net = InputLayer(scope, features, columns);   // [batch, n]
//   LinearModelOutputs linear = LinearModel(scope, features, columns);
//
// Columns are used in the order of their names, regardless of the given order.
// Variables are created by the variable scope (GetVariable), so partitioners
// and reuse are those of `scope`.
//
// Errors stick to the scope; outputs are null then. The functions are as
// thread-safe as the scope.
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
  // Receives the variables, by column name; may be null.
  ColumnsToVariables* cols_to_vars = nullptr;
};
// Returns the concatenation of all columns, which must be dense, as [batch, sum
// of their sizes]. Variables are named "input_layer/COLUMN/embedding_weights",
// and "input_layer_1/..." in a second call.
Output InputLayer(const Scope& scope, const Features& features,
                  const FeatureColumns& feature_columns,
                  const InputLayerOptions& options = {});

struct LinearModelOptions {
  int64_t units = 1;
  // How the weights of an example's ids are combined: "sum", "mean" or "sqrtn".
  std::string sparse_combiner = "sum";
  bool trainable = true;
};
struct LinearModelOutputs {
  Output logits;  // [batch, units]
  ops::PartitionedVariable bias;
  ColumnsToVariables weights;                 // by column name
  operator Output() const { return logits; }  // NOLINT: the model's output
};
// Returns a weighted sum of all columns, plus a bias. Variables are
// "linear_model/COLUMN/weights" and "linear_model/bias_weights".
LinearModelOutputs LinearModel(const Scope& scope, const Features& features,
                               const FeatureColumns& feature_columns,
                               const LinearModelOptions& options = {});

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_INPUT_LAYER_H_
