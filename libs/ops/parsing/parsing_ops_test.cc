// The outputs of parsers of examples: their order, types and shapes, and the
// errors of features that are described wrongly.
#include "libs/ops/parsing/parsing_ops.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

class ParsingOpsTest : public testing::Test {
 protected:
  Output Strings(const PartialShape& shape) {
    return ops::Placeholder(root_, DT_STRING, {.shape = shape});
  }
  std::string ShapeOf(const Output& output) {
    EXPECT_OK(root_.status());
    return output ? output.shape().ToString() : "no output";
  }
  // A sparse int64 feature and two dense ones.
  ops::ParseExampleOutputs Parse(const PartialShape& batch,
                                 const std::vector<PartialShape>& shapes) {
    return ops::ParseExample(
        root_, Strings(batch), Tensor(DT_STRING, {0}), {"ids"}, {"x", "y"},
        {Tensor(DT_FLOAT, {0}), Tensor::Scalar<int64_t>(0)}, {DT_INT64},
        shapes);
  }
  void ExpectInvalid(const std::string& text) {
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, text));
  }

  const Scope root_ = Scope::Root();
};

TEST_F(ParsingOpsTest, BatchPrecedesTheShapeOfAFeature) {
  const auto parsed = Parse({7}, {{2, 3}, PartialShape::Scalar()});
  ASSERT_OK(root_.status());
  ASSERT_EQ(parsed.dense_values.size(), 2u);
  EXPECT_EQ(ShapeOf(parsed.dense_values[0]), "[7,2,3]");
  EXPECT_EQ(parsed.dense_values[0].dtype(), DT_FLOAT);
  EXPECT_EQ(ShapeOf(parsed.dense_values[1]), "[7]");
  EXPECT_EQ(parsed.dense_values[1].dtype(), DT_INT64);
}

TEST_F(ParsingOpsTest, SparseFeaturesAreMatrices) {
  const auto parsed = Parse({-1}, {{2}, PartialShape::Scalar()});
  ASSERT_OK(root_.status());
  ASSERT_EQ(parsed.sparse_values.size(), 1u);
  EXPECT_EQ(ShapeOf(parsed.sparse_indices[0]), "[?,2]");
  EXPECT_EQ(ShapeOf(parsed.sparse_values[0]), "[?]");
  EXPECT_EQ(parsed.sparse_values[0].dtype(), DT_INT64);
  EXPECT_EQ(ShapeOf(parsed.sparse_shapes[0]), "[2]");
}

TEST_F(ParsingOpsTest, OnlyTheFirstSizeMayVary) {
  const auto parsed = Parse({7}, {{-1, 3}, PartialShape::Scalar()});
  EXPECT_EQ(ShapeOf(parsed.dense_values[0]), "[7,?,3]");
  Parse({7}, {{2, -1}, PartialShape::Scalar()});
  ExpectInvalid(
      "dense_shapes[0] has unknown rank or unknown inner dimensions: "
      "[2,?]");
}

TEST_F(ParsingOpsTest, EachDenseFeatureNeedsAShape) {
  Parse({7}, {{2, 3}});
  ExpectInvalid("len(dense_keys) != len(dense_shapes)");
}

TEST_F(ParsingOpsTest, BatchOfExamplesIsAVector) {
  Parse({7, 2}, {{2}, PartialShape::Scalar()});
  ExpectInvalid("Shape must be rank 1 but is rank 2 for input 0");
}

TEST_F(ParsingOpsTest, SingleExampleHasNoBatch) {
  const auto parsed = ops::ParseSingleExample(root_, Strings(TensorShape()),
                                              {Tensor(DT_FLOAT, {0})},
                                              {.sparse_keys = {"ids"},
                                               .dense_keys = {"x"},
                                               .sparse_types = {DT_STRING},
                                               .dense_shapes = {{2, 3}}});
  ASSERT_OK(root_.status());
  EXPECT_EQ(ShapeOf(parsed.dense_values[0]), "[2,3]");
  EXPECT_EQ(ShapeOf(parsed.sparse_indices[0]), "[?,1]");
  EXPECT_EQ(parsed.sparse_values[0].dtype(), DT_STRING);
}

TEST_F(ParsingOpsTest, SingleExampleNeedsATypeForEachKey) {
  ops::ParseSingleExample(
      root_, Strings(TensorShape()), {},
      {.sparse_keys = {"ids", "more"}, .sparse_types = {DT_STRING}});
  ExpectInvalid(
      "num_sparse (1) must match the size of sparse_keys (2) and sparse_types "
      "(1)");
}

TEST_F(ParsingOpsTest, RaggedFeaturesHaveASplitForEachExample) {
  const auto parsed = ops::ParseExampleV2(
      root_, Strings({7}), Tensor(DT_STRING, {0}), Tensor(DT_STRING, {0}),
      Tensor(DT_STRING, {0}), Tensor::Vector<std::string>({"tags"}), {},
      {.ragged_value_types = {DT_STRING}, .ragged_split_types = {DT_INT32}});
  ASSERT_OK(root_.status());
  ASSERT_EQ(parsed.ragged_values.size(), 1u);
  EXPECT_EQ(ShapeOf(parsed.ragged_values[0]), "[?]");
  EXPECT_EQ(parsed.ragged_values[0].dtype(), DT_STRING);
  EXPECT_EQ(ShapeOf(parsed.ragged_row_splits[0]), "[8]");
  EXPECT_EQ(parsed.ragged_row_splits[0].dtype(), DT_INT32);
}

TEST_F(ParsingOpsTest, ColumnsHaveTheTypesOfTheirDefaults) {
  const auto columns =
      ops::DecodeCSV(root_, Strings({7}),
                     {Tensor::Scalar(1.0f), Tensor(DT_INT32, {0}), "none"});
  ASSERT_OK(root_.status());
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[0].dtype(), DT_FLOAT);
  EXPECT_EQ(columns[1].dtype(), DT_INT32);
  EXPECT_EQ(columns[2].dtype(), DT_STRING);
  for (const Output& column : columns) EXPECT_EQ(ShapeOf(column), "[7]");
}

TEST_F(ParsingOpsTest, DefaultOfAColumnIsOneValue) {
  ops::DecodeCSV(root_, Strings({7}), {Tensor(DT_INT32, {2})});
  ExpectInvalid("Shape of a default must be a length-0 or length-1 vector");
}

}  // namespace
}  // namespace weft
