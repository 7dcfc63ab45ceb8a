// Fashion-MNIST of Debian's package dataset-fashion-mnist, for benchmarks:
// gzipped IDX files (http://yann.lecun.com/exdb/mnist, "the IDX file format").
#ifndef WEFT_BENCHMARKS_COMMON_FASHION_MNIST_H_
#define WEFT_BENCHMARKS_COMMON_FASHION_MNIST_H_

#include <string>

#include "libs/tensor/tensor.h"

namespace weft::benchmarks {

struct LabelledRows {
  Tensor rows;    // float [n, 784], 0 to 1
  Tensor labels;  // int32 [n]
};

// `split` is "train" or "t10k". Errors end the program, as Check does.
LabelledRows ReadFashionMnist(const std::string& directory,
                              const std::string& split);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_FASHION_MNIST_H_
