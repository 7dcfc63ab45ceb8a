// Fashion-MNIST as Debian's package dataset-fashion-mnist ships it: 60,000
// training and 10,000 test images of 28 x 28 grey pixels in 10 classes, in
// gzipped IDX files.
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
  Tensor images;  // float [n, kPixels], 0 to 1
  Tensor labels;  // int32 [n], 0 to kClasses - 1
};

// Reads PREFIX-images-idx3-ubyte.gz and PREFIX-labels-idx1-ubyte.gz; `prefix`
// is "train" or "t10k". Returns NOT_FOUND, naming file and package, if one is
// missing, and DATA_LOSS, naming the file, if one is damaged.
absl::StatusOr<ImageSet> ReadFashionMnist(FileSystem& files,
                                          const std::string& directory,
                                          const std::string& prefix);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_FASHION_MNIST_DATA_H_
