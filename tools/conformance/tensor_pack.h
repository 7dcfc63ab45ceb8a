// TensorPack is the parsed file tensors.pb, which contains all tensors of a
// case by key:
//   message TensorPack { repeated NamedTensorProto tensor = 1; }
#ifndef WEFT_TOOLS_CONFORMANCE_TENSOR_PACK_H_
#define WEFT_TOOLS_CONFORMANCE_TENSOR_PACK_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/tensor.h"

namespace weft::conformance {

using TensorPack = std::map<std::string, Tensor>;

// Parses a serialized TensorPack. Returns INVALID_ARGUMENT for invalid bytes.
absl::StatusOr<TensorPack> ParseTensorPack(absl::string_view bytes);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_TENSOR_PACK_H_
