// Conversion between tensors and JSON: numbers, booleans, strings, and nested
// lists. Complex elements are {"real": 1, "imag": 2}; non-finite numbers are
// "NaN", "Infinity" and "-Infinity". A string that is not UTF-8 is {"b64":
// "..."}, in and out; quantized elements are integers. Only for .cc files: it
// includes nlohmann's library.
//
// Stateless functions.
#ifndef WEFT_TOOLS_CLI_TENSOR_JSON_H_
#define WEFT_TOOLS_CLI_TENSOR_JSON_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/tensor.h"
#include "tools/cli/json_text.h"

namespace weft::tools {

// INVALID_ARGUMENT, with the element, if the text is not JSON, lists of one
// level have different lengths, or an element is not representable as `dtype`;
// UNIMPLEMENTED for types without JSON values.
absl::StatusOr<Tensor> TensorFromJson(absl::string_view text, DataType dtype);
absl::StatusOr<Tensor> TensorFromParsedJson(const Json& json, DataType dtype);

// Returns nested lists; [] if there are no elements. Floats have the fewest
// digits that round-trip. Resources and variants are described.
Json TensorToJson(const Tensor& tensor);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TENSOR_JSON_H_
