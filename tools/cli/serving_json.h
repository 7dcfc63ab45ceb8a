// Requests and replies of a model in the JSON format of TensorFlow Serving:
//
//   {"instances": [{"age": [25.0]}, {"age": [61.0]}]}   row by row
//     -> {"predictions": [...]}
//   {"inputs": {"age": [[25.0], [61.0]]}}               column by column
//     -> {"outputs": ...}
//   {"examples": [{"age": 25.0, "job": "cook"}]}        as Examples, row by row
//     -> {"predictions": [...]}
//
// A request also has "signature_name" if the signature is not
// "serving_default". The name of a single input may be omitted, and the name of
// a single output is always omitted. Strings that are not UTF-8, and outputs
// that are named ..._bytes, are {"b64": "..."}. A sparse input, for which
// TensorFlow Serving has no format, is given by its name in "inputs":
// {"indices": [[0, 3]], "values": [1.5], "dense_shape": [1, 9]}.
//
// Only for .cc files, because it includes nlohmann's library. The functions
// have no state. INVALID_ARGUMENT explains invalid requests.
#ifndef WEFT_TOOLS_CLI_SERVING_JSON_H_
#define WEFT_TOOLS_CLI_SERVING_JSON_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/tensor.h"
#include "libs/train/saved_model/signature_def.h"
#include "tools/cli/example_features.h"
#include "tools/cli/json_text.h"

namespace weft::tools {

struct ServingRequest {
  enum class Form { kInstances, kInputs, kExamples };
  Form form = Form::kInstances;
  std::string signature_name;  // empty: not in the request
  Json values;                 // in the form `form`
};
absl::StatusOr<ServingRequest> ParseServingRequest(absl::string_view text);

// Returns the feeds of the signature. `features` are the features that the
// model parses from Examples, or empty if they are unknown.
absl::StatusOr<train::SignatureInputs> InputsOf(
    const ServingRequest& request, const train::SignatureDef& signature,
    const ExampleFeatures& features = {});

// Returns a sentence for each key in "examples" that is not in `features`.
// Returns none if `features` is empty.
std::vector<std::string> UnknownFeatures(const ServingRequest& request,
                                         const ExampleFeatures& features);

// Returns the reply as text, with one line for each row or output. Returns
// FAILED_PRECONDITION if an output lacks a row for a row of the request.
absl::StatusOr<std::string> ServingResponse(
    const ServingRequest& request,
    const std::map<std::string, Tensor>& outputs);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_SERVING_JSON_H_
