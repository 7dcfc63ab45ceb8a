#include "libs/kernels/math/tensor_sum.h"

#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"

namespace weft {

absl::Status MakeWritable(Tensor& tensor) {
  if (tensor.RefCountIsOne()) return absl::OkStatus();
  ASSIGN_OR_RETURN(tensor, tensor.DeepCopy(HeapAllocator()));
  return absl::OkStatus();
}

absl::Status AddRange(Tensor& sum, int64_t at, const Tensor& added,
                      int64_t from, int64_t count) {
  return DispatchType(Numbers{}, sum.dtype(), [&]<typename T>(TypeTag<T>) {
    T* a = sum.mutable_flat<T>().data() + at;
    const T* b = added.flat<T>().data() + from;
    for (int64_t i = 0; i < count; ++i) a[i] = AddElements(a[i], b[i]);
    return absl::OkStatus();
  });
}

}  // namespace weft
