#include "libs/kernels/cuda/broadcast_dims.h"

#include <vector>

#include "gtest/gtest.h"

namespace weft {
namespace {

// Returns the offset of operand `o` at each position of the result, in the
// order in which kernels visit them.
std::vector<int64_t> Walk(const cuda::Dims& dims, int o, int64_t n) {
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, offset = 0;
    for (int d = 0; d < dims.rank; ++d) {
      offset += rest % dims.sizes[d] * dims.strides[o][d];
      rest /= dims.sizes[d];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

using Offsets = std::vector<int64_t>;

TEST(BroadcastDimsTest, EqualShapesCollapseToOneDimension) {
  const TensorShape shape({2, 1, 3});
  const auto dims = BroadcastDims({&shape, &shape}, shape);
  ASSERT_TRUE(dims.ok()) << dims.status();
  EXPECT_EQ(dims->rank, 1);
  EXPECT_EQ(Walk(*dims, 1, 6), Offsets({0, 1, 2, 3, 4, 5}));
}

TEST(BroadcastDimsTest, UnitDimensionsHaveStrideZero) {
  const TensorShape row({3}), column({2, 1}), scalar({}), out({2, 3});
  const auto dims = BroadcastDims({&row, &column, &scalar}, out);
  ASSERT_TRUE(dims.ok()) << dims.status();
  EXPECT_EQ(Walk(*dims, 0, 6), Offsets({0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(Walk(*dims, 1, 6), Offsets({0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Walk(*dims, 2, 6), Offsets({0, 0, 0, 0, 0, 0}));
}

TEST(BroadcastDimsTest, UnitDimensionsInTheMiddleBroadcast) {
  const TensorShape x({2, 1, 2}), y({2, 3, 1}), out({2, 3, 2});
  const auto dims = BroadcastDims({&x, &y}, out);
  ASSERT_TRUE(dims.ok()) << dims.status();
  EXPECT_EQ(Walk(*dims, 0, 12), Offsets({0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}));
  EXPECT_EQ(Walk(*dims, 1, 12), Offsets({0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
}

TEST(BroadcastDimsTest, TooManyDimensionsAreRejected) {
  const TensorShape x({2, 1, 2, 1, 2, 1, 2, 1, 2}), y({2}),
      out({2, 1, 2, 1, 2, 1, 2, 1, 2});
  ASSERT_TRUE(BroadcastDims({&x, &y}, out).ok());
  const TensorShape a({2, 1, 2, 1, 2, 1, 2, 1, 2, 1});
  const TensorShape b({1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  const TensorShape both({2, 2, 2, 2, 2, 2, 2, 2, 2, 2});
  EXPECT_TRUE(absl::IsUnimplemented(BroadcastDims({&a, &b}, both).status()));
}

}  // namespace
}  // namespace weft
