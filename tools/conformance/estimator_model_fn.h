// The model function that a case of kind `estimator` describes itself.
//
// Building as the scope's.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_

#include "absl/status/statusor.h"
#include "tools/conformance/estimator_model.h"

namespace weft::conformance {

// A name, or an object with its fields.
absl::StatusOr<estimator::OptimizerChoice> OptimizerOf(
    const nlohmann::json& spec);

// `spec`: "model_fn" of the model: a chain of layers, one loss, metrics.
absl::StatusOr<estimator::ModelFn> ModelFnOf(const nlohmann::json& spec,
                                             const NamedColumns& columns);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_FN_H_
