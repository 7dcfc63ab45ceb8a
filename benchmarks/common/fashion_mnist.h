// Reads Fashion-MNIST from Debian's package dataset-fashion-mnist for
// benchmarks. The files are gzipped IDX files
// (http://yann.lecun.com/exdb/mnist, "the IDX file format").
#ifndef WEFT_BENCHMARKS_COMMON_FASHION_MNIST_H_
#define WEFT_BENCHMARKS_COMMON_FASHION_MNIST_H_

#include <string>

#include "libs/tensor/tensor.h"

namespace weft::benchmarks {

struct LabelledRows {
  Tensor rows;    // float of shape [n, 784], between 0 and 1
  Tensor labels;  // int32 of shape [n]
};

// Reads the rows of a split, "train" or "t10k". Errors end the program, as in
// Check.
LabelledRows ReadFashionMnist(const std::string& directory,
                              const std::string& split);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_FASHION_MNIST_H_
