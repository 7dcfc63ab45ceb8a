// Tests builders of loops and branches: malformed ones are reported by name;
// valid ones have TensorFlow's nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/graph/frame_analysis.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/cond.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/control/map_fn.h"
#include "libs/ops/control/while_loop.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

using Values = std::vector<Output>;

class ControlFlowBuildersTest : public testing::Test {
 protected:
  Output In(const char* name, DataType dtype = DT_FLOAT,
            PartialShape shape = {2}) {
    return ops::Placeholder(root_.WithName(name), dtype, {.shape = shape});
  }
  // Returns a loop that counts to 5 and also applies `next`, starting from
  // `begin`.
  Values Loop(const Input& begin,
              const std::function<Values(const Scope&, const Output&)>& next,
              const ops::WhileLoopOptions& attrs = {}) {
    return ops::WhileLoop(
        root_.WithName("loop"), {0, begin},
        [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5); },
        [&](const Scope& s, const Values& v) {
          Values result = next(s, v[1]);
          result.insert(result.begin(), ops::Add(s, v[0], 1));
          return result;
        },
        attrs);
  }
  // Checks that each node takes its inputs from a single frame.
  void ExpectFramesFit() {
    ASSERT_OK(root_.status());
    std::vector<bool> everywhere;
    for (const Node* node : root_.graph().nodes()) {
      everywhere.push_back(IsFreeConstant(*node));
    }
    EXPECT_OK(AnalyzeFrames(root_.graph(), everywhere));
  }
  const Node* Find(const char* name) { return root_.graph().FindNode(name); }

  const Scope root_ = Scope::Root();
};

TEST_F(ControlFlowBuildersTest, LoopHasTensorFlowsNodes) {
  const Output x = In("x"), w = In("w");
  const Values last = Loop(x, [&](const Scope& s, const Output& v) {
    return Values{ops::Mul(s, v, w)};
  });
  ExpectFramesFit();
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[1].name(), "loop/Exit_1:0");
  EXPECT_EQ(last[1].shape(), PartialShape({2}));
  for (const char* name :
       {"loop/Enter", "loop/Merge", "loop/Less", "loop/LoopCond", "loop/Switch",
        "loop/Identity", "loop/Mul", "loop/NextIteration", "loop/Exit"}) {
    EXPECT_NE(Find(name), nullptr) << name;
  }
  // A value from outside enters the loop once, for all iterations.
  const Node* captured = Find("loop/Mul")->input(1).node;
  EXPECT_TRUE(IsConstantEnter(*captured));
  EXPECT_EQ(captured->input(0).node, w.node());
}

TEST_F(ControlFlowBuildersTest, NodeWithoutInputsWaitsForItsIteration) {
  Output drawn;
  Loop(In("x"), [&](const Scope& s, const Output& v) {
    drawn = s.AddOutput("RandomUniform", {Tensor::Vector({2})},
                        {{"dtype", DT_FLOAT}});
    return Values{ops::Add(s, v, drawn)};
  });
  ExpectFramesFit();
  ASSERT_EQ(drawn.node()->control_inputs().size(), 1u);
  EXPECT_EQ(drawn.node()->control_inputs()[0]->name(), "loop/Identity");
}

// A loop in a branch in a loop, with a control dependency on a node outside.
TEST_F(ControlFlowBuildersTest, ValuesEnterThroughEachNestedContext) {
  const Output w = In("w"), p = In("p", DT_BOOL, PartialShape::Scalar());
  const Operation outside = root_.AddNode("NoOp", {});
  Loop(In("x"), [&](const Scope& s, const Output& v) {
    return ops::Cond(
        s, p,
        [&](const Scope& t) {
          const Values inner = ops::WhileLoop(
              t, {v},
              [&](const Scope& u, const Values& a) {
                return ops::Less(u, ops::Sum(u, a[0], {0}), 9.0f);
              },
              [&](const Scope& u, const Values& a) {
                return Values{
                    ops::Mul(u.WithControlDependencies({outside}), a[0], w)};
              });
          return inner;
        },
        [&](const Scope&) { return Values{w}; });
  });
  ExpectFramesFit();
}

TEST_F(ControlFlowBuildersTest, VariablesAreCreatedOutsideLoops) {
  ops::Variable variable;
  Loop(In("x"), [&](const Scope& s, const Output& v) {
    variable = ops::Variable(s.WithName("v"), Tensor::Vector({1.0f, 2.0f}));
    return Values{ops::Mul(s, v, variable)};
  });
  ExpectFramesFit();
  EXPECT_TRUE(variable.handle().node()->control_inputs().empty());
  EXPECT_TRUE(variable.initializer().node()->control_inputs().empty());
}

TEST_F(ControlFlowBuildersTest, MismatchedBodyIsRejected) {
  const struct {
    std::function<Values(const Scope&, const Output&)> next;
    const char* says;
  } cases[] = {
      {[](const Scope&, const Output&) { return Values{}; },
       "WhileLoop 'loop': the body returns 1 values for 2 loop variables"},
      {[](const Scope& s, const Output& v) {
         return Values{ops::Cast(s, v, DT_DOUBLE)};
       },
       "loop variable 1 ('x:0') is float, but the body returns 'loop/Cast:0', "
       "double"},
      {[](const Scope& s, const Output& v) {
         return Values{ops::Concat(s, {v, v}, 0)};
       },
       "Input tensor 'x:0' enters the loop with shape [2], but has shape [4] "
       "after one iteration. To allow the shape to vary across iterations, use "
       "`shape_invariants`"},
      {[](const Scope&, const Output&) { return Values{Output()}; },
       "value 1 of the body is missing"},
  };
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const Output x =
        ops::Placeholder(root.WithName("x"), DT_FLOAT, {.shape = {2}});
    const Values last = ops::WhileLoop(
        root.WithName("loop"), {0, x},
        [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5); },
        [&](const Scope& s, const Values& v) {
          Values result = c.next(s, v[1]);
          result.insert(result.begin(), ops::Add(s, v[0], 1));
          return result;
        });
    EXPECT_TRUE(last.empty());
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
  }
}

TEST_F(ControlFlowBuildersTest, ShapeInvariantsAllowChangingShapes) {
  const auto twice = [](const Scope& s, const Output& v) {
    return Values{ops::Concat(s, {v, v}, 0)};
  };
  const Values last = Loop(
      In("x"), twice, {.shape_invariants = {PartialShape::Scalar(), {-1}}});
  ASSERT_OK(root_.status());
  EXPECT_EQ(last[1].shape(), PartialShape({-1}));
}

TEST_F(ControlFlowBuildersTest, InvalidInitialInvariantIsRejected) {
  Loop(In("x"), [](const Scope&, const Output& v) { return Values{v}; },
       {.shape_invariants = {PartialShape::Scalar(), {3}}});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "The shape invariant specified for x:0 is not "
                       "compatible with the initial shape"));
}

TEST_F(ControlFlowBuildersTest, MismatchedBranchesAreRejected) {
  const struct {
    Values if_true, if_false;
    const char* says;
  } cases[] = {
      {{In("a")},
       {},
       "must return the same number of values, at least one, "
       "but they return 1 and 0"},
      {{}, {}, "at least one, but they return 0 and 0"},
      {{In("b")},
       {In("c", DT_INT32)},
       "must have the same type, but value 0 is "
       "float and int32"},
      {{In("d")}, {Output()}, "value 0 of false_fn is missing"},
  };
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const auto give = [&](const Values& values) {
      return [values](const Scope& s) {
        Values result;
        for (const Output& value : values) {
          if (!value) {
            result.push_back(value);
          } else {
            result.push_back(
                ops::Placeholder(s, value.dtype(), {.shape = {2}}));
          }
        }
        return result;
      };
    };
    const Values y = ops::Cond(root.WithName("c"), Tensor::Scalar(true),
                               give(c.if_true), give(c.if_false));
    EXPECT_TRUE(y.empty());
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, "Cond 'c'"));
  }
}

TEST_F(ControlFlowBuildersTest, NonBoolPredicateIsRejected) {
  ops::Cond(
      root_, In("x"), [&](const Scope&) { return Values{In("a")}; },
      [&](const Scope&) { return Values{In("b")}; });
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "pred must be a bool scalar, but 'x:0' is "
                       "float of shape [2]"));
}

TEST_F(ControlFlowBuildersTest, MapOverAScalarIsRejected) {
  ops::MapFn(root_, [](const Scope&, const Values& e) { return e; },
             {In("x", DT_FLOAT, PartialShape::Scalar())});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "'x:0' is a scalar"));
}

}  // namespace
}  // namespace weft
