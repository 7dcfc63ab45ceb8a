// Ops on variables know the declared shape and type of their variable, also
// through branches and loops, and refuse values that do not fit.
#include "libs/ops/state/state_ops.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"

namespace weft {
namespace {

Output In(const Scope& scope, const PartialShape& shape,
          DataType dtype = DT_FLOAT) {
  return ops::Placeholder(scope, dtype, {.shape = shape});
}

class StateOpsTest : public testing::Test {
 protected:
  std::string ShapeOf(const Output& output) {
    EXPECT_OK(root_.status());
    return output ? output.shape().ToString() : "no output";
  }
  Output Ids(const PartialShape& shape) { return In(root_, shape, DT_INT32); }

  const Scope root_ = Scope::Root();
  const Output handle_ = ops::VarHandleOp(root_, DT_FLOAT, {5, 3});
  const Output ref_ = ops::VariableV2(root_, {5, 3}, DT_FLOAT);
};

// Builds a node that cannot be, on a resource or a reference of [5, 3].
struct Refused {
  std::function<void(const Scope&, const Output& handle, const Output& ref)>
      build;
  const char* says;
};

void ExpectRefused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    const Scope root = Scope::Root();
    c.build(root, ops::VarHandleOp(root, DT_FLOAT, {5, 3}),
            ops::VariableV2(root, {5, 3}, DT_FLOAT));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
  }
}

TEST_F(StateOpsTest, ReadsHaveTheDeclaredShape) {
  EXPECT_EQ(ShapeOf(ops::ReadVariableOp(root_, handle_, DT_FLOAT)), "[5,3]");
  EXPECT_EQ(ShapeOf(ops::RefIdentity(root_, ref_)), "[5,3]");
  EXPECT_EQ(ShapeOf(ops::VariableShape(root_, handle_)), "[2]");
  EXPECT_EQ(ops::VariableShape(root_, handle_, DT_INT64).dtype(), DT_INT64);
  EXPECT_EQ(ShapeOf(ops::VarIsInitializedOp(root_, handle_)), "[]");
}

TEST_F(StateOpsTest, HandlesKeepTheirShapeInBranchesAndLoops) {
  const Output pred = In(root_, TensorShape(), DT_BOOL);
  const Output in_branch = ops::Switch(root_, handle_, pred).output_true;
  EXPECT_EQ(ShapeOf(ops::ReadVariableOp(root_, in_branch, DT_FLOAT)), "[5,3]");
  const Output in_loop = ops::Enter(root_, ops::Identity(root_, handle_),
                                    "loop", {.is_constant = true});
  EXPECT_EQ(ShapeOf(ops::ReadVariableOp(root_, in_loop, DT_FLOAT)), "[5,3]");
}

TEST_F(StateOpsTest, HandleFromElsewhereIsUnknown) {
  const Output fed = In(root_, TensorShape(), DT_RESOURCE);
  EXPECT_EQ(ShapeOf(ops::ReadVariableOp(root_, fed, DT_FLOAT)), "<unknown>");
  EXPECT_EQ(ShapeOf(ops::VariableShape(root_, fed)), "[?]");
}

TEST_F(StateOpsTest, OtherTypeThanDeclaredIsRefused) {
  ExpectRefused({
      {[](const Scope& s, const Output& handle, const Output&) {
         ops::ReadVariableOp(s, handle, DT_DOUBLE);
       },
       "Trying to read variable with wrong dtype. Expected float got double"},
      {[](const Scope& s, const Output& handle, const Output&) {
         ops::ResourceGather(s, handle, In(s, {2}, DT_INT32), DT_INT32);
       },
       "Expected float got int32"},
      {[](const Scope& s, const Output& handle, const Output&) {
         ops::AssignVariableOp(s, handle, In(s, {5, 3}, DT_DOUBLE));
       },
       "Expected float got double"},
  });
}

TEST_F(StateOpsTest, AssignedValuesHaveTheShapeOfTheVariable) {
  EXPECT_EQ(ShapeOf(ops::Assign(root_, ref_, In(root_, {-1, 3}))), "[5,3]");
  EXPECT_EQ(ShapeOf(ops::AssignAdd(root_, ref_, In(root_, PartialShape()))),
            "[5,3]");
  // The value may replace the shape.
  EXPECT_EQ(ShapeOf(ops::Assign(root_, ref_, In(root_, {7}),
                                {.validate_shape = false})),
            "[7]");
  ExpectRefused({
      {[](const Scope& s, const Output&, const Output& ref) {
         ops::Assign(s, ref, In(s, {5, 4}));
       },
       "Shapes of inputs 0 and 1 must be equal, but are [5,3] and [5,4]"},
      {[](const Scope& s, const Output&, const Output& ref) {
         ops::AssignSub(s, ref, In(s, {5}));
       },
       "Shapes of inputs 0 and 1 must be equal, but are [5,3] and [5]"},
      {[](const Scope& s, const Output& handle, const Output&) {
         ops::AssignAddVariableOp(s, handle, In(s, {3, 5}));
       },
       "Shapes of inputs 0 and 1 must be equal, but are [5,3] and [3,5]"},
  });
}

TEST_F(StateOpsTest, GatheredRowsHaveTheShapeOfTheIndices) {
  EXPECT_EQ(ShapeOf(ops::ResourceGather(root_, handle_, Ids({2, 4}), DT_FLOAT)),
            "[2,4,3]");
  EXPECT_EQ(ShapeOf(ops::ResourceGather(root_, handle_, Ids({5}), DT_FLOAT,
                                        {.batch_dims = 1})),
            "[5]");
  ExpectRefused({{[](const Scope& s, const Output& handle, const Output&) {
                    ops::ResourceGather(s, handle, In(s, {5, 3}, DT_INT32),
                                        DT_FLOAT, {.batch_dims = 2});
                  },
                  "Shape must be at least rank 3 but is rank 2 for input 0"}});
}

TEST_F(StateOpsTest, ScatteredRowsFitTheVariable) {
  EXPECT_EQ(ShapeOf(ops::ScatterAdd(root_, ref_, Ids({4}), In(root_, {4, 3}))),
            "[5,3]");
  EXPECT_EQ(ShapeOf(ops::ScatterUpdate(root_, ref_, Ids({2, 2}),
                                       In(root_, {2, 2, 3}))),
            "[5,3]");
  // A scalar goes to all elements of the rows.
  EXPECT_EQ(ShapeOf(ops::ScatterMul(root_, ref_, Ids({4}), 2.0f)), "[5,3]");
  EXPECT_TRUE(
      ops::ResourceScatterMax(root_, handle_, Ids({4}), In(root_, {4, 3})));
  EXPECT_OK(root_.status());
  ExpectRefused({
      {[](const Scope& s, const Output&, const Output& ref) {
         ops::ScatterAdd(s, ref, In(s, {4}, DT_INT32), In(s, {4, 2}));
       },
       "Shapes of inputs 1 and 2 must be equal, but are [4,3] and [4,2]"},
      {[](const Scope& s, const Output& handle, const Output&) {
         ops::ResourceScatterSub(s, handle, In(s, {4}, DT_INT32),
                                 In(s, {3, 3}));
       },
       "Shapes of inputs 1 and 2 must be equal, but are [4,3] and [3,3]"},
  });
}

TEST_F(StateOpsTest, CountersAreScalars) {
  const Output counter = ops::VarHandleOp(root_, DT_INT64, TensorShape());
  EXPECT_EQ(ShapeOf(ops::ResourceCountUpTo(root_, counter, 10, DT_INT64)),
            "[]");
  const Output vector = ops::VariableV2(root_, {2}, DT_INT32);
  EXPECT_FALSE(ops::CountUpTo(root_, vector, 10));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "Shape must be rank 0 but is rank 1"));
}

TEST_F(StateOpsTest, VariablesAreSharedByNameAndContainer) {
  const Output shared = ops::VarHandleOp(
      root_, DT_FLOAT, {2}, {.container = "box", .shared_name = "weights"});
  ASSERT_OK(root_.status());
  EXPECT_EQ(*shared.node()->attr<std::string>("container"), "box");
  EXPECT_EQ(*shared.node()->attr<std::string>("shared_name"), "weights");
}

}  // namespace
}  // namespace weft
