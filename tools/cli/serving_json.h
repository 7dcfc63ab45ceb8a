// Requests to a model and its answers as TensorFlow Serving has them in JSON:
//
//   {"instances": [{"age": [25.0]}, {"age": [61.0]}]}   row by row
//     -> {"predictions": [...]}
//   {"inputs": {"age": [[25.0], [61.0]]}}               column by column
//     -> {"outputs": ...}
//   {"examples": [{"age": 25.0, "job": "cook"}]}        as Examples, row by row
//     -> {"predictions": [...]}
//
// with "signature_name", if it is not "serving_default". Where there is one
// input or one output its name may be, and is, left out. Strings that are no
// UTF-8, and outputs that are named ..._bytes, are {"b64": "..."}. A sparse
// input, for which TensorFlow Serving has no form, is given by its name in
// "inputs": {"indices": [[0, 3]], "values": [1.5], "dense_shape": [1, 9]}.
//
// Only for .cc files: it includes nlohmann's. Values and functions without
// state. INVALID_ARGUMENT says what is wrong with a request, and where.
#ifndef WEFT_TOOLS_CLI_SERVING_JSON_H_
#define WEFT_TOOLS_CLI_SERVING_JSON_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/tensor.h"
#include "libs/train/signature_def.h"
#include "tools/cli/example_features.h"
#include "tools/cli/json_text.h"

namespace weft::tools {

struct ServingRequest {
  enum class Form { kInstances, kInputs, kExamples };
  Form form = Form::kInstances;
  std::string signature_name;  // empty: it says none
  Json values;                 // of the form
};
absl::StatusOr<ServingRequest> ParseServingRequest(absl::string_view text);

// What the signature is to be fed. `features`: those that it parses Examples
// into; empty where that is not known.
absl::StatusOr<train::SignatureInputs> InputsOf(
    const ServingRequest& request, const train::SignatureDef& signature,
    const ExampleFeatures& features = {});

// A sentence for each key in "examples" that is not in `features`; none where
// `features` is empty.
std::vector<std::string> UnknownFeatures(const ServingRequest& request,
                                         const ExampleFeatures& features);

// The answer, as text: one line for each row or output. FAILED_PRECONDITION
// where an output has no row for each of the request's.
absl::StatusOr<std::string> ServingResponse(
    const ServingRequest& request,
    const std::map<std::string, Tensor>& outputs);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_SERVING_JSON_H_
