// The model function that a case of kind `estimator` describes itself, and what
// it reads of a case as the canned models do.
//
// Building as the scope's.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/conformance/estimator_model.h"

namespace weft::conformance {

// INVALID_ARGUMENT: a case has what is not known here.
absl::Status UnknownHere(absl::string_view what);
// The columns of these names, in order.
absl::StatusOr<feature_column::FeatureColumns> ColumnsOf(
    const std::vector<std::string>& names, const NamedColumns& all);
// By its name in TensorFlow; null for "".
absl::StatusOr<estimator::ActivationFn> ActivationOf(const std::string& name);
// A name, or an object with its fields.
absl::StatusOr<estimator::OptimizerChoice> OptimizerOf(
    const nlohmann::json& spec);

// `spec`: "model_fn" of the model: a chain of layers, one loss, metrics.
absl::StatusOr<estimator::ModelFn> ModelFnOf(const nlohmann::json& spec,
                                             const NamedColumns& columns);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_
