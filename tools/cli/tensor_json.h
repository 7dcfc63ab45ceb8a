// Tensors as JSON: numbers, true and false, strings, nested lists for ranks.
// Complex elements are {"real": 1, "imag": 2}; numbers that JSON has not are
// "NaN", "Infinity" and "-Infinity". A string that is not UTF-8 is {"b64":
// "..."}, in and out; quantized elements are integers. Only for .cc files: it
// includes nlohmann's.
//
// Functions without state.
#ifndef WEFT_TOOLS_CLI_TENSOR_JSON_H_
#define WEFT_TOOLS_CLI_TENSOR_JSON_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/tensor.h"
#include "tools/cli/json_text.h"

namespace weft::tools {

// INVALID_ARGUMENT, with the element, where the text is no JSON, lists of one
// level have different lengths, or an element is no `dtype` or beyond it;
// UNIMPLEMENTED for types of which there are no values in JSON.
absl::StatusOr<Tensor> TensorFromJson(absl::string_view text, DataType dtype);
absl::StatusOr<Tensor> TensorFromParsedJson(const Json& json, DataType dtype);

// Nested lists; [] where there are no elements. Floats with as few digits as
// give them back. Resources and variants are described.
Json TensorToJson(const Tensor& tensor);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TENSOR_JSON_H_
