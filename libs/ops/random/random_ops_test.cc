// The shapes and seeds of random ops.
#include "libs/ops/random/random_ops.h"

#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

Output In(const Scope& scope, const PartialShape& shape,
          DataType dtype = DT_FLOAT) {
  return ops::Placeholder(scope, dtype, {.shape = shape});
}

TEST(RandomOpsTest, ShapesFollowFromTheShapeInput) {
  const Scope root = Scope::Root();
  EXPECT_EQ(ops::RandomNormal(root, {2, 3}, DT_FLOAT).shape(),
            (PartialShape{2, 3}));
  EXPECT_EQ(
      ops::RandomUniform(root, In(root, {2}, DT_INT32), DT_DOUBLE).shape(),
      (PartialShape{-1, -1}));
  EXPECT_EQ(ops::RandomShuffle(root, In(root, {4, 5})).shape(),
            (PartialShape{4, 5}));
  EXPECT_EQ(ops::Multinomial(root, In(root, {4, 5}), 7).shape(),
            (PartialShape{4, 7}));
  EXPECT_OK(root.status());
}

TEST(RandomOpsTest, OpsOfAGraphHaveDifferentSeeds) {
  const Scope root = Scope::Root();
  root.SetGraphSeed(5);
  const Output a = ops::RandomNormal(root, {2}, DT_FLOAT);
  const Output b = ops::RandomNormal(root, {2}, DT_FLOAT);
  ASSERT_OK(root.status());
  EXPECT_EQ(*a.node()->attr<int64_t>("seed"), 5);
  EXPECT_NE(*a.node()->attr<int64_t>("seed2"),
            *b.node()->attr<int64_t>("seed2"));
}

}  // namespace
}  // namespace weft
