// SerializeTensorContent serializes a TensorProto whose elements are bytes,
// never typed values. TensorFlow's SerializeSparse writes tensors in this form,
// and its output is compared byte for byte.
#ifndef WEFT_LIBS_TENSOR_TENSOR_CONTENT_H_
#define WEFT_LIBS_TENSOR_TENSOR_CONTENT_H_

#include <string>

#include "libs/tensor/tensor.h"

namespace weft {

// All elements are in tensor_content, even if they are equal: numbers as in
// memory, strings as their lengths (varints) and then their characters. Empty
// for a tensor that exceeds the message limit (2 GiB). REQUIRES: neither
// resources nor variants. Thread-safe.
std::string SerializeTensorContent(const Tensor& tensor);

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TENSOR_CONTENT_H_
