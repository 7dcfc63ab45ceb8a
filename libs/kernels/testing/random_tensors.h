// RandomTensors generates random tensors from a seed, for tests of kernels.
#ifndef WEFT_LIBS_KERNELS_TESTING_RANDOM_TENSORS_H_
#define WEFT_LIBS_KERNELS_TESTING_RANDOM_TENSORS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "libs/base/random.h"
#include "libs/tensor/tensor.h"

namespace weft {

// A fixture may derive from it: each test then has its own seed.
class RandomTensors {
 public:
  int64_t Draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_->Next() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  int64_t OneOf(const std::vector<int64_t>& values) {
    return values[Draw(0, static_cast<int64_t>(values.size()) - 1)];
  }
  // Returns numbers of one digit and some sixteenths, so that products are
  // exact.
  Tensor Numbers(const TensorShape& shape) {
    Tensor x(DT_FLOAT, shape);
    for (float& value : x.mutable_flat<float>()) {
      value = static_cast<float>(Draw(-32, 32)) / 16;
    }
    return x;
  }

 private:
  const std::unique_ptr<Random> random_ = NewSeededRandom(7);
};

// Returns sizes as a shape argument of ops.
inline Tensor SizesOf(const TensorShape& shape) {
  Tensor sizes(DT_INT32, {shape.rank()});
  for (int i = 0; i < shape.rank(); ++i) {
    sizes.mutable_flat<int32_t>()[i] = static_cast<int32_t>(shape.dim(i));
  }
  return sizes;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TESTING_RANDOM_TENSORS_H_
