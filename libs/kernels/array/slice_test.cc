// Tests slices, gathers and scatters.
#include <limits>

#include "libs/kernels/array/array_kernels_test_base.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class ArraySliceTest : public ArrayKernelsTest {};

TEST_F(ArraySliceTest, SliceCutsABox) {
  const Tensor x = Counting({3, 4});
  EXPECT_EQ(Run("Slice", {x, Ints({1, 1}), Ints({2, 2})}), "[2,2] 5 6 9 10");
  EXPECT_EQ(Run("Slice", {x, Ints({2, 0}), Ints({-1, -1})}), "[1,4] 8 9 10 11");
  EXPECT_EQ(Run("Slice", {x, Ints({3, 0}), Ints({0, 4})}), "[0,4]");
  EXPECT_EQ(Run("Slice", {Strings({"a", "b", "c"}), Ints({1}), Ints({2})}),
            "[2] b c");
  EXPECT_EQ(Run("Slice", {x, Ints({0, 4}), Ints({1, 2})}),
            "Expected size[1] in [0, 0], but got 2");
  EXPECT_THAT(Run("Slice", {x, Ints({0, -1}), Ints({1, 1})}),
              HasSubstr("Expected begin[1] in [0, 4], but got -1"));
  EXPECT_EQ(Run("Slice", {Empty({1, 1, 1}), Ints({0}), Ints({1})}),
            "Expected begin and size arguments to be 1-D tensors of size 3, "
            "but got shapes [1] and [1] instead.");
}

TEST_F(ArraySliceTest, StridedSliceReadsLikePython) {
  const Tensor x = Counting({3, 4});
  EXPECT_EQ(Run("StridedSlice", {x, Ints({2, 0}), Ints({0, 4}), Ints({-1, 3})}),
            "[2,2] 8 11 4 7");
  EXPECT_EQ(Run("StridedSlice", {x, Ints({1}), Ints({2}), Ints({1})},
                {{"shrink_axis_mask", 1}}),
            "[4] 4 5 6 7");
  EXPECT_EQ(Run("StridedSlice",
                {x, Ints({0, 0, -1}), Ints({0, 0, 0}), Ints({1, 1, 1})},
                {{"ellipsis_mask", 1},
                 {"new_axis_mask", 2},
                 {"shrink_axis_mask", 4}}),
            "[3,1] 3 7 11");
  EXPECT_EQ(Run("StridedSlice", {x, Ints({1}), Ints({1}), Ints({1})}), "[0,4]");
  EXPECT_EQ(Run("StridedSlice", {x, Ints({7}), Ints({8}), Ints({1})},
                {{"shrink_axis_mask", 1}}),
            "slice index 7 of dimension 0 out of bounds.");
}

TEST_F(ArraySliceTest, SliceOfOneElementMayHaveAnyStride) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(
      Run("StridedSlice", {Counting({3, 4}), Tensor::Vector<int64_t>({1, 1}),
                           Tensor::Vector<int64_t>({3, 3}),
                           Tensor::Vector<int64_t>({kMost, kMost - 1})}),
      "[1,1] 5");
}

TEST_F(ArraySliceTest, WholeStridedSliceSharesItsInput) {
  const Tensor x = Counting({3, 4});
  ASSERT_OK_AND_ASSIGN(
      Tensor y,
      harness_.RunOne("StridedSlice", {x, Ints({0}), Ints({3}), Ints({1})}));
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST_F(ArraySliceTest, StridedSliceGradScattersIntoZeros) {
  EXPECT_EQ(Run("StridedSliceGrad", {Ints({2, 3}), Ints({1, 2}), Ints({2, 0}),
                                     Ints({1, -1}), Counting({1, 2})}),
            "[2,3] 0 0 0 0 1 0");
  EXPECT_EQ(Run("StridedSliceGrad",
                {Ints({4}), Ints({0}), Ints({4}), Ints({2}), Counting({3})}),
            "shape of dy was [3] instead of [2]");
}

TEST_F(ArraySliceTest, GathersAlongAnAxis) {
  const Tensor x = Counting({2, 3});
  EXPECT_EQ(Run("Gather", {x, Ints({1, 0, 1})}), "[3,3] 3 4 5 0 1 2 3 4 5");
  EXPECT_EQ(Run("GatherV2", {x, Ints({2, 0}), Int(-1)}), "[2,2] 2 0 5 3");
  EXPECT_EQ(Run("GatherV2", {x, Int(1), Int(0)}), "[3] 3 4 5");
  EXPECT_EQ(Run("GatherV2", {x, Tensor(DT_INT32, {0}), Int(0)}), "[0,3]");
  EXPECT_EQ(Run("Gather", {Strings({"a", "b"}), Ints({1, 1})}), "[2] b b");
  const Tensor by_batch = Tensor::FromValues<int32_t>({2, 2}, {2, 0, 1, 1});
  EXPECT_EQ(Run("GatherV2", {x, by_batch, Int(1)}, {{"batch_dims", 1}}),
            "[2,2] 2 0 4 4");
}

// Covers several threads, batches, all axes, and both index types.
TEST_F(ArraySliceTest, GathersManyRows) {
  constexpr int64_t kBatch = 2, kOuter = 3, kRows = 50, kCount = 700;
  for (const int64_t inner : {1, 2, 33, 64}) {
    const Tensor x = Counting({kBatch, kOuter, kRows, inner});
    Tensor wide(DT_INT64, {kBatch, kCount}), narrow(DT_INT32, {kBatch, kCount});
    for (int64_t i = 0; i < kBatch * kCount; ++i) {
      wide.mutable_flat<int64_t>()[i] = i * i % kRows;
      narrow.mutable_flat<int32_t>()[i] = static_cast<int32_t>(i * i % kRows);
    }
    for (const Tensor& indices : {wide, narrow}) {
      ASSERT_OK_AND_ASSIGN(const Tensor rows,
                           harness_.RunOne("GatherV2", {x, indices, Int(2)},
                                           {{"batch_dims", 1}}));
      ASSERT_EQ(rows.shape(), TensorShape({kBatch, kOuter, kCount, inner}));
      const auto from = x.flat<int32_t>(), to = rows.flat<int32_t>();
      for (int64_t i = 0; i < rows.num_elements(); ++i) {
        const int64_t c = i / inner % kCount, box = i / inner / kCount;
        const int64_t row = wide.flat<int64_t>()[box / kOuter * kCount + c];
        ASSERT_EQ(to[i], from[(box * kRows + row) * inner + i % inner]);
      }
    }
  }
}

TEST_F(ArraySliceTest, GatherRefusesIndicesOutside) {
  const Tensor x = Counting({2, 3});
  EXPECT_EQ(Run("Gather", {x, Ints({2})}), "indices[0] = 2 is not in [0, 2)");
  const Tensor two = Tensor::FromValues<int32_t>({1, 2}, {0, -1});
  EXPECT_EQ(Run("Gather", {x, two}), "indices[0,1] = -1 is not in [0, 2)");
  EXPECT_EQ(Run("Gather", {Empty({0, 3}), Int(0)}),
            "indices = 0 is not in [0, 0)");
  EXPECT_THAT(Run("GatherV2", {x, Int(0), Int(2)}),
              HasSubstr("Expected axis in the range [-2, 2), but got 2"));
  EXPECT_EQ(Run("Gather", {Int(1), Int(0)}),
            "params must be at least 1 dimensional");
}

TEST_F(ArraySliceTest, GatherNdReadsByTuples) {
  const Tensor x = Counting({2, 3});
  const Tensor elements = Tensor::FromValues<int32_t>({2, 2}, {1, 2, 0, 0});
  EXPECT_EQ(Run("GatherNd", {x, elements}), "[2] 5 0");
  EXPECT_EQ(Run("GatherNd", {x, Tensor::FromValues<int32_t>({1, 1}, {1})}),
            "[1,3] 3 4 5");
  const Tensor none(DT_INT32, {2, 0});
  EXPECT_EQ(Run("GatherNd", {x, none}), "[2,2,3] 0 1 2 3 4 5 0 1 2 3 4 5");
  EXPECT_THAT(
      Run("GatherNd", {x, Tensor::FromValues<int32_t>({1, 2}, {2, 0})}),
      HasSubstr("indices[0] = [2, 0] does not index into param shape [2,3], "
                "node name: "));
}

TEST_F(ArraySliceTest, ScatterNdSumsRepeatedIndices) {
  const Tensor indices = Tensor::FromValues<int32_t>({3, 1}, {1, 3, 1});
  EXPECT_EQ(Run("ScatterNd", {indices, Ints({10, 20, 30}), Ints({5})}),
            "[5] 0 40 0 20 0");
  EXPECT_EQ(Run("ScatterNd", {indices, Strings({"a", "b", "c"}), Ints({4})}),
            "[4]  ac  b");
  EXPECT_EQ(Run("ScatterNd", {Tensor::FromValues<int32_t>({1, 1}, {7}),
                              Ints({1}), Ints({5})}),
            "indices[0] = [7] does not index into shape [5]");
  EXPECT_THAT(Run("ScatterNd", {indices, Ints({1, 2}), Ints({5})}),
              HasSubstr("must match dimensions [0,1) of updates[shape=[2]]"));
}

// A loop over all rows would practically never end.
TEST_F(ArraySliceTest, ManyEmptyRowsTakeNoTime) {
  const Tensor indices(DT_INT32, {int64_t{1} << 40, 0});
  EXPECT_EQ(Run("GatherNd", {Empty({0}), indices}), "[1099511627776,0]");
  const Tensor updates(DT_FLOAT, {int64_t{1} << 40, 0});
  EXPECT_EQ(Run("ScatterNd", {indices, updates, Ints({0})}), "[0]");
  EXPECT_EQ(Run("TensorScatterUpdate", {Empty({0}), indices, updates}), "[0]");
}

TEST_F(ArraySliceTest, TensorScatterUpdateLeavesItsInputAlone) {
  const Tensor x = Counting({4});
  const Tensor indices = Tensor::FromValues<int32_t>({1, 1}, {2});
  EXPECT_EQ(Run("TensorScatterUpdate", {x, indices, Ints({9})}), "[4] 0 1 9 3");
  EXPECT_EQ(Show(x), "[4] 0 1 2 3");
}

}  // namespace
}  // namespace weft
