#include "libs/gradients/loops/frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/cond.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/control/while_loop.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Values = std::vector<Output>;

class FramesTest : public testing::Test {
 protected:
  Output In(const char* name, DataType dtype = DT_FLOAT) {
    return ops::Placeholder(root_.WithName(name), dtype,
                            {.shape = TensorShape()});
  }
  // Updates first: nodes may have been added.
  std::optional<Conditions> ConditionsOf(const Output& output) {
    EXPECT_THAT(frames_.Update(), IsOk());
    return frames_.ConditionsOf(output.output_tensor());
  }

  const Scope root_ = Scope::Root();
  Frames frames_{root_.graph()};
};

TEST_F(FramesTest, NestedLoopsHaveTheirOwnFrames) {
  const Output x = In("x");
  Output outer, inner;
  const Values last = ops::WhileLoop(
      root_.WithName("outer"), {x},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 9.0f); },
      [&](const Scope& s, const Values& v) {
        outer = ops::Exp(s, v[0]);
        return ops::WhileLoop(
            s.WithName("inner"), {outer},
            [](const Scope& t, const Values& u) {
              return ops::Less(t, u[0], 5.0f);
            },
            [&](const Scope& t, const Values& u) {
              inner = ops::Square(t, u[0]);
              return Values{inner};
            });
      });
  ASSERT_THAT(root_.status(), IsOk());
  ASSERT_THAT(frames_.Update(), IsOk());
  ASSERT_EQ(frames_.num_frames(), 3);
  const int of_outer = frames_.RunsIn(*outer.node());
  const int of_inner = frames_.RunsIn(*inner.node());
  EXPECT_EQ(frames_.RunsIn(*x.node()), 0);
  EXPECT_NE(of_outer, of_inner);
  EXPECT_EQ(frames_.Parent(of_inner), of_outer);
  EXPECT_EQ(frames_.Parent(of_outer), 0);
  EXPECT_TRUE(frames_.IsWithin(of_inner, of_outer));
  EXPECT_TRUE(frames_.IsWithin(of_inner, 0));
  EXPECT_FALSE(frames_.IsWithin(of_outer, of_inner));
  // An Exit runs in the loop, and its value is outside.
  EXPECT_EQ(frames_.RunsIn(*last[0].node()), of_outer);
  EXPECT_EQ(frames_.OutputsTo(*last[0].node()), 0);
  EXPECT_EQ(frames_.LoopOf(*last[0].node()), of_outer);
}

TEST_F(FramesTest, PartsOfALoopAreFound) {
  const Output x = In("x"), w = In("w");
  const Values last = ops::WhileLoop(
      root_.WithName("loop"), {0, x},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5); },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), ops::Mul(s, v[1], w)};
      },
      {.parallel_iterations = 4});
  ASSERT_THAT(root_.status(), IsOk());
  ASSERT_THAT(frames_.Update(), IsOk());
  ASSERT_OK_AND_ASSIGN(const LoopParts parts,
                       frames_.PartsOf(frames_.LoopOf(*last[1].node())));
  EXPECT_EQ(parts.parallel_iterations, 4);
  ASSERT_EQ(parts.variables.size(), 2u);
  EXPECT_EQ(parts.variables[1].enter->input(0).node, x.node());
  EXPECT_EQ(parts.variables[1].exits, (std::vector{last[1].node()}));
  EXPECT_EQ(parts.variables[1].merge->input(1).node,
            parts.variables[1].next_iteration);
  ASSERT_EQ(parts.invariants.size(), 1u);
  EXPECT_EQ(parts.invariants[0]->input(0).node, w.node());
  EXPECT_EQ(parts.loop_cond->type(), "LoopCond");
}

TEST_F(FramesTest, ValuesOfBranchesHaveTheirConditions) {
  const Output pred = In("pred", DT_BOOL), x = In("x");
  Output on_true, on_false;
  const Values y = ops::Cond(
      root_, pred,
      [&](const Scope& s) {
        on_true = ops::Exp(s, x);
        return Values{on_true};
      },
      [&](const Scope& s) {
        on_false = ops::Neg(s, x);
        return Values{on_false};
      });
  ASSERT_THAT(root_.status(), IsOk());
  const Branch taken = {pred.output_tensor(), 1};
  const Branch not_taken = {pred.output_tensor(), 0};
  EXPECT_EQ(ConditionsOf(on_true), Conditions{taken});
  EXPECT_EQ(ConditionsOf(on_false), Conditions{not_taken});
  // One of both runs.
  EXPECT_EQ(ConditionsOf(y[0]), Conditions());
  EXPECT_EQ(ConditionsOf(x), Conditions());
}

TEST_F(FramesTest, NestedBranchesNeedBothConditions) {
  const Output p = In("p", DT_BOOL), q = In("q", DT_BOOL), x = In("x");
  Output inside;
  const Values y = ops::Cond(
      root_, p,
      [&](const Scope& s) {
        return ops::Cond(
            s, q,
            [&](const Scope& t) {
              inside = ops::Exp(t, x);
              return Values{inside};
            },
            [&](const Scope&) { return Values{x}; });
      },
      [&](const Scope&) { return Values{x}; });
  ASSERT_THAT(root_.status(), IsOk());
  const std::optional<Conditions> conditions = ConditionsOf(inside);
  ASSERT_TRUE(conditions.has_value());
  EXPECT_EQ(conditions->size(), 2u);
  EXPECT_EQ(ConditionsOf(y[0]), Conditions());
}

// A Merge of values that do not exclude each other.
TEST_F(FramesTest, UnrelatedBranchesHaveNoCommonCondition) {
  const Output p = In("p", DT_BOOL), q = In("q", DT_BOOL), x = In("x");
  const Output of_p = ops::Switch(root_, x, p).output_true;
  const Output of_q = ops::Switch(root_, x, q).output_true;
  const Output merged = ops::Merge(root_, {of_p, of_q}).output;
  ASSERT_THAT(root_.status(), IsOk());
  EXPECT_EQ(ConditionsOf(merged), std::nullopt);
  EXPECT_EQ(ConditionsOf(ops::Neg(root_, merged)), std::nullopt);
}

TEST_F(FramesTest, OpenLoopIsRejected) {
  const Output enter = ops::Enter(root_, In("x"), "loop");
  const Output merge = ops::LoopMerge(root_.WithName("head"), enter).output;
  ASSERT_THAT(frames_.Update(), IsOk());
  EXPECT_THAT(frames_.PartsOf(frames_.RunsIn(*merge.node())),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "node 'head' (op type: Merge) is not closed yet"));
}

TEST_F(FramesTest, LoopWithoutAConditionIsRejected) {
  const Output enter = ops::Enter(root_, In("x"), "loop");
  const Output y = ops::Neg(root_, enter);
  ASSERT_THAT(frames_.Update(), IsOk());
  EXPECT_THAT(frames_.PartsOf(frames_.RunsIn(*y.node())),
              StatusIs(kInvalid, "loop 'loop' has no LoopCond"));
}

TEST_F(FramesTest, IdentitiesAreLookedThrough) {
  const Output x = In("x");
  const Output y = ops::Identity(root_, ops::Identity(root_, x));
  EXPECT_EQ(WithoutIdentities(y.output_tensor()), x.output_tensor());
  const Output z = ops::Neg(root_, y);
  EXPECT_EQ(WithoutIdentities(z.output_tensor()), z.output_tensor());
}

}  // namespace
}  // namespace weft
