// What a model that is served gets its features from: placeholders, and what is
// made of them; TensorFlow's serving_input_receiver_fn.
//
//   auto receive = BuildParsingServingInputReceiverFn(
//       MakeParseExampleSpec(columns).value());
//   model.ExportSavedModel("/exports", receive);
//
// Values and functions without state. Threads: building as the scope's.
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
  // What a request brings, by its names in signatures.
  std::map<std::string, Output> receiver_tensors;
  // What it may bring instead, by a name that is put before the signatures':
  // "NAME:serving_default".
  std::map<std::string, std::map<std::string, Output>>
      receiver_tensors_alternatives;
};
// Adds them to the graph. Called once for each export.
using ServingInputReceiverFn =
    std::function<absl::StatusOr<ServingInputReceiver>(const Scope& scope)>;

// A request brings serialized Examples, "examples", a vector of strings: the
// placeholder `input_example_tensor`. With a default_batch_size it has to bring
// that many.
ServingInputReceiverFn BuildParsingServingInputReceiverFn(
    feature_column::ParseSpec spec,
    std::optional<int64_t> default_batch_size = std::nullopt);

// A tensor of a request. The first dimension is the batch, and is left open.
struct RawFeature {
  DataType dtype = DT_FLOAT;
  PartialShape shape;
};
// A request brings the features, each in a placeholder of its name.
ServingInputReceiverFn BuildRawServingInputReceiverFn(
    std::map<std::string, RawFeature> features,
    std::optional<int64_t> default_batch_size = std::nullopt);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_SERVING_INPUT_H_
