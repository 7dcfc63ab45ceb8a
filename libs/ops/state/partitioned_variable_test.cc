#include "libs/ops/state/partitioned_variable.h"

#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/ops/state/partitioners.h"

namespace weft::ops {
namespace {

using testing::ElementsAre;

std::vector<TensorShape> PartShapes(const PartitionedVariable& variable) {
  std::vector<TensorShape> shapes;
  for (const Variable& part : variable.parts()) {
    shapes.push_back(part.shape().ToShape());
  }
  return shapes;
}

TEST(PartitionedVariableTest, LargerPartsComeFirst) {
  const Scope root = Scope::Root();
  const Scope scope =
      VariableScope(root, "e", {.partitioner = FixedSizePartitioner(3)});
  std::vector<Dims> offsets;
  const PartitionedVariable x = GetPartitionedVariable(
      scope, "x", {10, 2},
      {.initializer = [&](const Scope& at, const TensorShape& shape,
                          DataType dtype, const PartitionInfo* partition) {
        EXPECT_EQ(partition->full_shape, (TensorShape{10, 2}));
        offsets.push_back(partition->offset);
        return initializers::Zeros()(at, shape, dtype, partition);
      }});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_THAT(PartShapes(x), ElementsAre(TensorShape{4, 2}, TensorShape{3, 2},
                                         TensorShape{3, 2}));
  EXPECT_THAT(offsets, ElementsAre(Dims{0, 0}, Dims{4, 0}, Dims{7, 0}));
  EXPECT_EQ(x.parts()[2].name(), "e/x/part_2");
  EXPECT_EQ(x.offset(2), (Dims{7, 0}));
  const Output whole = x.AsTensor(root);
  EXPECT_EQ(whole.name(), "e/x/ConcatPartitions/concat:0");
  EXPECT_EQ(whole.shape(), (PartialShape{10, 2}));
}

TEST(PartitionedVariableTest, SplitsAGivenInitialValue) {
  const Scope root = Scope::Root();
  const PartitionedVariable x = GetPartitionedVariable(
      root, "x", {5},
      {.initial_value = Input({1.0f, 2.0f, 3.0f, 4.0f, 5.0f}),
       .partitioner = FixedSizePartitioner(2)});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_THAT(PartShapes(x), ElementsAre(TensorShape{3}, TensorShape{2}));
  EXPECT_EQ(x.parts()[1].initial_value().name(),
            "x/part_1/PartitionedInitializer/Slice:0");
}

TEST(PartitionedVariableTest, OnePartIsNumberedAndScalarIsNot) {
  const Scope root = Scope::Root();
  const GetVariableOptions options = {.partitioner = FixedSizePartitioner(1)};
  EXPECT_EQ(GetPartitionedVariable(root, "x", {4}, options).parts()[0].name(),
            "x/part_0");
  const PartitionedVariable scalar =
      GetPartitionedVariable(root, "s", TensorShape(), options);
  EXPECT_FALSE(scalar.is_partitioned());
  EXPECT_EQ(scalar.parts()[0].name(), "s");
  EXPECT_THAT(root.status(), IsOk());
}

TEST(PartitionedVariableTest, IsSharedByName) {
  const Scope root = Scope::Root();
  const Scope scope = VariableScope(root, "e", {.reuse = kAutoReuse});
  const auto get = [&](int parts) {
    return GetPartitionedVariable(scope, "x", {10},
                                  {.partitioner = FixedSizePartitioner(parts)});
  };
  EXPECT_EQ(get(3).parts(), get(3).parts());
  ASSERT_THAT(root.status(), IsOk());
  get(2);
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid,
                       "Partitioner returned a different "
                       "partitioning than what was already found."));
}

TEST(PartitionedVariableTest, RefusesToMixWholeAndParts) {
  const Scope root = Scope::Root();
  GetPartitionedVariable(root, "x", {4},
                         {.partitioner = FixedSizePartitioner(2)});
  GetVariable(root, "x", {4});
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "partitioned version"));
  const Scope other = Scope::Root();
  GetVariable(other, "x", {4});
  GetPartitionedVariable(other, "x", {4},
                         {.partitioner = FixedSizePartitioner(2)});
  EXPECT_THAT(other.status(), StatusIs(kInvalid, "unpartitioned version"));
  const Scope third = Scope::Root();
  GetVariable(third, "x", {4}, {.partitioner = FixedSizePartitioner(2)});
  EXPECT_THAT(third.status(), StatusIs(kInvalid, "GetPartitionedVariable"));
}

TEST(PartitionedVariableTest, InvalidPartitionsAreRejected) {
  for (const std::vector<int>& partitions :
       std::vector<std::vector<int>>{{2}, {2, 2}, {0, 1}, {5, 1}}) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(GetPartitionedVariable(
        root, "x", {4, 4}, {.partitioner = [&](const TensorShape&, DataType) {
          return partitions;
        }}));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, "x"));
  }
}

}  // namespace
}  // namespace weft::ops
