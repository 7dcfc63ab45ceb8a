// ServingInputReceiver defines the inputs of a served model: placeholders, and
// the features computed from them; TensorFlow's serving_input_receiver_fn.
//
//   auto receive = BuildParsingServingInputReceiverFn(
//       MakeParseExampleSpec(columns).value());
//   model.ExportSavedModel("/exports", receive);
//
// Values and stateless functions. Threads: building as the scope's.
#ifndef WEFT_LIBS_ESTIMATOR_SERVING_INPUT_H_
#define WEFT_LIBS_ESTIMATOR_SERVING_INPUT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/feature_column/features.h"
#include "libs/feature_column/parse_spec.h"
#include "libs/ops/scope.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft::estimator {

struct ServingInputReceiver {
  Features features;
  // Inputs of a request, by their names in signatures.
  std::map<std::string, Output> receiver_tensors;
  // Alternative inputs, by a prefix of the signature name:
  // "NAME:serving_default".
  std::map<std::string, std::map<std::string, Output>>
      receiver_tensors_alternatives;
};
// Adds the inputs to the graph. Called once per export.
using ServingInputReceiverFn =
    std::function<absl::StatusOr<ServingInputReceiver>(const Scope& scope)>;

// A request contains serialized Examples, "examples", a vector of strings: the
// placeholder `input_example_tensor`. With a default_batch_size it must contain
// that many.
ServingInputReceiverFn BuildParsingServingInputReceiverFn(
    feature_column::ParseSpec spec,
    std::optional<int64_t> default_batch_size = std::nullopt);

// A tensor of a request. The first dimension is the batch, of unknown size.
struct RawFeature {
  DataType dtype = DT_FLOAT;
  PartialShape shape;
};
// A request contains the features, each in a placeholder with the same name.
ServingInputReceiverFn BuildRawServingInputReceiverFn(
    std::map<std::string, RawFeature> features,
    std::optional<int64_t> default_batch_size = std::nullopt);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_SERVING_INPUT_H_
