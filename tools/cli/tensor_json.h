// Conversion between tensors and JSON, which has numbers, booleans, strings and
// nested lists. Complex elements are {"real": 1, "imag": 2}. Non-finite numbers
// are "NaN", "Infinity" and "-Infinity". A string that is not UTF-8 is {"b64":
// "..."} in both directions. Quantized elements are integers. Only for .cc
// files, because it includes nlohmann's library.
//
// Threads: the functions have no state.
#ifndef WEFT_TOOLS_CLI_TENSOR_JSON_H_
#define WEFT_TOOLS_CLI_TENSOR_JSON_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/tensor.h"
#include "tools/cli/json_text.h"

namespace weft::tools {

// Parse JSON into a tensor. Return INVALID_ARGUMENT, which names the element,
// if the text is not JSON, lists of one level differ in length, or an element
// is not representable as `dtype`. Return UNIMPLEMENTED for types without JSON
// values.
absl::StatusOr<Tensor> TensorFromJson(absl::string_view text, DataType dtype);
absl::StatusOr<Tensor> TensorFromParsedJson(const Json& json, DataType dtype);

// Returns nested lists, or [] if there are no elements. Floats have the fewest
// digits that round-trip. Resources and variants are described by text.
Json TensorToJson(const Tensor& tensor);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TENSOR_JSON_H_
