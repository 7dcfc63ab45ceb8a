// Model functions described by a case of kind `estimator`, and case fields that
// they share with the canned models.
//
// Building as the scope's.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/conformance/estimator_model.h"

namespace weft::conformance {

// Returns the columns of these names, in order.
absl::StatusOr<feature_column::FeatureColumns> ColumnsOf(
    const std::vector<std::string>& names, const NamedColumns& all);
// Returns TensorFlow's activation `name`; null for "".
absl::StatusOr<estimator::ActivationFn> ActivationOf(const std::string& name);
// `spec`: a name, or an object with the type and the options of the optimizer.
absl::StatusOr<estimator::OptimizerChoice> OptimizerOf(
    const nlohmann::json& spec);
// `spec`: {KIND: {options}}, with a partitioner function of TensorFlow as kind.
absl::StatusOr<ops::Partitioner> PartitionerOf(const nlohmann::json& spec);

// `spec`: "model_fn" of the model: a chain of layers, one loss, metrics. Fields
// that are only read when a graph is built are checked here.
absl::StatusOr<estimator::ModelFn> ModelFnOf(const nlohmann::json& spec,
                                             const NamedColumns& columns);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_
