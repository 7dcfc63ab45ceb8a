// The backward loop that AddGradients adds to a loop: its form, the values that
// it keeps, and the loops that it rejects. Values are tested with the kernels.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/graph/frame_analysis.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/cond.h"
#include "libs/ops/control/while_loop.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

using Values = std::vector<Output>;

class GradientLoopTest : public testing::Test {
 protected:
  using Step = std::function<Output(const Scope&, const Output&)>;

  Output In(const char* name, PartialShape shape = {3}) {
    return ops::Placeholder(root_.WithName(name), DT_FLOAT, {.shape = shape});
  }
  // Five times v = step(v), from `begin`.
  Output Repeat(const Scope& scope, const Output& begin, const Step& step,
                const ops::WhileLoopOptions& options = {}) {
    const Values last = ops::WhileLoop(
        scope, {0, begin},
        [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5); },
        [&](const Scope& s, const Values& v) {
          return Values{ops::Add(s, v[0], 1), step(s, v[1])};
        },
        options);
    return last.empty() ? Output() : last[1];
  }
  // The gradient of y; null after an error.
  Output Of(const Output& y, const Output& x) {
    EXPECT_THAT(root_.status(), IsOk());
    const auto gradients = AddGradients(root_, {y}, {x});
    EXPECT_THAT(gradients, IsOk());
    return gradients.ok() ? (*gradients)[0].dense : Output();
  }
  std::vector<const Node*> NodesOf(const std::string& type) {
    std::vector<const Node*> nodes;
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() == type) nodes.push_back(node);
    }
    return nodes;
  }
  // Each node takes its inputs from one frame, and each loop ends.
  void ExpectFramesFit() {
    ASSERT_THAT(root_.status(), IsOk());
    std::vector<bool> everywhere;
    for (const Node* node : root_.graph().nodes()) {
      everywhere.push_back(IsFreeConstant(*node));
      for (const OutputTensor& input : node->inputs()) {
        EXPECT_NE(input.node, nullptr) << node->name() << " is open";
      }
    }
    EXPECT_THAT(AnalyzeFrames(root_.graph(), everywhere), IsOk());
  }

  const Scope root_ = Scope::Root();
};

TEST_F(GradientLoopTest, BackwardLoopCountsDownFromTheForwardOne) {
  const Output x = In("x");
  const Output y =
      Repeat(root_.WithName("loop"), x,
             [](const Scope& s, const Output& v) { return ops::Tanh(s, v); });
  const Output grad = Of(y, x);
  ExpectFramesFit();
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->type(), "Exit");
  EXPECT_EQ(grad.shape(), (PartialShape{3}));
  EXPECT_EQ(NodesOf("LoopCond").size(), 2u);
  const Node* counter = root_.graph().FindNode("gradients/b_count");
  ASSERT_NE(counter, nullptr);
  // The count of the forward iterations leaves the forward loop.
  EXPECT_EQ(counter->input(0).node->type(), "Exit");
  const std::string& frame = *counter->attr<std::string>("frame_name");
  EXPECT_EQ(frame.rfind("gradients/loop", 0), 0u) << frame;
}

TEST_F(GradientLoopTest, LinearBodiesKeepNoValues) {
  const Output x = In("x"), w = In("w");
  const Output y = Repeat(root_, x, [&](const Scope& s, const Output& v) {
    return ops::Add(s, ops::Neg(s, v), w);
  });
  EXPECT_TRUE(Of(y, x));
  ExpectFramesFit();
  EXPECT_TRUE(NodesOf("StackV2").empty());
}

TEST_F(GradientLoopTest, NeededValuesAreKeptOnce) {
  const Output x = In("x");
  const Output y = Repeat(root_, x, [](const Scope& s, const Output& v) {
    const Output twice = ops::Tanh(s, v);
    return ops::Add(s, ops::Square(s, twice), ops::Exp(s, twice));
  });
  EXPECT_TRUE(Of(y, x));
  ExpectFramesFit();
  // Tanh and Exp are kept; the Square uses the same Tanh.
  EXPECT_EQ(NodesOf("StackPushV2").size(), 2u);
  EXPECT_EQ(NodesOf("StackPopV2").size(), 2u);
}

TEST_F(GradientLoopTest, InvariantsAreTakenFromOutside) {
  const Output x = In("x"), w = In("w");
  const Output y = Repeat(root_, x, [&](const Scope& s, const Output& v) {
    return ops::Mul(s, v, w);
  });
  EXPECT_TRUE(Of(y, x));
  ExpectFramesFit();
  for (const Node* push : NodesOf("StackPushV2")) {
    // Only v, the loop variable.
    EXPECT_EQ(push->input(1).node->type(), "Identity");
  }
  bool enters = false;
  for (const Node* enter : NodesOf("Enter")) {
    enters |=
        enter->input(0).node == w.node() &&
        enter->attr<std::string>("frame_name")->rfind("gradients/", 0) == 0;
  }
  EXPECT_TRUE(enters);
}

TEST_F(GradientLoopTest, GradientsOfInvariantsAreAccumulated) {
  const Output x = In("x"), w = In("w");
  const Output y = Repeat(root_, x, [&](const Scope& s, const Output& v) {
    return ops::Mul(s, v, w);
  });
  const Output grad = Of(y, w);
  ExpectFramesFit();
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->type(), "Exit");
  EXPECT_EQ(grad.shape(), (PartialShape{3}));
  bool accumulates = false;
  for (const Node* sum : NodesOf("AddV2")) {
    accumulates |= sum->name().find("b_acc") != std::string::npos;
  }
  EXPECT_TRUE(accumulates);
}

// Only the sizes go on the stack, not the tensor.
TEST_F(GradientLoopTest, ShapesAreKeptInsteadOfTensors) {
  const Output x = In("x", {-1});
  const Output y = Repeat(root_, x, [](const Scope& s, const Output& v) {
    return ops::Add(s, v, ops::Sum(s, v, {0}));
  });
  EXPECT_TRUE(Of(y, x));
  ExpectFramesFit();
  EXPECT_FALSE(NodesOf("StackPushV2").empty());
  for (const Node* push : NodesOf("StackPushV2")) {
    EXPECT_EQ(Output(push->input(1)).dtype(), DT_INT32) << push->name();
  }
}

TEST_F(GradientLoopTest, BackwardLoopIsAsParallelAsTheForwardOne) {
  const Output x = In("x");
  const Output y = Repeat(
      root_, x, [](const Scope& s, const Output& v) { return ops::Exp(s, v); },
      {.parallel_iterations = 3});
  EXPECT_TRUE(Of(y, x));
  for (const Node* enter : NodesOf("Enter")) {
    EXPECT_EQ(*enter->attr<int64_t>("parallel_iterations"), 3) << enter->name();
  }
}

TEST_F(GradientLoopTest, GatheredRowsOfAllIterationsAreJoined) {
  const Output x = In("x", {2}), table = In("table", {100, 2});
  const Output ids = ops::Placeholder(root_, DT_INT32, {.shape = {4}});
  const Output y = Repeat(root_, x, [&](const Scope& s, const Output& v) {
    return ops::Add(s, v, ops::Sum(s, ops::Gather(s, table, ids), {0}));
  });
  ASSERT_THAT(root_.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root_, {y}, {table}));
  ExpectFramesFit();
  ASSERT_TRUE(gradients[0].IsSparse());
  EXPECT_EQ(gradients[0].values.node()->type(), "TensorArrayConcatV3");
  EXPECT_EQ(gradients[0].indices.node()->type(), "TensorArrayConcatV3");
  EXPECT_EQ(gradients[0].indices.dtype(), DT_INT32);
}

TEST_F(GradientLoopTest, BranchesAndLoopsInLoopsFit) {
  const Output x = In("x"), w = In("w");
  const Output pred =
      ops::Placeholder(root_, DT_BOOL, {.shape = TensorShape()});
  const Output y = Repeat(root_, x, [&](const Scope& s, const Output& v) {
    const Values chosen = ops::Cond(
        s, pred, [&](const Scope& t) { return Values{ops::Tanh(t, v)}; },
        [&](const Scope& t) {
          return Values{Repeat(t, v, [&](const Scope& u, const Output& a) {
            return ops::Mul(u, ops::Sin(u, a), w);
          })};
        });
    return chosen.empty() ? Output() : chosen[0];
  });
  EXPECT_TRUE(Of(y, x));
  EXPECT_TRUE(Of(y, w));
  ExpectFramesFit();
}

TEST_F(GradientLoopTest, VariablesWithoutAPathHaveNone) {
  const Output x = In("x"), other = In("other");
  const Values last = ops::WhileLoop(
      root_, {0, x, other},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5); },
      [](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), ops::Exp(s, v[1]),
                      ops::Neg(s, v[2])};
      });
  ASSERT_EQ(last.size(), 3u);
  ASSERT_OK_AND_ASSIGN(const auto gradients,
                       AddGradients(root_, {last[1]}, {x, other}));
  EXPECT_FALSE(gradients[0].IsNone());
  EXPECT_TRUE(gradients[1].IsNone());
  ExpectFramesFit();
}

// As a meta-learner does: the gradient is part of the body.
TEST_F(GradientLoopTest, BodiesMayContainGradients) {
  const Output x = In("x");
  const Output y = Repeat(root_, x, [](const Scope& s, const Output& v) {
    const auto gradients = AddGradients(s, {ops::Square(s, v)}, {v});
    EXPECT_THAT(gradients, IsOk());
    return gradients.ok() ? ops::Sub(s, v, (*gradients)[0].dense) : Output();
  });
  EXPECT_TRUE(y);
  ExpectFramesFit();
  EXPECT_EQ(NodesOf("LoopCond").size(), 1u);
}

TEST_F(GradientLoopTest, SecondDerivativesAreRejected) {
  const Output x = In("x");
  const Output y = Repeat(
      root_, x, [](const Scope& s, const Output& v) { return ops::Exp(s, v); });
  const Output grad = Of(y, x);
  ASSERT_TRUE(grad);
  const int nodes = root_.graph().num_nodes();
  EXPECT_THAT(AddGradients(root_, {grad}, {x}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "Second-order gradient for while loops not supported"));
  EXPECT_EQ(root_.graph().num_nodes(), nodes);
}

TEST_F(GradientLoopTest, HandlesAsLoopVariablesAreRejected) {
  const ops::Variable w(root_, Tensor(DT_FLOAT, {3}));
  const Values last = ops::WhileLoop(
      root_, {0, In("x"), w.handle()},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5); },
      [](const Scope& s, const Values& v) {
        const Output value =
            s.AddOutput("ReadVariableOp", {v[2]}, {{"dtype", DT_FLOAT}});
        const Output row = ops::EnsureShape(s, value, {3});
        return Values{ops::Add(s, v[0], 1), ops::Add(s, v[1], row), v[2]};
      });
  ASSERT_THAT(root_.status(), IsOk());
  EXPECT_THAT(AddGradients(root_, {last[1]}, {w}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "Gradients through loop variables of type resource are "
                       "not supported"));
}

// The forward loop has no counter after the error, so it still runs.
TEST_F(GradientLoopTest, ErrorInTheBodyLeavesTheGraphUnchanged) {
  const Output x = In("x");
  const Output y = Repeat(root_, x, [](const Scope& s, const Output& v) {
    return ops::PreventGradient(s, ops::Exp(s, v), {.message = "frozen"});
  });
  const int nodes = root_.graph().num_nodes();
  EXPECT_THAT(AddGradients(root_, {y}, {x}),
              StatusIs(absl::StatusCode::kNotFound, "frozen"));
  EXPECT_EQ(root_.graph().num_nodes(), nodes);
  ExpectFramesFit();
}

}  // namespace
}  // namespace weft
