// Variant: the value of a DT_VARIANT tensor: a named thing made of bytes and
// tensors, as TensorFlow's VariantTensorDataProto; or an object of this process
// (a data set).
#ifndef WEFT_LIBS_TENSOR_VARIANT_H_
#define WEFT_LIBS_TENSOR_VARIANT_H_

#include <memory>
#include <string>
#include <vector>

namespace weft {

class Tensor;

// What a Variant may hold that can't be written as bytes and tensors.
class VariantObject {
 public:
  virtual ~VariantObject() = default;
};

struct Variant {
  std::string type_name;
  std::string metadata;
  // Shared because a Variant is an element of a Tensor.
  std::shared_ptr<const std::vector<Tensor>> tensors;
  // Null but for what stays in this process: it is not sent, nor saved.
  std::shared_ptr<const VariantObject> object = nullptr;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_VARIANT_H_
