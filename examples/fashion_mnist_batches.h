// Batches is an endless stream of batches of images. They come from the whole
// set or from the part of one of several replicas, and are shuffled again for
// each epoch.
#ifndef WEFT_EXAMPLES_FASHION_MNIST_BATCHES_H_
#define WEFT_EXAMPLES_FASHION_MNIST_BATCHES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "examples/fashion_mnist_data.h"

namespace weft::examples {

struct BatchOptions {
  int batch_size = 64;
  uint64_t seed = 1;  // determines the order
  // Uses every `parts`th image, beginning with number `part`.
  int part = 0;
  int parts = 1;
};

// Not thread-safe.
class Batches {
 public:
  // `data` must outlive this object. REQUIRES: the part contains at least one
  // complete batch.
  Batches(const ImageSet& data, const BatchOptions& options);

  int batches_per_epoch() const {
    return static_cast<int>(order_.size()) / options_.batch_size;
  }
  // Returns the next batch. An incomplete batch at the end of an epoch is
  // dropped.
  ImageSet Next();
  // Returns the epoch of the latest batch. The first epoch is 1.
  int epoch() const { return epoch_; }

 private:
  const ImageSet& data_;
  const BatchOptions options_;
  std::mt19937_64 shuffle_;
  std::vector<int> order_;  // indices of images
  int epoch_ = 0;
  int next_ = 0;  // index of the next batch in this epoch
};

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_FASHION_MNIST_BATCHES_H_
