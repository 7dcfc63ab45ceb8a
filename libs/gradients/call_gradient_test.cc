// Gradients of calls are those of the called functions, and a call whose second
// run would differ from the first is rejected.
#include <gtest/gtest.h>

#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/gradients/testing/reference_evaluator.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/function.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using testing::ElementsAre;
using Values = std::vector<Output>;

class CallGradientTest : public testing::Test {
 protected:
  Output Double(double value) {
    return ops::Identity(root_, Tensor::Scalar(value));
  }
  // The gradients of the sum of the ys at the values of the xs.
  std::vector<double> Of(const Values& ys, const Values& xs) {
    EXPECT_THAT(root_.status(), IsOk());
    GradientOptions options;
    for (size_t i = 0; i < ys.size(); ++i) {
      options.grad_ys.push_back(root_.ToOutput(Tensor::Scalar(1.0)));
    }
    const auto gradients = AddGradients(root_, ys, xs, options);
    EXPECT_THAT(gradients, IsOk());
    std::vector<double> result;
    for (size_t i = 0; gradients.ok() && i < xs.size(); ++i) {
      if ((*gradients)[i].IsNone()) {
        ADD_FAILURE() << xs[i].name() << " has no gradient";
        continue;
      }
      const auto value = EvaluateByReference({}, {(*gradients)[i].dense});
      EXPECT_THAT(value, IsOk());
      if (value.ok()) result.push_back((*value)[0].scalar<double>());
    }
    return result;
  }

  const Scope root_ = Scope::Root();
  const ops::FunctionArg scalar_{DT_DOUBLE, PartialShape::Scalar()};
};

TEST_F(CallGradientTest, IsTheGradientOfTheBody) {
  const ops::Function f(root_, "f", {scalar_, scalar_},
                        [](const Scope& s, const Values& v) {
                          const Output square = ops::Mul(s, v[0], v[0]);
                          return Values{ops::Mul(s, square, v[1])};
                        });
  const Output x = Double(2), y = Double(5);
  // d(x^2 y) = 2xy dx + x^2 dy.
  EXPECT_THAT(Of(f(root_, {x, y}), {x, y}), ElementsAre(20, 4));
}

TEST_F(CallGradientTest, CapturedValuesHaveGradients) {
  const Output x = Double(2), w = Double(7);
  const ops::Function f(root_, "f", {scalar_},
                        [&](const Scope& s, const Values& v) {
                          return Values{ops::Mul(s, v[0], w)};
                        });
  EXPECT_THAT(Of(f(root_, {x}), {x, w}), ElementsAre(7, 2));
}

TEST_F(CallGradientTest, CallsInFunctionsAreDifferentiated) {
  const ops::Function inner(root_, "inner", {scalar_},
                            [](const Scope& s, const Values& v) {
                              return Values{ops::Square(s, v[0])};
                            });
  const ops::Function outer(
      root_, "outer", {scalar_}, [&](const Scope& s, const Values& v) {
        return Values{ops::Mul(s, inner(s, {v[0]})[0], 3.0)};
      });
  const Output x = Double(2);
  EXPECT_THAT(Of(outer(root_, {x}), {x}), ElementsAre(12));
}

TEST_F(CallGradientTest, OneOfSeveralResultsMayBeUsed) {
  const ops::Function f(
      root_, "f", {scalar_}, [](const Scope& s, const Values& v) {
        return Values{ops::Square(s, v[0]), ops::Neg(s, v[0])};
      });
  const Output x = Double(3);
  const Values results = f(root_, {x});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(Of({results[1]}, {x}), ElementsAre(-1));
  EXPECT_THAT(Of({results[0]}, {x}), ElementsAre(6));
  EXPECT_THAT(Of(results, {x}), ElementsAre(5));
}

TEST_F(CallGradientTest, IfUsesTheGradientOfItsBranch) {
  for (const bool taken : {true, false}) {
    const Output x = Double(3);
    const Values y = ops::If(
        root_, root_.ToOutput(Tensor::Scalar(taken), "pred"),
        [&](const Scope& s) { return Values{ops::Square(s, x)}; },
        [&](const Scope& s) { return Values{ops::Mul(s, x, 10.0)}; });
    EXPECT_THAT(Of(y, {x}), ElementsAre(taken ? 6 : 10));
  }
}

TEST_F(CallGradientTest, UnusedArgumentsHaveNone) {
  const ops::Function f(root_, "f", {scalar_, scalar_},
                        [](const Scope& s, const Values& v) {
                          return Values{ops::Neg(s, v[0])};
                        });
  const Output x = Double(2), unused = Double(5);
  ASSERT_OK_AND_ASSIGN(const auto gradients,
                       AddGradients(root_, f(root_, {x, unused}), {unused}));
  EXPECT_TRUE(gradients[0].IsNone());
}

TEST_F(CallGradientTest, SecondRunOfRandomNumbersIsRejected) {
  const ops::Function f(
      root_, "noise", {scalar_}, [](const Scope& s, const Values& v) {
        const Output drawn = s.WithName("draw").AddOutput(
            "RandomUniform", {Tensor(DT_INT32, {0})}, {{"dtype", DT_DOUBLE}});
        return Values{ops::Mul(s, v[0], drawn)};
      });
  const Output x = Double(2);
  const Values y = f(root_.WithName("call"), {x});
  ASSERT_THAT(root_.status(), IsOk());
  const int nodes = root_.graph().num_nodes();
  EXPECT_THAT(AddGradients(root_, y, {x}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "the gradient of call 'call' would run it twice"));
  EXPECT_EQ(root_.graph().num_nodes(), nodes);
}

}  // namespace
}  // namespace weft
