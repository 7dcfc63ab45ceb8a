// Gradients through branches match numeric differences, whichever branch is
// taken; parts of loops are rejected.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/gradients/testing/gradient_checker.h"
#include "libs/gradients/testing/reference_evaluator.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/cond.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using testing::ElementsAre;
using Values = std::vector<Output>;

// Inputs of the differentiated function: x and w, doubles [3].
struct Inputs {
  Output x, w, pred;
};
using Function = std::function<Values(const Scope& root, const Inputs& in)>;

void ExpectGradients(const Function& function) {
  for (const bool taken : {false, true}) {
    for (const bool known : {false, true}) {
      const Scope root = Scope::Root();
      const PartialShape shape = known ? PartialShape{3} : PartialShape{-1};
      const Inputs in = {ops::Placeholder(root, DT_DOUBLE, {.shape = shape}),
                         ops::Placeholder(root, DT_DOUBLE, {.shape = shape}),
                         root.ToOutput(Tensor::Scalar(taken), "pred")};
      const Values ys = function(root, in);
      ASSERT_THAT(root.status(), IsOk());
      ASSERT_OK_AND_ASSIGN(const double error,
                           MaxGradientError(root, ys, {in.x, in.w},
                                            {Tensor::Vector({0.3, -0.7, 0.55}),
                                             Tensor::Vector({1.1, 0.4, -0.9})},
                                            EvaluateByReference));
      EXPECT_LT(error, 1e-5) << taken << known;
    }
  }
}

TEST(CondGradientsTest, BothBranchesMatchDifferences) {
  ExpectGradients([](const Scope& root, const Inputs& in) {
    return ops::Cond(
        root, in.pred,
        [&](const Scope& s) { return Values{ops::Mul(s, in.x, in.w)}; },
        [&](const Scope& s) { return Values{ops::Sin(s, in.x)}; });
  });
}

// In one branch x has no effect.
TEST(CondGradientsTest, BranchWithoutXContributesZeros) {
  ExpectGradients([](const Scope& root, const Inputs& in) {
    return ops::Cond(
        root, in.pred, [&](const Scope&) { return Values{in.w}; },
        [&](const Scope& s) { return Values{ops::Square(s, in.x)}; });
  });
}

TEST(CondGradientsTest, ConstantBranchContributesZeros) {
  ExpectGradients([](const Scope& root, const Inputs& in) {
    return ops::Cond(
        root, in.pred,
        [&](const Scope& s) { return Values{ops::Exp(s, in.x)}; },
        [&](const Scope& s) {
          return Values{s.ToOutput(Tensor::Vector({1.0, 2.0, 3.0}))};
        });
  });
}

TEST(CondGradientsTest, SeveralResultsMatchDifferences) {
  ExpectGradients([](const Scope& root, const Inputs& in) {
    const Values both = ops::Cond(
        root, in.pred,
        [&](const Scope& s) {
          return Values{ops::Tanh(s, in.x), in.w};
        },
        [&](const Scope& s) {
          return Values{in.x, ops::Mul(s, in.w, in.w)};
        });
    return both.size() == 2 ? Values{ops::Mul(root, both[0], both[1])}
                            : Values();
  });
}

TEST(CondGradientsTest, OuterUsesAddToThoseOfTheBranch) {
  ExpectGradients([](const Scope& root, const Inputs& in) {
    const Values chosen = ops::Cond(
        root, in.pred,
        [&](const Scope& s) { return Values{ops::Mul(s, in.x, 3.0)}; },
        [&](const Scope& s) { return Values{ops::Square(s, in.w)}; });
    return chosen.empty()
               ? Values()
               : Values{ops::Mul(root, ops::Add(root, chosen[0], in.x), in.w)};
  });
}

TEST(CondGradientsTest, NestedBranchesMatchDifferences) {
  ExpectGradients([](const Scope& root, const Inputs& in) {
    return ops::Cond(
        root, in.pred,
        [&](const Scope& s) {
          return ops::Cond(
              s, ops::Less(s, ops::Sum(s, in.x, {0}), 0.0),
              [&](const Scope& t) { return Values{ops::Mul(t, in.x, in.w)}; },
              [&](const Scope& t) { return Values{ops::Sub(t, in.x, in.w)}; });
        },
        [&](const Scope& s) { return Values{ops::Mul(s, in.w, in.w)}; });
  });
}

TEST(CondGradientsTest, GradientOfASwitchMergesBothBranches) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2}});
  const Output pred = ops::Placeholder(root, DT_BOOL, {.shape = TensorShape()});
  const Values y = ops::Cond(
      root, pred, [&](const Scope& s) { return Values{ops::Neg(s, x)}; },
      [&](const Scope& s) { return Values{ops::Exp(s, x)}; });
  ASSERT_EQ(y.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const auto gradients, AddGradients(root, y, {x}));
  int merges = 0;
  for (const Node* node : root.graph().nodes()) {
    if (node->name().find("cond_grad") == std::string::npos) continue;
    EXPECT_EQ(node->type(), "Merge");
    ++merges;
  }
  EXPECT_GT(merges, 0);
}

TEST(CondGradientsTest, SwitchAndMergeWithoutCondWork) {
  const Scope root = Scope::Root();
  const Output x = root.ToOutput(Tensor::Scalar(2.0));
  const auto sides =
      ops::Switch(root, x, root.ToOutput(Tensor::Scalar(true), "p"));
  const auto merge = ops::Merge(root, {ops::Neg(root, sides.output_false),
                                       ops::Square(root, sides.output_true)});
  ASSERT_OK_AND_ASSIGN(const auto gradients,
                       AddGradients(root, {merge.output}, {x}));
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvaluateByReference({}, {gradients[0].dense}));
  EXPECT_THAT(values[0].flat<double>(), ElementsAre(4));
}

TEST(ControlGradientsTest, PartsOfLoopsAreRejected) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2}});
  const Output enter = root.AddOutput("Enter", {x}, {{"frame_name", "f"}});
  EXPECT_THAT(AddGradients(root, {ops::Neg(root, enter)}, {x}),
              StatusIs(kInvalid, "is inside loop 'f'"));
}

TEST(ControlGradientsTest, PrintPassesTheGradientOfItsInput) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2}});
  const Output data = ops::Placeholder(root, DT_FLOAT, {.shape = {3}});
  const Output printed =
      root.AddOutput("Print", {x, data}, {{"message", "loss"}});
  ASSERT_OK_AND_ASSIGN(
      const auto gradients,
      AddGradients(root, {ops::Square(root, printed)}, {x, data}));
  EXPECT_EQ(gradients[0].dense.node()->type(), "Mul");
  EXPECT_TRUE(gradients[1].IsNone());
}

}  // namespace
}  // namespace weft
