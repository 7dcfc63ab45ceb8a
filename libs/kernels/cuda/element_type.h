// ElementType is the element type in launches (*.cu.h), which do not include
// headers of Weft's tensors.
#ifndef WEFT_LIBS_KERNELS_CUDA_ELEMENT_TYPE_H_
#define WEFT_LIBS_KERNELS_CUDA_ELEMENT_TYPE_H_

namespace weft::cuda {

enum class ElementType {
  kFloat,
  kDouble,
  kHalf,
  kBfloat16,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  kOther,  // not supported by launches
};

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_ELEMENT_TYPE_H_
