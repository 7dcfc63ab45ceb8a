// Optimizer ops know the shapes of their variables, and refuse slots, gradients
// and numbers that do not fit.
#include "libs/ops/training/training_ops.h"

#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

Output In(const Scope& scope, const PartialShape& shape,
          DataType dtype = DT_FLOAT) {
  return ops::Placeholder(scope, dtype, {.shape = shape});
}

// A reference variable.
Output Reference(const Scope& scope, const PartialShape& shape) {
  return scope.AddOutput("VariableV2", {},
                         {{"dtype", DT_FLOAT}, {"shape", shape}});
}
Output Handle(const Scope& scope, const PartialShape& shape) {
  return scope.AddOutput("VarHandleOp", {},
                         {{"dtype", DT_FLOAT}, {"shape", shape}});
}

TEST(TrainingOpsTest, ReferenceOpsReturnTheVariable) {
  const Scope root = Scope::Root();
  const Output var = Reference(root, {2, 3});
  const Output after = root.AddOutput(
      "ApplyMomentum",
      {var, Reference(root, {2, 3}), 0.1f, In(root, {2, 3}), 0.9f},
      {{"use_nesterov", true}});
  ASSERT_OK(root.status());
  EXPECT_EQ(after.shape(), (PartialShape{2, 3}));
  EXPECT_TRUE(IsRefType(after.dtype()));
  EXPECT_TRUE(*after.node()->attr<bool>("use_nesterov"));
}

TEST(TrainingOpsTest, ResourceOpsHaveNoOutput) {
  const Scope root = Scope::Root();
  const Node* node =
      root.AddNode("ResourceApplyGradientDescent",
                   {Handle(root, {2, 3}), 0.1f, In(root, {2, 3})});
  ASSERT_OK(root.status());
  EXPECT_EQ(node->num_outputs(), 0);
  EXPECT_TRUE(node->op().is_stateful);
}

TEST(TrainingOpsTest, GradientMustHaveTheShapeOfTheVariable) {
  for (const bool resource : {false, true}) {
    const Scope root = Scope::Root();
    const Output var =
        resource ? Handle(root, {2, 3}) : Reference(root, {2, 3});
    root.AddNode(
        resource ? "ResourceApplyGradientDescent" : "ApplyGradientDescent",
        {var, 0.1f, In(root, {3, 2})});
    EXPECT_THAT(root.status(),
                StatusIs(kInvalid,
                         "Shapes of inputs 0 and 2 must be equal, but are "
                         "[2,3] and [3,2]"))
        << resource;
  }
}

TEST(TrainingOpsTest, SlotMustHaveTheShapeOfTheVariable) {
  const Scope root = Scope::Root();
  root.AddNode(
      "ResourceApplyAdagrad",
      {Handle(root, {2, 3}), Handle(root, {2, 4}), 0.1f, In(root, {2, 3})});
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid,
                       "Shapes of inputs 0 and 1 must be equal, but are [2,3] "
                       "and [2,4]"));
}

TEST(TrainingOpsTest, LearningRateMustBeAScalar) {
  const Scope root = Scope::Root();
  root.AddNode("ResourceApplyGradientDescent",
               {Handle(root, {2}), In(root, {1}), In(root, {2})});
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "rank 0"));
}

TEST(TrainingOpsTest, SparseGradientHasRowsOfTheVariable) {
  const auto apply = [](const PartialShape& grad) {
    const Scope root = Scope::Root();
    root.AddNode("ResourceSparseApplyAdagrad",
                 {Handle(root, {9, 3}), Handle(root, {9, 3}), 0.1f,
                  In(root, grad), In(root, {4}, DT_INT32)});
    return root.status();
  };
  EXPECT_OK(apply({4, 3}));
  EXPECT_OK(apply({-1, 3}));
  EXPECT_THAT(apply({4, 2}),
              StatusIs(kInvalid,
                       "Shapes of inputs 0 and 3 must be equal, but are [?,3] "
                       "and [4,2]"));
}

}  // namespace
}  // namespace weft
