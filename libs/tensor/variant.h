// Variant: the value of a DT_VARIANT tensor: a named thing made of bytes and
// tensors, as TensorFlow's VariantTensorDataProto.
#ifndef WEFT_LIBS_TENSOR_VARIANT_H_
#define WEFT_LIBS_TENSOR_VARIANT_H_

#include <memory>
#include <string>
#include <vector>

namespace weft {

class Tensor;

struct Variant {
  std::string type_name;
  std::string metadata;
  // Shared because a Variant is an element of a Tensor.
  std::shared_ptr<const std::vector<Tensor>> tensors;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_VARIANT_H_
