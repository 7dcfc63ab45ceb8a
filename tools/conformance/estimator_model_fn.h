// Builds model functions that a case of kind `estimator` describes, and parses
// fields that they share with the canned models.
//
// Threads: the same as for the scope.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/conformance/estimator_model.h"

namespace weft::conformance {

// Returns the columns with the given names, in this order.
absl::StatusOr<feature_column::FeatureColumns> ColumnsOf(
    const std::vector<std::string>& names, const NamedColumns& all);
// Returns TensorFlow's activation function `name`, or null for "".
absl::StatusOr<estimator::ActivationFn> ActivationOf(const std::string& name);
// Returns an optimizer. `spec` is its name, or an object with its type and
// options.
absl::StatusOr<estimator::OptimizerChoice> OptimizerOf(
    const nlohmann::json& spec);
// Returns a partitioner. `spec` is {KIND: {options}}, where KIND is a
// partitioner function of TensorFlow.
absl::StatusOr<ops::Partitioner> PartitionerOf(const nlohmann::json& spec);

// Returns a model function. `spec` is the field "model_fn": a chain of layers,
// one loss, and metrics. Fields that are only used when a graph is built are
// checked immediately.
absl::StatusOr<estimator::ModelFn> ModelFnOf(const nlohmann::json& spec,
                                             const NamedColumns& columns);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_
