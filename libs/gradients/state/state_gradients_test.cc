// Gradients of reads of variables: the rows that were read, and no tensor of
// the variable's size.
#include <gtest/gtest.h>

#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

class StateGradientsTest : public testing::Test {
 protected:
  Gradient Of(const Output& y, const Output& x) {
    EXPECT_THAT(root_.status(), IsOk());
    const auto gradients = AddGradients(root_, {y}, {x});
    EXPECT_THAT(gradients, IsOk());
    return gradients.ok() ? (*gradients)[0] : Gradient();
  }

  const Scope root_ = Scope::Root();
  const Output ids_ = ops::Placeholder(root_, DT_INT32, {.shape = {4}});
};

TEST_F(StateGradientsTest, ReadRowsHaveASparseGradient) {
  const ops::Variable table(root_.WithName("table"), Tensor(DT_FLOAT, {50, 2}));
  const Gradient gradient = Of(table.SparseRead(root_, ids_), table);
  ASSERT_TRUE(gradient.IsSparse());
  EXPECT_EQ(gradient.values.shape(), (PartialShape{4, 2}));
  EXPECT_EQ(gradient.indices.node(), ids_.node());
  // The declared shape: nothing is read from the variable's device.
  EXPECT_EQ(gradient.dense_shape.node()->type(), "Const");
}

TEST_F(StateGradientsTest, DistinctIndicesStayDistinct) {
  const ops::Variable table(root_, Tensor(DT_FLOAT, {50, 2}));
  EXPECT_TRUE(
      Of(table.SparseRead(root_, ids_, {.distinct_indices = true}), table)
          .is_distinct);
  EXPECT_FALSE(Of(table.SparseRead(root_, ids_), table).is_distinct);
}

// Rows of two reads may be the same.
TEST_F(StateGradientsTest, JoinedReadsAreNotDistinct) {
  const ops::Variable table(root_, Tensor(DT_FLOAT, {50, 2}));
  const auto read = [&] {
    return table.SparseRead(root_, ids_, {.distinct_indices = true});
  };
  const Gradient gradient = Of(ops::Mul(root_, read(), read()), table);
  ASSERT_TRUE(gradient.IsSparse());
  EXPECT_EQ(gradient.values.shape(), (PartialShape{8, 2}));
  EXPECT_FALSE(gradient.is_distinct);
}

TEST_F(StateGradientsTest, SparseAndDenseReadsAdd) {
  const ops::Variable table(root_, Tensor(DT_FLOAT, {50, 2}));
  const Output rows = ops::Sum(root_, table.SparseRead(root_, ids_), {0});
  const Output all = ops::Sum(root_, table, {0});
  const Gradient gradient = Of(ops::Add(root_, rows, all), table);
  ASSERT_FALSE(gradient.IsSparse());
  EXPECT_EQ(gradient.dense.node()->type(), "AddN");
}

TEST_F(StateGradientsTest, ReferenceVariableGathersFromItsValue) {
  const ops::Variable table(root_, Tensor(DT_FLOAT, {50, 2}),
                            {.use_resource = false});
  const Gradient gradient = Of(table.SparseRead(root_, ids_), table);
  ASSERT_TRUE(gradient.IsSparse());
  EXPECT_EQ(gradient.indices.node(), ids_.node());
}

TEST_F(StateGradientsTest, UndeclaredShapeIsAskedOfTheVariable) {
  const Output handle = root_.WithDevice("/cpu:1").AddOutput(
      "VarHandleOp", {}, {{"dtype", DT_FLOAT}, {"shape", PartialShape()}});
  const Output rows =
      root_.AddOutput("ResourceGather", {handle, ids_}, {{"dtype", DT_FLOAT}});
  const Gradient gradient = Of(rows, handle);
  ASSERT_TRUE(gradient.IsSparse());
  EXPECT_EQ(gradient.dense_shape.node()->type(), "VariableShape");
  EXPECT_EQ(gradient.dense_shape.node()->requested_device(), "/device:CPU:1");
}

TEST_F(StateGradientsTest, BatchesOfGathersNameTheAlternative) {
  const ops::Variable table(root_, Tensor(DT_FLOAT, {4, 2}));
  const Output rows = root_.WithName("rows").AddOutput(
      "ResourceGather", {table.handle(), ids_},
      {{"dtype", DT_FLOAT}, {"batch_dims", 1}});
  ASSERT_THAT(root_.status(), IsOk());
  EXPECT_THAT(AddGradients(root_, {rows}, {table}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "the gradient of rows (ResourceGather) with batch_dims "
                       "is not supported; gather from the value read instead"));
}

// An assignment replaces the value, so nothing flows through it.
TEST_F(StateGradientsTest, AssignedValuesHaveNone) {
  const ops::Variable w(root_, Tensor(DT_FLOAT, {2}), {.use_resource = false});
  const Output x = ops::Placeholder(root_, DT_FLOAT, {.shape = {2}});
  const Output assigned = ops::Assign(root_, w, ops::Neg(root_, x));
  EXPECT_TRUE(Of(ops::Square(root_, assigned), x).IsNone());
}

}  // namespace
}  // namespace weft
