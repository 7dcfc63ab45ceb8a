#include "libs/ops/state/partitioners.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libs/base/test_matchers.h"

namespace weft::ops {
namespace {

// Returns the maximum number of parts in any dimension; -1 for an error.
int Parts(const Partitioner& partitioner, const TensorShape& shape,
          DataType dtype = DT_FLOAT) {
  absl::StatusOr<std::vector<int>> parts = partitioner(shape, dtype);
  if (!parts.ok()) return -1;
  EXPECT_EQ(static_cast<int>(parts->size()), shape.rank());
  return *std::max_element(parts->begin(), parts->end());
}

TEST(PartitionersTest, FixedSize) {
  EXPECT_EQ(Parts(FixedSizePartitioner(3), {10, 4}), 3);
  EXPECT_EQ(Parts(FixedSizePartitioner(3), {2, 4}), 2);
  EXPECT_EQ(Parts(FixedSizePartitioner(3, 1), {2, 4}), 3);
  EXPECT_EQ(Parts(FixedSizePartitioner(3, 2), {2, 4}), -1);
  EXPECT_EQ(Parts(FixedSizePartitioner(0), {2, 4}), -1);
  EXPECT_EQ(Parts(FixedSizePartitioner(3), {0}), 1);
}

// The cases are those of TensorFlow's own test.
TEST(PartitionersTest, VariableAxisSize) {
  EXPECT_EQ(Parts(VariableAxisSizePartitioner(4), {1}), 1);
  EXPECT_EQ(Parts(VariableAxisSizePartitioner(64), {8, 4}), 2);
  EXPECT_EQ(Parts(VariableAxisSizePartitioner(16), {8, 4}), 8);
  EXPECT_EQ(Parts(VariableAxisSizePartitioner(1), {8, 4}), 8);
  EXPECT_EQ(Parts(VariableAxisSizePartitioner(16, {.max_shards = 3}), {8, 4}),
            3);
  EXPECT_EQ(Parts(VariableAxisSizePartitioner(64), {8, 4}, DT_STRING), 8);
  EXPECT_EQ(Parts(VariableAxisSizePartitioner(128), {8, 4}, DT_STRING), 4);
  EXPECT_EQ(Parts(VariableAxisSizePartitioner(0), {8}), -1);
}

TEST(PartitionersTest, MinMax) {
  const auto parts = [](int most, int64_t bytes, const TensorShape& shape) {
    return Parts(MinMaxVariablePartitioner(
                     {.max_partitions = most, .min_slice_size = bytes}),
                 shape);
  };
  EXPECT_EQ(parts(100, 2 << 10, {2048}), 4);
  EXPECT_EQ(parts(100, 256 << 10, {2048}), 1);
  EXPECT_EQ(parts(3, 2 << 10, {2048}), 3);
  EXPECT_EQ(parts(100, 1, {5, 4}), 5);
  EXPECT_EQ(parts(0, 1, {5}), -1);
}

}  // namespace
}  // namespace weft::ops
