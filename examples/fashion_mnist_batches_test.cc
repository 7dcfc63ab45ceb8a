#include "examples/fashion_mnist_batches.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace weft::examples {
namespace {

// Returns n images. Image i has the label i, and all its pixels are i.
ImageSet NumberedImages(int n) {
  ImageSet data{Tensor(DT_FLOAT, TensorShape({n, kPixels})),
                Tensor(DT_INT32, TensorShape({n}))};
  for (int i = 0; i < n * kPixels; ++i) {
    data.images.mutable_flat<float>()[i] = static_cast<float>(i / kPixels);
  }
  for (int i = 0; i < n; ++i) data.labels.mutable_flat<int32_t>()[i] = i;
  return data;
}

std::vector<int> Labels(const ImageSet& batch) {
  const auto labels = batch.labels.flat<int32_t>();
  return std::vector<int>(labels.begin(), labels.end());
}

TEST(BatchesTest, EpochHasEachImageOnce) {
  const ImageSet data = NumberedImages(12);
  Batches batches(data, {.batch_size = 4, .seed = 7});
  ASSERT_EQ(batches.batches_per_epoch(), 3);
  std::vector<std::vector<int>> orders;
  for (int epoch = 1; epoch <= 2; ++epoch) {
    std::vector<int> order;
    for (int i = 0; i < 3; ++i) {
      const ImageSet batch = batches.Next();
      EXPECT_EQ(batches.epoch(), epoch);
      for (int label : Labels(batch)) order.push_back(label);
      // Checks that the image and the label belong together.
      EXPECT_EQ(batch.images.flat<float>()[0],
                static_cast<float>(Labels(batch)[0]));
    }
    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 12u);
    orders.push_back(order);
  }
  EXPECT_NE(orders[0], orders[1]);
  Batches again(data, {.batch_size = 12, .seed = 7});
  EXPECT_EQ(Labels(again.Next()), orders[0]);
}

TEST(BatchesTest, PartsAreDisjointAndComplete) {
  const ImageSet data = NumberedImages(11);
  std::multiset<int> seen;
  for (int part = 0; part < 2; ++part) {
    Batches batches(data, {.batch_size = 5, .part = part, .parts = 2});
    ASSERT_EQ(batches.batches_per_epoch(), 1);
    for (int label : Labels(batches.Next())) {
      EXPECT_EQ(label % 2, part);
      seen.insert(label);
    }
  }
  // The parts have 6 and 5 images. One image of the second part is dropped,
  // because it does not fill a batch.
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), 10u);
}

}  // namespace
}  // namespace weft::examples
