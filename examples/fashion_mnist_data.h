// Reads Fashion-MNIST from Debian's package dataset-fashion-mnist. It has
// 60,000 training images and 10,000 test images of 28 x 28 gray pixels in 10
// classes, in gzipped IDX files.
#ifndef WEFT_EXAMPLES_FASHION_MNIST_DATA_H_
#define WEFT_EXAMPLES_FASHION_MNIST_DATA_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/tensor.h"

namespace weft::examples {

inline constexpr int kPixels = 28 * 28;
inline constexpr int kClasses = 10;

struct ImageSet {
  Tensor images;  // float of shape [n, kPixels], between 0 and 1
  Tensor labels;  // int32 of shape [n], from 0 to kClasses - 1
};

// Reads PREFIX-images-idx3-ubyte.gz and PREFIX-labels-idx1-ubyte.gz; `prefix`
// is "train" or "t10k". Returns NOT_FOUND, which names the file and the
// package, if a file is missing, and DATA_LOSS, which names the file, if a file
// is corrupt.
absl::StatusOr<ImageSet> ReadFashionMnist(FileSystem& files,
                                          const std::string& directory,
                                          const std::string& prefix);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_FASHION_MNIST_DATA_H_
