// Tests kernels whose results depend on values: partition, one-hot, unique,
// where, segments.
#include <cmath>
#include <limits>
#include <string>

#include "libs/kernels/array/array_kernels_test_base.h"
#include "libs/tensor/buffer.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class ArraySetTest : public ArrayKernelsTest {};

TEST_F(ArraySetTest, StitchUndoesPartition) {
  const Tensor data = Counting({4, 2});
  const Tensor partitions = Ints({1, 0, 1, 1});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> parts,
                       harness_.Run("DynamicPartition", {data, partitions},
                                    {{"num_partitions", 3}}));
  EXPECT_EQ(Show(parts[0]), "[1,2] 2 3");
  EXPECT_EQ(Show(parts[2]), "[0,2]");
  ASSERT_OK_AND_ASSIGN(
      std::vector<Tensor> places,
      harness_.Run("DynamicPartition", {Counting({4}), partitions},
                   {{"num_partitions", 3}}));
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    ASSERT_OK_AND_ASSIGN(Tensor stitched,
                         harness_.RunOne(op, {places[0], places[1], places[2],
                                              parts[0], parts[1], parts[2]}));
    EXPECT_TRUE(SameBits(stitched, data)) << op;
  }
  EXPECT_EQ(Run("DynamicPartition", {data, Ints({3, 0, 0, 0})},
                {{"num_partitions", 2}}),
            "partitions[0] = 3 is not in [0, 2)");
}

TEST_F(ArraySetTest, LaterRowsWinAndMissingRowsAreZero) {
  EXPECT_EQ(
      Run("DynamicStitch", {Ints({0, 3}), Ints({0}), Ints({5, 6}), Ints({7})}),
      "[4] 7 0 0 6");
  EXPECT_THAT(Run("DynamicStitch", {Ints({-1}), Ints({5})}),
              HasSubstr("indices[0] is out of range"));
  EXPECT_THAT(Run("DynamicStitch", {Ints({0, 1}), Ints({5})}),
              HasSubstr("data[0].shape = [1] does not start with "
                        "indices[0].shape = [2]"));
}

TEST_F(ArraySetTest, UniquePartitionDividesDistinctIds) {
  EXPECT_EQ(Run("_UniquePartition", {Ints({7, 4, 7, -1, 0, 4, -3})},
                {{"num_partitions", 2}}),
            "[5] 7 4 -1 0 -3 | [7] 0 1 0 2 3 1 4 | [2] 2 0 | [3] 3 -1 -2 | "
            "[2] 1 3 | [3] 0 2 4");
  EXPECT_EQ(
      Run("_UniquePartition", {Tensor(DT_INT64, {0})}, {{"num_partitions", 1}}),
      "[0] | [0] | [0] | [0]");
  const auto large = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(
      Run("_UniquePartition", {Tensor::Vector<int64_t>({large, -large - 1})},
          {{"num_partitions", 3}}),
      absl::StrCat("[2] ", large, " ", -large - 1, " | [2] 0 1 | [0] | [",
                   "2] ", large / 3, " ", -large / 3 - 1, " | [0] | ",
                   "[0] | [2] 0 1 | [0]"));
  EXPECT_EQ(
      Run("_UniquePartition", {Counting({1, 2})}, {{"num_partitions", 1}}),
      "unique expects a 1D vector.");
}

// Results and error texts are those of ParallelDynamicStitch and GatherV2.
TEST_F(ArraySetTest, StitchedRowsAreGathered) {
  const Tensor few = Counting({1, 3}), more = Counting({2, 3});
  EXPECT_EQ(
      Run("_GatherStitched",
          {Ints({1}), Ints({2, 0}), few, more, Ints({0, 1, 0, 2})}, {{"N", 2}}),
      "[4,3] 3 4 5 0 1 2 3 4 5 0 1 2");
  EXPECT_EQ(
      Run("_GatherStitched",
          {Ints({0}), Tensor(DT_INT32, {1, 0}), Ints({0, 0})}, {{"N", 1}}),
      "[2,0]");
  EXPECT_EQ(Run("_GatherStitched", {Ints({0}), few, Ints({0, 1})}, {{"N", 1}}),
            "indices[1] = 1 is not in [0, 1)");
  EXPECT_THAT(
      Run("_GatherStitched", {Ints({0, 1}), few, Ints({0})}, {{"N", 1}}),
      HasSubstr("data[0].shape = [1,3] does not start with "
                "indices[0].shape = [2]"));
  EXPECT_THAT(
      Run("_GatherStitched",
          {Ints({0}), Ints({1}), few, Counting({1, 2}), Ints({0})}, {{"N", 2}}),
      HasSubstr("Need data[0].shape[1:] = data[1].shape[1:]"));
  EXPECT_THAT(
      Run("_GatherStitched", {Ints({0, 0}), more, Ints({0})}, {{"N", 1}}),
      HasSubstr("there are 2 places for 1 rows"));
  EXPECT_THAT(Run("_GatherStitched",
                  {Ints({2, 2, 0}), Counting({3, 1}), Ints({0})}, {{"N", 1}}),
              HasSubstr("row 2, which is not in [0, 3)"));
}

TEST_F(ArraySetTest, SumsAreDividedAmongParts) {
  const Tensor data = Floats({4, 1}, {1, 2, 4, 8});
  EXPECT_EQ(
      Run("_SumToParts", {data, Ints({1, 0, 1, -1}), Ints({2, 1}), Ints({0})},
          {{"N", 2}}),
      "[2,1] 0 5 | [1,1] 2");
  // Ids may form a matrix.
  EXPECT_EQ(
      Run("_SumToParts",
          {data, Tensor::FromValues<int32_t>({4, 1}, {0, 0, 0, 0}), Ints({0})},
          {{"N", 1}}),
      "[1] 15");
  EXPECT_EQ(Run("_SumToParts", {Empty({0, 3}), Ints({}), Ints({})}, {{"N", 1}}),
            "[0,3]");
  EXPECT_EQ(
      Run("_SumToParts", {data, Ints({0, 0, 0, 1}), Ints({0})}, {{"N", 1}}),
      "segment_ids[3] = 1 is out of range [0, 1)");
  EXPECT_EQ(Run("_SumToParts", {data, Ints({0}), Ints({0})}, {{"N", 1}}),
            "data.shape = [4,1] does not start with segment_ids.shape = [1]");
  EXPECT_THAT(
      Run("_SumToParts", {data, Ints({0, 0, 0, 0}), Ints({1, 1})}, {{"N", 1}}),
      HasSubstr("row 1, which is not in [0, 2)"));
}

TEST_F(ArraySetTest, OneHotIgnoresIndicesOutOfRange) {
  EXPECT_EQ(Run("OneHot", {Ints({1, -1, 3}), Int(3), Int(9), Int(0)}),
            "[3,3] 0 9 0 0 0 0 0 0 0");
  EXPECT_EQ(
      Run("OneHot", {Ints({1, 0}), Int(3), Int(1), Int(0)}, {{"axis", 0}}),
      "[3,2] 0 1 1 0 0 0");
  EXPECT_EQ(Run("OneHot",
                {Int(1), Int(2), Tensor::Scalar("on"), Tensor::Scalar("off")}),
            "[2] off on");
  EXPECT_EQ(Run("OneHot", {Int(0), Int(-1), Int(1), Int(0)}),
            "depth must be non-negative, got: -1");
}

TEST_F(ArraySetTest, WhereListsCoordinates) {
  EXPECT_EQ(Run("Where", {Floats({2, 2}, {0, 1, 2, 0})}), "[2,2] 0 1 1 0");
  EXPECT_EQ(Run("Where", {Tensor::Scalar(true)}), "[1,0]");
  EXPECT_EQ(Run("Where", {Empty({0, 3})}), "[0,2]");
}

TEST_F(ArraySetTest, UniqueKeepsTheOrderOfAppearance) {
  EXPECT_EQ(Run("Unique", {Ints({5, 3, 5, 9})}), "[3] 5 3 9 | [4] 0 1 0 2");
  EXPECT_EQ(Run("Unique", {Strings({"b", "a", "b"})}), "[2] b a | [3] 0 1 0");
  EXPECT_EQ(Run("UniqueWithCounts", {Ints({5, 3, 5})}),
            "[2] 5 3 | [3] 0 1 0 | [2] 2 1");
  EXPECT_EQ(Run("Unique", {Tensor(DT_INT32, {0})}), "[0] | [0]");
  EXPECT_EQ(Run("Unique", {Counting({2, 2})}), "unique expects a 1D vector.");
  const Tensor rows = Tensor::FromValues<int32_t>({3, 2}, {1, 2, 3, 4, 1, 2});
  const Tensor axis = Tensor::Vector<int64_t>({0});
  EXPECT_EQ(Run("UniqueV2", {rows, axis}), "[2,2] 1 2 3 4 | [3] 0 1 0");
  EXPECT_EQ(Run("ListDiff", {Ints({1, 2, 3, 2}), Ints({3})}),
            "[3] 1 2 2 | [3] 0 1 3");
}

TEST_F(ArraySetTest, NaNEqualsNoValue) {
  const Tensor values = Floats({3}, {NAN, 1, NAN});
  EXPECT_EQ(Run("Unique", {values}), "[3] nan 1 nan | [3] 0 1 2");
  EXPECT_EQ(Run("UniqueV2", {Floats({2, 1}, {NAN, NAN}), Ints({0})}),
            "[2,1] nan nan | [2] 0 1");
  EXPECT_EQ(Run("ListDiff", {values, values}), "[2] nan nan | [2] 0 2");
}

template <typename T>
Tensor Values(std::initializer_list<double> values) {
  Tensor tensor(DataTypeOf<T>::value, {static_cast<int64_t>(values.size())});
  T* next = tensor.mutable_flat<T>().data();
  for (double value : values) *next++ = static_cast<T>(value);
  return tensor;
}

TEST_F(ArraySetTest, UniqueDistinguishesValuesOfAllTypes) {
  const Tensor all[] = {
      Values<float>({1, 0, 1}),    Values<double>({1, 0, 1}),
      Values<half>({1, 0, 1}),     Values<bfloat16>({1, 0, 1}),
      Values<int8_t>({1, 0, 1}),   Values<int16_t>({1, 0, 1}),
      Values<int32_t>({1, 0, 1}),  Values<int64_t>({1, 0, 1}),
      Values<uint8_t>({1, 0, 1}),  Values<uint16_t>({1, 0, 1}),
      Values<uint32_t>({1, 0, 1}), Values<uint64_t>({1, 0, 1}),
      Values<bool>({1, 0, 1}),     Strings({"1", "0", "1"})};
  for (const Tensor& values : all) {
    SCOPED_TRACE(DataTypeName(values.dtype()));
    ASSERT_OK_AND_ASSIGN(const Tensor first_two,
                         values.SliceRows(0, 2, HeapAllocator()));
    ASSERT_OK_AND_ASSIGN(const Tensor rows, values.Reshaped({3, 1}));
    ASSERT_OK_AND_ASSIGN(auto unique, harness_.Run("Unique", {values}));
    EXPECT_TRUE(SameBits(unique[0], first_two));
    EXPECT_EQ(Show(unique[1]), "[3] 0 1 0");
    ASSERT_OK_AND_ASSIGN(unique, harness_.Run("UniqueV2", {rows, Ints({0})}));
    ASSERT_OK_AND_ASSIGN(unique[0], unique[0].Reshaped({2}));
    EXPECT_TRUE(SameBits(unique[0], first_two));
    EXPECT_EQ(Show(unique[1]), "[3] 0 1 0");
    EXPECT_EQ(Run("ListDiff", {values, values}), "[0] | [0]");
    ASSERT_OK_AND_ASSIGN(const Tensor last,
                         values.SliceRows(1, 2, HeapAllocator()));
    ASSERT_OK_AND_ASSIGN(auto left, harness_.Run("ListDiff", {values, last}));
    EXPECT_EQ(Show(left[1]), "[2] 0 2");
  }
}

TEST_F(ArraySetTest, ZerosOfBothSignsAreEqual) {
  for (const Tensor& zeros :
       {Values<float>({0, -0.0, 1}), Values<double>({0, -0.0, 1}),
        Values<bfloat16>({0, -0.0, 1})}) {
    SCOPED_TRACE(DataTypeName(zeros.dtype()));
    ASSERT_OK_AND_ASSIGN(const Tensor rows, zeros.Reshaped({3, 1}));
    ASSERT_OK_AND_ASSIGN(auto unique, harness_.Run("Unique", {zeros}));
    EXPECT_EQ(Show(unique[1]), "[3] 0 0 1");
    ASSERT_OK_AND_ASSIGN(unique, harness_.Run("UniqueV2", {rows, Ints({0})}));
    EXPECT_EQ(Show(unique[1]), "[3] 0 0 1");
    ASSERT_OK_AND_ASSIGN(const Tensor negative,
                         zeros.SliceRows(1, 2, HeapAllocator()));
    ASSERT_OK_AND_ASSIGN(auto left,
                         harness_.Run("ListDiff", {zeros, negative}));
    EXPECT_EQ(Show(left[1]), "[1] 2");
  }
}

// TensorFlow compares halves by their bits, too.
TEST_F(ArraySetTest, HalfZerosOfBothSignsAreDistinct) {
  const Tensor zeros = Values<half>({0, -0.0, 1, -0.0});
  ASSERT_OK_AND_ASSIGN(const Tensor rows, zeros.Reshaped({4, 1}));
  ASSERT_OK_AND_ASSIGN(auto unique, harness_.Run("Unique", {zeros}));
  EXPECT_EQ(Show(unique[1]), "[4] 0 1 2 1");
  ASSERT_OK_AND_ASSIGN(unique, harness_.Run("UniqueV2", {rows, Ints({0})}));
  EXPECT_EQ(Show(unique[1]), "[4] 0 1 2 1");
  ASSERT_OK_AND_ASSIGN(const Tensor negative,
                       zeros.SliceRows(1, 2, HeapAllocator()));
  ASSERT_OK_AND_ASSIGN(auto left, harness_.Run("ListDiff", {zeros, negative}));
  EXPECT_EQ(Show(left[1]), "[2] 0 2");
}

TEST_F(ArraySetTest, UniqueDistinguishesExtremeIntegers) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Run("Unique", {Tensor::Vector<int64_t>({kMost, kMost - 1, -1})}),
            "[3] 9223372036854775807 9223372036854775806 -1 | [3] 0 1 2");
  // As doubles, these bits would be NaNs.
  EXPECT_EQ(Run("Unique", {Tensor::Vector<int64_t>({kMost, kMost, -1, -1})}),
            "[2] 9223372036854775807 -1 | [4] 0 0 1 1");
}

// There are more values than the table of groups initially has room for. Some
// of the ids differ only in their highest bits, as strided ids do.
TEST_F(ArraySetTest, UniqueDistinguishesManyValues) {
  constexpr int64_t kValues = 300'000, kDistinct = 100'003;
  for (const int shift : {0, 20, 46}) {
    Tensor values(DT_INT64, {kValues});
    for (int64_t i = 0; i < kValues; ++i) {
      values.mutable_flat<int64_t>()[i] = (i % kDistinct) << shift;
    }
    ASSERT_OK_AND_ASSIGN(
        const auto unique,
        harness_.Run("UniqueWithCounts", {values}, {{"out_idx", DT_INT64}}));
    ASSERT_EQ(unique[0].num_elements(), kDistinct);
    for (int64_t i = 0; i < kValues; ++i) {
      ASSERT_EQ(unique[1].flat<int64_t>()[i], i % kDistinct);
    }
    EXPECT_EQ(unique[0].flat<int64_t>()[kDistinct - 1], (kDistinct - 1)
                                                            << shift);
    EXPECT_EQ(unique[2].flat<int64_t>()[0], 3);
    EXPECT_EQ(unique[2].flat<int64_t>()[kDistinct - 1], 2);
  }
}

// NaN equals nothing. A NaN between other numbers must not split their groups.
TEST_F(ArraySetTest, NaNLeavesOtherGroupsIntact) {
  EXPECT_EQ(Run("Unique", {Floats({6}, {NAN, 1, 2, NAN, 2, 1})}),
            "[4] nan 1 2 nan | [6] 0 1 2 3 2 1");
}

// Widths of 4 and 8 bytes, of whole vectors, and with a remainder.
TEST_F(ArraySetTest, StitchesRowsOfAnyWidth) {
  for (const int64_t width : {1, 2, 3, 17, 64, 100}) {
    const Tensor data = Counting({50, width});
    Tensor partitions(DT_INT32, {50});
    for (int i = 0; i < 50; ++i) {
      partitions.mutable_flat<int32_t>()[i] = i * i % 3;
    }
    const AttrMap three = {{"num_partitions", 3}};
    ASSERT_OK_AND_ASSIGN(
        const auto parts,
        harness_.Run("DynamicPartition", {data, partitions}, three));
    ASSERT_OK_AND_ASSIGN(
        const auto places,
        harness_.Run("DynamicPartition", {Counting({50}), partitions}, three));
    ASSERT_OK_AND_ASSIGN(const Tensor stitched,
                         harness_.RunOne("ParallelDynamicStitch",
                                         {places[0], places[1], places[2],
                                          parts[0], parts[1], parts[2]}));
    EXPECT_TRUE(SameBits(stitched, data)) << width;
  }
  EXPECT_EQ(Run("DynamicStitch", {Ints({1, 0}), Strings({"b", "a"})}),
            "[2] a b");
}

TEST_F(ArraySetTest, UniqueComparesStringSlicesByElement) {
  const Tensor rows = Tensor::FromValues<std::string>(
      {4, 2}, {"ab", "c", "a", "bc", "ab", "c", "", "abc"});
  EXPECT_EQ(Run("UniqueV2", {rows, Ints({0})}),
            "[3,2] ab c a bc  abc | [4] 0 1 0 2");
  EXPECT_EQ(Run("UniqueV2", {Strings({"b", "a", "b"}), Ints({0})}),
            "[2] b a | [3] 0 1 0");
}

// A loop over all rows would practically never end.
TEST_F(ArraySetTest, UniqueOfEmptySlicesTakesNoTime) {
  EXPECT_EQ(Run("UniqueV2", {Empty({int64_t{1} << 40, 0}), Ints({1})}),
            "[1099511627776,0] | [0]");
  EXPECT_EQ(Run("UniqueV2", {Empty({int64_t{1} << 40, 2, 0}), Ints({1})}),
            "[1099511627776,1,0] | [2] 0 0");
}

TEST_F(ArraySetTest, ReducesSortedSegments) {
  const Tensor data = Floats({4, 1}, {1, 5, 3, 4});
  const Tensor ids = Ints({0, 0, 2, 2});
  EXPECT_EQ(Run("SegmentSum", {data, ids}), "[3,1] 6 0 7");
  EXPECT_EQ(Run("SegmentMean", {data, ids}), "[3,1] 3 0 3.5");
  EXPECT_EQ(Run("SegmentProd", {data, ids}), "[3,1] 5 1 12");
  EXPECT_EQ(Run("SegmentMin", {data, ids}), "[3,1] 1 0 3");
  EXPECT_EQ(Run("SegmentMax", {data, ids}), "[3,1] 5 0 4");
  EXPECT_EQ(Run("SegmentSum", {Empty({0, 2}), Tensor(DT_INT32, {0})}), "[0,2]");
  EXPECT_EQ(Run("SegmentSum", {data, Ints({0, 1, 0, 1})}),
            "segment ids are not increasing");
  EXPECT_EQ(Run("SegmentSum", {data, Ints({0})}),
            "segment_ids should be the same size as dimension 0 of input.");
}

// As an int8, 256 is 0 and 128 is negative. The sum wraps around, as in
// TensorFlow; the divisor does not.
TEST_F(ArraySetTest, MeansOfManySmallIntegerRows) {
  // Returns the mean of `rows` ones, all in one segment.
  const auto mean = [&]<typename T>(T one, int64_t rows) {
    const std::vector<T> ones(static_cast<size_t>(rows), one);
    auto result = harness_.RunOne(
        "SegmentMean",
        {Tensor::Vector(absl::MakeSpan(ones)), Tensor(DT_INT32, {rows})});
    EXPECT_OK(result);
    return result.ok() ? int64_t{result->template scalar<T>()} : -2;
  };
  // In TensorFlow 2.21, sum and count wrap around alike.
  EXPECT_EQ(mean(int8_t{1}, 127), 1);
  EXPECT_EQ(mean(int8_t{1}, 128), 1);
  EXPECT_EQ(mean(int8_t{1}, 130), 1);
  EXPECT_EQ(mean(int8_t{120}, 255), 120);
  EXPECT_EQ(mean(int8_t{100}, 2), -28);
  EXPECT_EQ(mean(int8_t{-128}, 255), -128);
  EXPECT_EQ(mean(int8_t{1}, 300), 1);
  EXPECT_EQ(mean(uint8_t{1}, 255), 1);
  EXPECT_EQ(mean(uint8_t{1}, 300), 1);
  EXPECT_EQ(mean(int16_t{1}, 256), 1);
  EXPECT_EQ(mean(int16_t{1}, 32768), 1);
  // The count in the element type wraps around to 0, and division by it would
  // end the process.
  EXPECT_EQ(mean(int8_t{1}, 256), 0);
  EXPECT_EQ(mean(int8_t{1}, 512), 0);
  EXPECT_EQ(mean(uint8_t{1}, 256), 0);
  EXPECT_EQ(mean(int16_t{1}, 65536), 0);
  EXPECT_EQ(mean(uint16_t{1}, 65536), 0);
}

// Matches TensorFlow 2.21.
TEST_F(ArraySetTest, SegmentMinMaxKeepsATrailingNaN) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor data = Floats({8, 1}, {kNan, 1, 2, kNan, kNan, -1, kNan, kNan});
  const Tensor ids = Ints({0, 0, 1, 1, 2, 2, 2, 3});
  EXPECT_EQ(Run("SegmentMin", {data, ids}), "[4,1] 1 nan nan nan");
  EXPECT_EQ(Run("SegmentMax", {data, ids}), "[4,1] 1 nan nan nan");
  const Tensor four = Tensor::Scalar(int32_t{4});
  EXPECT_EQ(Run("UnsortedSegmentMin", {data, ids, four}),
            "[4,1] 1 nan nan nan");
  EXPECT_EQ(Run("UnsortedSegmentMax", {data, ids, four}),
            "[4,1] 1 nan nan nan");
}

// A sum starts at +0, so rows of -0 sum to +0. Rows come in any order, in
// widths with and without a remainder after whole vectors.
TEST_F(ArraySetTest, SumsUnsortedRowsOfAnyWidth) {
  for (const int64_t width : {1, 5, 16, 64, 67}) {
    constexpr int64_t kRows = 40, kSegments = 9;
    Tensor data(DT_FLOAT, {kRows, width});
    Tensor ids(DT_INT32, {kRows});
    std::vector<float> sums(kSegments * width, 0.0f);
    for (int64_t i = 0; i < kRows; ++i) {
      const int32_t id = static_cast<int32_t>(i * 7 % 10) - 1;  // 8 is omitted
      ids.mutable_flat<int32_t>()[i] = id == 8 ? -1 : id;
      for (int64_t j = 0; j < width; ++j) {
        const float x = i < 10 ? -0.0f : 0.1f * static_cast<float>(i + j);
        data.mutable_flat<float>()[i * width + j] = x;
        if (id >= 0 && id != 8) sums[id * width + j] += x;
      }
    }
    ASSERT_OK_AND_ASSIGN(
        const Tensor result,
        harness_.RunOne("UnsortedSegmentSum", {data, ids, Int(kSegments)}));
    const Tensor expected = Tensor::FromValues(TensorShape({kSegments, width}),
                                               absl::Span<const float>(sums));
    EXPECT_TRUE(SameBits(result, expected)) << width;
  }
  EXPECT_EQ(Run("UnsortedSegmentSum", {Empty({0, 2}), Ints({}), Int(2)}),
            "[2,2] 0 0 0 0");
  EXPECT_EQ(Run("UnsortedSegmentSum", {Empty({2, 0}), Ints({1, 0}), Int(2)}),
            "[2,0]");
}

TEST_F(ArraySetTest, ReducesUnsortedSegments) {
  const Tensor data = Floats({4}, {1, 5, 3, 4});
  const Tensor ids = Ints({2, 0, 2, -1});
  EXPECT_EQ(Run("UnsortedSegmentSum", {data, ids, Int(3)}), "[3] 5 0 4");
  EXPECT_EQ(Run("UnsortedSegmentProd", {data, ids, Int(3)}), "[3] 5 1 3");
  EXPECT_EQ(Run("UnsortedSegmentMax", {data, ids, Int(3)}),
            "[3] 5 -3.40282e+38 3");
  EXPECT_EQ(Run("UnsortedSegmentMin", {data, ids, Int(3)}),
            "[3] 5 3.40282e+38 1");
  EXPECT_EQ(Run("UnsortedSegmentSum", {data, Ints({0, 0, 0, 9}), Int(4)}),
            "segment_ids[3] = 9 is out of range [0, 4)");
  EXPECT_THAT(Run("UnsortedSegmentSum", {data, ids, Int(-1)}),
              HasSubstr("must not be negative"));
}

TEST_F(ArraySetTest, SparseSegmentsReduceChosenRows) {
  const Tensor data = Floats({3, 1}, {1, 2, 4});
  const Tensor indices = Ints({2, 0, 2, 1});
  const Tensor ids = Ints({0, 0, 0, 2});
  EXPECT_EQ(Run("SparseSegmentSum", {data, indices, ids}), "[3,1] 9 0 2");
  EXPECT_EQ(Run("SparseSegmentMean", {data, indices, ids}), "[3,1] 3 0 2");
  EXPECT_EQ(
      Run("SparseSegmentSqrtN", {data, Ints({0, 1, 2, 0}), Ints({0, 0, 0, 0})}),
      "[1,1] 4");
  EXPECT_EQ(Run("SparseSegmentSum", {data, Ints({3}), Ints({0})}),
            "Bad: indices[0] == 3 out of range [0, 3)");
  EXPECT_EQ(Run("SparseSegmentMeanGrad", {Floats({1, 1}, {6}), Ints({1, 1, 0}),
                                          Ints({0, 0, 0}), Int(3)}),
            "[3,1] 2 4 0");
}

}  // namespace
}  // namespace weft
