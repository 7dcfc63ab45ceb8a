#include "examples/fashion_mnist_batches.h"

#include <algorithm>
#include <cstring>

namespace weft::examples {
namespace {

// Copies the rows of `data` with the indices `order` into one batch.
ImageSet Gather(const ImageSet& data, const int* order, int size) {
  ImageSet batch{Tensor(DT_FLOAT, TensorShape({size, kPixels})),
                 Tensor(DT_INT32, TensorShape({size}))};
  const float* from = data.images.flat<float>().data();
  float* to = batch.images.mutable_flat<float>().data();
  for (int i = 0; i < size; ++i) {
    std::memcpy(to + int64_t{i} * kPixels, from + int64_t{order[i]} * kPixels,
                kPixels * sizeof(float));
    batch.labels.mutable_flat<int32_t>()[i] =
        data.labels.flat<int32_t>()[order[i]];
  }
  return batch;
}

}  // namespace

Batches::Batches(const ImageSet& data, const BatchOptions& options)
    : data_(data), options_(options), shuffle_(options.seed) {
  for (int64_t i = options.part; i < data.labels.num_elements();
       i += options.parts) {
    order_.push_back(static_cast<int>(i));
  }
}

ImageSet Batches::Next() {
  if (epoch_ == 0 || next_ == batches_per_epoch()) {
    std::shuffle(order_.begin(), order_.end(), shuffle_);
    ++epoch_;
    next_ = 0;
  }
  const int* first =
      order_.data() + int64_t{next_++} * int64_t{options_.batch_size};
  return Gather(data_, first, options_.batch_size);
}

}  // namespace weft::examples
