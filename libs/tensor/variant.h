// Variant is the value of a DT_VARIANT tensor: a named object of bytes and
// tensors, as TensorFlow's VariantTensorDataProto; or an object of this process
// (a data set).
#ifndef WEFT_LIBS_TENSOR_VARIANT_H_
#define WEFT_LIBS_TENSOR_VARIANT_H_

#include <memory>
#include <string>
#include <vector>

namespace weft {

class Tensor;

// A value of a Variant that cannot be written as bytes and tensors.
class VariantObject {
 public:
  virtual ~VariantObject() = default;
};

struct Variant {
  std::string type_name;
  std::string metadata;
  // Shared because a Variant is an element of a Tensor.
  std::shared_ptr<const std::vector<Tensor>> tensors;
  // Null except for objects of this process, which are neither sent nor saved.
  std::shared_ptr<const VariantObject> object = nullptr;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_VARIANT_H_
