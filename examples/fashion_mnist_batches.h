// Batches is an endless stream of batches of images, shuffled anew for each
// epoch; of the whole set, or of the part of one of several replicas.
#ifndef WEFT_EXAMPLES_FASHION_MNIST_BATCHES_H_
#define WEFT_EXAMPLES_FASHION_MNIST_BATCHES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "examples/fashion_mnist_data.h"

namespace weft::examples {

struct BatchOptions {
  int batch_size = 64;
  uint64_t seed = 1;  // of the order
  // Every `parts`th image, starting at number `part`.
  int part = 0;
  int parts = 1;
};

// Threads: one at a time.
class Batches {
 public:
  // `data` must outlive it. REQUIRES: the part holds at least one batch.
  Batches(const ImageSet& data, const BatchOptions& options);

  int batches_per_epoch() const {
    return static_cast<int>(order_.size()) / options_.batch_size;
  }
  // An incomplete batch at the end of an epoch is dropped.
  ImageSet Next();
  // Epoch of the latest batch, from 1.
  int epoch() const { return epoch_; }

 private:
  const ImageSet& data_;
  const BatchOptions options_;
  std::mt19937_64 shuffle_;
  std::vector<int> order_;  // indices of images
  int epoch_ = 0;
  int next_ = 0;  // batch of this epoch
};

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_FASHION_MNIST_BATCHES_H_
