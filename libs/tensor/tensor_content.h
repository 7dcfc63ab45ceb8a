// SerializeTensorContent: a TensorProto whose elements are bytes, never typed
// values. TensorFlow's SerializeSparse writes tensors so, and others compare
// what it writes byte for byte.
#ifndef WEFT_LIBS_TENSOR_TENSOR_CONTENT_H_
#define WEFT_LIBS_TENSOR_TENSOR_CONTENT_H_

#include <string>

#include "libs/tensor/tensor.h"

namespace weft {

// All elements are in tensor_content, also where they are equal: numbers as in
// memory, strings as their lengths (varints) and then their characters. Empty
// for a tensor that is larger than a message can be (2 GiB). REQUIRES: neither
// resources nor variants. Thread-safe.
std::string SerializeTensorContent(const Tensor& tensor);

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TENSOR_CONTENT_H_
