// ServingInputReceiver defines the inputs of a served model: placeholders, and
// the features computed from these. It corresponds to the result of
// TensorFlow's serving_input_receiver_fn.
//
//   auto receive = BuildParsingServingInputReceiverFn(
//       MakeParseExampleSpec(columns).value());
//   model.ExportSavedModel("/exports", receive);
//
// Threads: receivers are values, and the functions are stateless. Functions
// that build a graph are as thread-safe as their scope.
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
  // Inputs of a request, by their name in the signature.
  std::map<std::string, Output> receiver_tensors;
  // Alternative inputs, by a prefix for the name of the signature:
  // "NAME:serving_default".
  std::map<std::string, std::map<std::string, Output>>
      receiver_tensors_alternatives;
};
// ServingInputReceiverFn adds the inputs to the graph. It is called once per
// export.
using ServingInputReceiverFn =
    std::function<absl::StatusOr<ServingInputReceiver>(const Scope& scope)>;

// Returns a function for requests that contain serialized Examples in input
// "examples", a vector of strings. Its placeholder is `input_example_tensor`.
// With a default_batch_size, each request must contain that number of Examples.
ServingInputReceiverFn BuildParsingServingInputReceiverFn(
    feature_column::ParseSpec spec,
    std::optional<int64_t> default_batch_size = std::nullopt);

// RawFeature is a tensor in a request. The first dimension is the batch, of
// unknown size.
struct RawFeature {
  DataType dtype = DT_FLOAT;
  PartialShape shape;
};
// Returns a function for requests that contain the features themselves, each in
// a placeholder with the name of the feature.
ServingInputReceiverFn BuildRawServingInputReceiverFn(
    std::map<std::string, RawFeature> features,
    std::optional<int64_t> default_batch_size = std::nullopt);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_SERVING_INPUT_H_
