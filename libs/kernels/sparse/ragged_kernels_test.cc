#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/testing/expect_outputs.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

Tensor Longs(std::initializer_list<int64_t> values) {
  return Tensor::Vector(values);
}
Tensor Floats(std::initializer_list<float> values) {
  return Tensor::Vector(values);
}

class RaggedKernelsTest : public testing::Test {
 protected:
  RaggedKernelsTest() : harness_(RegisterSparseKernels) {}

  // The last of `tensors` is the values.
  absl::StatusOr<Tensor> Encode(std::vector<Tensor> tensors, bool batched) {
    return harness_.RunOne(
        "RaggedTensorToVariant", {tensors.begin(), tensors.end()},
        {{"RAGGED_RANK", Count(tensors) - 1}, {"batched_input", batched}});
  }
  absl::StatusOr<std::vector<Tensor>> Decode(const Tensor& encoded,
                                             int64_t input_rank,
                                             int64_t output_rank,
                                             DataType values = DT_FLOAT,
                                             DataType splits = DT_INT64) {
    return harness_.Run("RaggedTensorFromVariant", {encoded},
                        {{"input_ragged_rank", input_rank},
                         {"output_ragged_rank", output_rank},
                         {"Tvalues", values},
                         {"Tsplits", splits}});
  }
  static int64_t Count(const std::vector<Tensor>& tensors) {
    return static_cast<int64_t>(tensors.size());
  }
  // Returns a variant of these tensors, which need not be valid.
  static Tensor Raw(std::vector<Tensor> tensors,
                    const std::string& type = "RaggedTensorVariant") {
    Tensor out(DT_VARIANT, {1});
    out.mutable_flat<Variant>()[0] = {
        type, "",
        std::make_shared<const std::vector<Tensor>>(std::move(tensors))};
    return out;
  }
  static void ExpectSame(const std::vector<Tensor>& found,
                         const std::vector<Tensor>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(SameBits(found[i], expected[i]))
          << i << ": " << found[i].ToString(20);
    }
  }

  KernelTestHarness harness_;
};

// [[[1, 2], []], [], [[3], [4, 5]]]
const std::vector<Tensor>& Nested() {
  static const auto& nested = *new std::vector<Tensor>{
      Longs({0, 2, 2, 4}), Longs({0, 2, 2, 3, 5}), Floats({1, 2, 3, 4, 5})};
  return nested;
}

TEST_F(RaggedKernelsTest, VariantHoldsTheWholeTensorOrARow) {
  ASSERT_OK_AND_ASSIGN(const Tensor whole, Encode(Nested(), false));
  EXPECT_EQ(whole.shape(), TensorShape());
  ASSERT_OK_AND_ASSIGN(const auto same, Decode(whole, 2, 2));
  ExpectSame(same, Nested());

  ASSERT_OK_AND_ASSIGN(const Tensor rows, Encode(Nested(), true));
  ASSERT_EQ(rows.shape(), TensorShape({3}));
  const auto row = [&](int i) { return *rows.flat<Variant>()[i].tensors; };
  ExpectSame(row(0), {Longs({0, 2, 2}), Floats({1, 2})});
  ExpectSame(row(1), {Longs({0}), Floats({})});
  ExpectSame(row(2), {Longs({0, 1, 3}), Floats({3, 4, 5})});
  for (const int64_t input_rank : {1, -1}) {
    ASSERT_OK_AND_ASSIGN(const auto stacked, Decode(rows, input_rank, 2));
    ExpectSame(stacked, Nested());
  }
}

TEST_F(RaggedKernelsTest, RowsOfTensorsAndOfOneRaggedDimension) {
  const Tensor values = Tensor::FromValues<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor plain, Encode({values}, true));
  ASSERT_EQ(plain.shape(), TensorShape({3}));
  EXPECT_TRUE(SameBits((*plain.flat<Variant>()[1].tensors)[0], Floats({3, 4})));
  ASSERT_OK_AND_ASSIGN(const auto stacked, Decode(plain, 0, 1));
  ExpectSame(stacked, {Longs({0, 2, 4, 6}), Floats({1, 2, 3, 4, 5, 6})});

  const Tensor splits = Tensor::Vector<int32_t>({0, 1, 1, 3});
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Encode({splits, values}, true));
  ASSERT_OK_AND_ASSIGN(const auto ragged,
                       Decode(rows, 0, 1, DT_FLOAT, DT_INT32));
  ExpectSame(ragged, {splits, values});
}

TEST_F(RaggedKernelsTest, NestedAndEmptyBatchesDecode) {
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Encode(Nested(), true));
  Tensor matrix(DT_VARIANT, {2, 3});
  for (int i = 0; i < 6; ++i) {
    matrix.mutable_flat<Variant>()[i] = rows.flat<Variant>()[i % 3];
  }
  ASSERT_OK_AND_ASSIGN(const auto stacked, Decode(matrix, 1, 3));
  ExpectSame(stacked, {Longs({0, 3, 6}), Longs({0, 2, 2, 4, 6, 6, 8}),
                       Longs({0, 2, 2, 3, 5, 7, 7, 8, 10}),
                       Floats({1, 2, 3, 4, 5, 1, 2, 3, 4, 5})});
  ASSERT_OK_AND_ASSIGN(const auto none, Decode(Tensor(DT_VARIANT, {0}), 1, 2));
  ExpectSame(none, {Longs({0}), Longs({0}), Floats({})});
}

TEST_F(RaggedKernelsTest, InvalidSplitsAreRejected) {
  const Tensor values = Floats({1, 2, 3});
  for (const Tensor& splits : {Longs({}), Longs({1, 3}), Longs({0, 4}),
                               Longs({0, 2}), Longs({0, 2, 1, 3})}) {
    EXPECT_THAT(Encode({splits, values}, true),
                StatusIs(kInvalid, "rt_nested_splits[0]"));
  }
  EXPECT_THAT(Encode({Longs({0, 1}), Longs({0, 2}), values}, true),
              StatusIs(kInvalid, "rt_nested_splits[1]"));
  EXPECT_THAT(Encode({Longs({0, 1}), Tensor::Scalar(1.0f)}, true),
              StatusIs(kInvalid, "must have rank >= 1"));
  EXPECT_THAT(Encode({Raw({values})}, false),
              StatusIs(kInvalid, "type variant cannot be stored in a variant"));
}

TEST_F(RaggedKernelsTest, NonRaggedVariantsAreRejected) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Tensor values = Floats({1});
  const std::pair<Tensor, const char*> cases[] = {
      {Raw({Longs({0, 1}), values}, "another"), "doesn't hold"},
      {Raw({}), "doesn't hold"},
      {Tensor(DT_VARIANT, {1}), "doesn't hold"},
      {Raw({values}), "ragged_rank=0.  Expected ragged_rank=1"},
      {Raw({Longs({0, 1}), Longs({1})}), "values Tensor dtype: float"},
      {Raw({Longs({0, 1}), Tensor::Scalar(1.0f)}), "must have rank >= 1"},
      {Raw({values, values}), "row_splits Tensor dtype: int64"},
      {Raw({Longs({}), values}), "at least one number"},
      {Raw({Tensor::Scalar<int64_t>(1), values}), "at least one number"},
      {Raw({Longs({0, 1, 0}), values}), "in order"},
      {Raw({Longs({-2, kMost}), values}), "in order"}};
  for (const auto& [encoded, message] : cases) {
    EXPECT_THAT(Decode(encoded, 1, 2), StatusIs(kInvalid, message));
  }
  EXPECT_THAT(Decode(Raw({Longs({0, 1}), values}), 1, 1), StatusIs(kInvalid));
  EXPECT_THAT(Decode(Raw({values}), -1, 0), StatusIs(kInvalid));
  Tensor two(DT_VARIANT, {2});
  two.mutable_flat<Variant>()[0] = Raw({values}).flat<Variant>()[0];
  two.mutable_flat<Variant>()[1] =
      Raw({Tensor(DT_FLOAT, {1, 2})}).flat<Variant>()[0];
  EXPECT_THAT(Decode(two, 0, 1), StatusIs(kInvalid, "must match"));
  const Tensor large = Raw({Longs({0, int64_t{1} << 40}), values});
  EXPECT_THAT(Decode(large, 1, 2, DT_FLOAT, DT_INT32), StatusIs(kInvalid));
  for (int i = 0; i < 2; ++i) {
    two.mutable_flat<Variant>()[i] =
        Raw({Longs({0, kMost}), values}).flat<Variant>()[0];
  }
  EXPECT_THAT(Decode(two, 1, 2), StatusIs(kInvalid, "too many together"));
}

TEST_F(RaggedKernelsTest, RangesOfManyLengths) {
  const AttrMap int32_splits = {{"Tsplits", DT_INT32}};
  ExpectOutputs(
      harness_, "RaggedRange",
      {Longs({2, 5, 8, 3}), Longs({3, 5, 12, -2}), Longs({1, 1, 3, -2})},
      int32_splits,
      {Tensor::Vector<int32_t>({0, 1, 1, 3, 6}), Longs({2, 8, 11, 3, 1, -1})});
  ExpectOutputs(
      harness_, "RaggedRange",
      {Tensor::Scalar(0.0f), Floats({1, 0.5f}), Tensor::Scalar(0.25f)},
      {{"Tsplits", DT_INT64}},
      {Longs({0, 4, 6}), Floats({0, 0.25f, 0.5f, 0.75f, 0, 0.25f})});
  ExpectOutputs(harness_, "RaggedRange",
                {Tensor::Scalar(1), Tensor::Scalar(3), Tensor::Scalar(1)},
                {{"Tsplits", DT_INT64}},
                {Longs({0, 2}), Tensor::Vector<int32_t>({1, 2})});
  // 0.3 / 0.1 is 3 in floats and more than 3 in doubles.
  ExpectOutputs(
      harness_, "RaggedRange",
      {Tensor::Scalar(0.0f), Tensor::Scalar(0.3f), Tensor::Scalar(0.1f)},
      {{"Tsplits", DT_INT64}}, {Longs({0, 3}), Floats({0, 0.1f, 0.2f})});
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  ExpectOutputs(harness_, "RaggedRange",
                {Longs({-kMost - 1}), Longs({kMost}), Longs({kMost})},
                {{"Tsplits", DT_INT64}},
                {Longs({0, 3}), Longs({-kMost - 1, -1, kMost - 1})});
}

TEST_F(RaggedKernelsTest, InvalidRangesAreRejected) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto range = [&](Tensor starts, Tensor limits, Tensor deltas,
                         DataType splits = DT_INT64) {
    return harness_
        .Run("RaggedRange",
             {std::move(starts), std::move(limits), std::move(deltas)},
             {{"Tsplits", splits}})
        .status();
  };
  EXPECT_THAT(range(Longs({1}), Longs({2}), Longs({0})),
              StatusIs(kInvalid, "delta != 0"));
  EXPECT_THAT(range(Longs({1}), Longs({2, 3}), Longs({1})),
              StatusIs(kInvalid, "the same shape"));
  EXPECT_THAT(range(Longs({-kMost}), Longs({kMost}), Longs({1})),
              StatusIs(kInvalid, "<="));
  EXPECT_THAT(range(Longs({0, 0}), Longs({kMost, kMost}), Longs({1, 1})),
              StatusIs(kInvalid, "too many"));
  EXPECT_THAT(
      range(Longs({0}), Longs({int64_t{1} << 40}), Longs({1}), DT_INT32),
      StatusIs(kInvalid, "row splits of type int32"));
  EXPECT_THAT(range(Floats({0}), Floats({1e30f}), Floats({1e-30f})),
              StatusIs(kInvalid));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(range(Floats({nan}), Floats({1}), Floats({1})),
              StatusIs(kInvalid, "<="));
  EXPECT_THAT(range(Floats({0}), Floats({1}), Floats({nan})),
              StatusIs(kInvalid, "<="));
}

TEST_F(RaggedKernelsTest, Shapes) {
  ASSERT_OK_AND_ASSIGN(
      const auto rows,
      harness_.InferShapes("RaggedTensorToVariant",
                           {{DT_INT64, {4}}, {DT_FLOAT, {-1}}},
                           {{"RAGGED_RANK", 1}, {"batched_input", true}}));
  EXPECT_EQ(rows[0], (PartialShape{3}));
  ASSERT_OK_AND_ASSIGN(
      const auto splits,
      harness_.InferShapes("RaggedTensorFromVariant", {{DT_VARIANT, {3}}},
                           {{"input_ragged_rank", 1},
                            {"output_ragged_rank", 2},
                            {"Tvalues", DT_FLOAT}}));
  EXPECT_EQ(splits[0], (PartialShape{4}));
  EXPECT_THAT(
      harness_.InferShapes("RaggedTensorFromVariant", {{DT_VARIANT, {3}}},
                           {{"input_ragged_rank", 1},
                            {"output_ragged_rank", 1},
                            {"Tvalues", DT_FLOAT}}),
      StatusIs(kInvalid, "output_ragged_rank"));
}

// A size that is only claimed. It must not cause allocations before the data is
// known to exist.
constexpr int64_t kMany = int64_t{1} << 61;

class RaggedPartsTest : public RaggedKernelsTest {
 protected:
  absl::StatusOr<std::vector<Tensor>> Gather(const Tensor& splits,
                                             const Tensor& values,
                                             const Tensor& indices) {
    return harness_.Run("RaggedGather", {splits, values, indices},
                        {{"PARAMS_RAGGED_RANK", int64_t{1}},
                         {"OUTPUT_RAGGED_RANK", int64_t{indices.rank()}}});
  }
  absl::StatusOr<std::vector<Tensor>> ToTensor(std::vector<Tensor> partitions,
                                               std::vector<std::string> types,
                                               const Tensor& shape,
                                               const Tensor& values) {
    std::vector<KernelInput> inputs = {shape, values, Tensor::Scalar(0.0f)};
    inputs.insert(inputs.end(), partitions.begin(), partitions.end());
    return harness_.Run("RaggedTensorToTensor", std::move(inputs),
                        {{"num_row_partition_tensors", Count(partitions)},
                         {"row_partition_types", std::move(types)}});
  }
};

TEST_F(RaggedPartsTest, GatherIsBoundedByMemory) {
  ASSERT_OK_AND_ASSIGN(
      const auto rows,
      Gather(Longs({0, 2, 3}), Floats({1, 2, 3}), Longs({1, 0, 0})));
  ExpectSame(rows, {Longs({0, 1, 3, 5}), Floats({3, 1, 2, 1, 2})});
  // The number and length of empty rows is unlimited.
  EXPECT_FALSE(Gather(Longs({0, kMany}), Tensor(DT_FLOAT, {kMany, 0}),
                      Longs({0, 0, 0, 0, 0}))
                   .ok());
  EXPECT_FALSE(
      Gather(Longs({0, 1}), Floats({1}), Tensor(DT_INT64, {kMany, 0})).ok());
  for (const Tensor& bad :
       {Longs({0, 2, 1}), Longs({-1, 1, 3}), Longs({0, 2, 4}), Longs({})}) {
    EXPECT_THAT(Gather(bad, Floats({1, 2, 3}), Longs({0})), StatusIs(kInvalid));
  }
}

TEST_F(RaggedPartsTest, RowsBeyondTheGivenShapeAreDropped) {
  const Tensor two = Longs({2, 2});
  const Tensor values = Floats({1, 2, 3});
  ASSERT_OK_AND_ASSIGN(
      auto found, ToTensor({Tensor::Scalar(kMany), Longs({0, 1, kMany - 1})},
                           {"FIRST_DIM_SIZE", "VALUE_ROWIDS"}, two, values));
  ExpectSame(found, {Tensor::FromValues<float>({2, 2}, {1, 0, 2, 0})});
  ASSERT_OK_AND_ASSIGN(
      found, ToTensor({Longs({0, kMany}), Longs({0, 2, 3})},
                      {"ROW_SPLITS", "ROW_SPLITS"}, Longs({1, 2, 2}), values));
  ExpectSame(found, {Tensor::FromValues<float>({1, 2, 2}, {1, 2, 3, 0})});
  // Without a requested shape, the result would be as large.
  EXPECT_FALSE(ToTensor({Tensor::Scalar(kMany), Longs({0})},
                        {"FIRST_DIM_SIZE", "VALUE_ROWIDS"}, Longs({-1, -1}),
                        values)
                   .ok());
}

TEST_F(RaggedPartsTest, TensorsOfBadRowsAreRefused) {
  const auto run = [&](std::vector<Tensor> partitions,
                       std::vector<std::string> types) {
    return ToTensor(std::move(partitions), std::move(types),
                    Tensor::Scalar<int64_t>(-1), Floats({1, 2, 3}));
  };
  // TensorFlow reads out of bounds here.
  EXPECT_THAT(run({Longs({0, 2, 9})}, {"ROW_SPLITS"}),
              StatusIs(kInvalid, "but the input has 3"));
  EXPECT_THAT(run({Longs({0, kMany})}, {"ROW_SPLITS"}), StatusIs(kInvalid));
  EXPECT_THAT(run({Longs({0, 2, 1})}, {"ROW_SPLITS"}), StatusIs(kInvalid));
  EXPECT_THAT(run({Longs({})}, {"ROW_SPLITS"}), StatusIs(kInvalid));
  for (const Tensor& ids :
       {Longs({-1}), Longs({2}), Longs({1, 0}), Longs({0, 0, 0, 0})}) {
    EXPECT_THAT(run({Tensor::Scalar<int64_t>(2), ids},
                    {"FIRST_DIM_SIZE", "VALUE_ROWIDS"}),
                StatusIs(kInvalid));
  }
}

TEST_F(RaggedPartsTest, VariantGradientStaysInBounds) {
  const auto run = [&](const Tensor& splits) {
    return harness_.Run(
        "RaggedTensorToVariantGradient",
        {Raw({Floats({1, 2})}), splits, Tensor::Vector<int32_t>({3})},
        {{"Tvalues", DT_FLOAT}});
  };
  ASSERT_OK_AND_ASSIGN(const auto grad, run(Longs({1, 3})));
  ExpectSame(grad, {Floats({0, 1, 2})});
  for (const Tensor& bad :
       {Longs({0, 1}), Longs({2, 4}), Longs({-1, 1}), Longs({3, 1}),
        Longs({kMany, 2 * kMany}), Longs({0}), Longs({0, 1, 2})}) {
    EXPECT_THAT(run(bad), StatusIs(kInvalid));
  }
}

TEST_F(RaggedPartsTest, FillsEmptyRows) {
  const auto run = [&](const Tensor& ids, int64_t rows) {
    return harness_.Run(
        "RaggedFillEmptyRows",
        {ids, Floats({5}), Tensor::Scalar(rows), Tensor::Scalar(-1.0f)});
  };
  ASSERT_OK_AND_ASSIGN(const auto filled, run(Longs({1}), 3));
  ExpectSame(filled, {Longs({0, 1, 2}), Floats({-1, 5, -1}),
                      Tensor::Vector({true, false, true}), Longs({1})});
  for (const int64_t rows : {int64_t{-1}, int64_t{0}, int64_t{1}}) {
    EXPECT_THAT(run(Longs({1}), rows), StatusIs(kInvalid));
  }
  EXPECT_FALSE(run(Longs({1}), kMany).ok());
}

}  // namespace
}  // namespace weft
