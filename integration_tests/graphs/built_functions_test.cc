// Tests functions whose bodies the program builds with ops (ops::Function): in
// calls, branches and loops, with captured values, across tasks, and with
// gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using Values = std::vector<Output>;

class BuiltFunctionsTest : public testing::Test {
 protected:
  void Connect() {
    auto session = Session::Connect("", root_);
    ASSERT_OK(session);
    session_ = *std::move(session);
    ASSERT_OK(session_->Run(ops::GlobalVariablesInitializer(root_)));
  }
  float Get(const Output& value, const FeedList& feeds = {}) {
    const auto got = session_->Run(feeds, value);
    EXPECT_OK(got);
    return got.ok() ? got->scalar<float>() : -1;
  }
  Output Scalar(const char* name, DataType dtype = DT_FLOAT) {
    return ops::Placeholder(root_.WithName(name), dtype,
                            {.shape = PartialShape::Scalar()});
  }

  const Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

TEST_F(BuiltFunctionsTest, CallReadsTheCurrentVariableValue) {
  const ops::Variable w(root_.WithName("w"), 2.0f);
  const ops::Function f(root_, "f", {DT_FLOAT},
                        [&](const Scope& s, const Values& v) {
                          return Values{ops::Mul(s, w, v[0])};
                        });
  const Output y = f(root_, {3.0f})[0];
  const Output set = ops::Assign(root_, w, 5.0f);
  Connect();
  EXPECT_EQ(Get(y), 6.0f);
  EXPECT_EQ(Get(set), 5.0f);
  EXPECT_EQ(Get(y), 15.0f);
}

TEST_F(BuiltFunctionsTest, CallHasItsEffectsExactlyOnce) {
  const ops::Variable n(root_.WithName("n"), 0.0f);
  const ops::Function count(root_, "count", {DT_FLOAT},
                            [&](const Scope& s, const Values& v) {
                              ops::AssignAdd(s, n, 1);
                              return Values{ops::Neg(s, v[0]), v[0]};
                            });
  const Values y = count(root_, {3.0f});
  const Operation call = count.Call(root_, {1.0f});
  Connect();
  EXPECT_EQ(Get(y[0]), -3.0f);
  EXPECT_EQ(Get(y[1]), 3.0f);
  ASSERT_OK(session_->Run(call));
  EXPECT_EQ(Get(n), 3.0f);
}

TEST_F(BuiltFunctionsTest, VariablesCreatedInsideAreTrained) {
  const ops::Function layer(
      root_, "layer", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        const ops::Variable w =
            ops::GetVariable(s, "w", {.initial_value = Input(1.0f)});
        return Values{ops::Mul(s, w, v[0])};
      });
  const Output y = layer(root_, {3.0f})[0];
  const Output loss = ops::Square(root_, ops::Sub(root_, y, 6.0f));
  const Operation train = train::GradientDescent(0.1f).Minimize(root_, loss);
  ASSERT_OK(root_.status());
  Connect();
  for (int i = 0; i < 50; ++i) ASSERT_OK(session_->Run(train));
  EXPECT_NEAR(Get(y), 6.0f, 1e-3);
}

TEST_F(BuiltFunctionsTest, ArgumentsAndCapturesHaveGradients) {
  const Output a = Scalar("a"), x = Scalar("x");
  const ops::Function f(
      root_, "f", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        const ops::Function square(
            s, "square", {DT_FLOAT}, [&](const Scope& t, const Values& u) {
              return Values{ops::Mul(t, a, ops::Square(t, u[0]))};
            });
        return square(s, {v[0]});
      });
  const auto gradients = AddGradients(root_, {f(root_, {x})[0]}, {a, x});
  ASSERT_OK(gradients);
  Connect();
  const FeedList feeds = {{a, Tensor::Scalar(5.0f)}, {x, Tensor::Scalar(3.0f)}};
  EXPECT_EQ(Get((*gradients)[0].dense, feeds), 9.0f);
  EXPECT_EQ(Get((*gradients)[1].dense, feeds), 30.0f);
}

// A function and its caller read the same TensorArray. The gradients of all
// reads are added in one gradient array, and each call of AddGradients creates
// its own.
TEST_F(BuiltFunctionsTest, CapturedTensorArrayHasGradients) {
  const Output x = ops::Placeholder(root_, DT_FLOAT, {.shape = {3}});
  const auto array =
      ops::TensorArray(root_, 3, DT_FLOAT, {.clear_after_read = false});
  const Output flow =
      ops::TensorArrayScatter(root_, array.handle, {0, 1, 2}, x, array.flow);
  const auto read = [&](const Scope& s, int i) {
    return ops::TensorArrayRead(s, array.handle, i, flow, DT_FLOAT);
  };
  const ops::Function f(
      root_, "f", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        return Values{ops::AddN(s, {v[0], read(s, 0), read(s, 1)})};
      });
  const Output y = ops::Mul(root_, read(root_, 0), 2);
  const Output z = ops::Mul(root_, f(root_, {read(root_, 0)})[0], 5);
  const Scope scope = root_.SubScope("gradients_all");
  const auto of_y = AddGradients(scope, {y}, {x});
  ASSERT_OK(of_y);
  const auto of_z = AddGradients(scope, {z}, {x});
  ASSERT_OK(of_z);
  Connect();
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got,
                       session_->Run({{x, Tensor::Vector<float>({1, 2, 3})}},
                                     {(*of_y)[0].dense, (*of_z)[0].dense}));
  EXPECT_EQ(got[0].ToString(), Tensor::Vector<float>({2, 0, 0}).ToString());
  EXPECT_EQ(got[1].ToString(), Tensor::Vector<float>({10, 5, 0}).ToString());
}

TEST_F(BuiltFunctionsTest, FunctionMayComputeGradients) {
  const ops::Variable w(root_.WithName("w"), 4.0f);
  const ops::Function slope(
      root_, "slope", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        const Output y = ops::Mul(s, ops::Square(s, w), v[0]);
        const auto gradients = AddGradients(s, {y}, {w, v[0]});
        EXPECT_OK(gradients);
        if (!gradients.ok()) return Values{};
        return Values{(*gradients)[0].dense, (*gradients)[1].dense};
      });
  ASSERT_OK(root_.status());
  const Values y = slope(root_, {3.0f});
  Connect();
  EXPECT_EQ(Get(y[0]), 24.0f);
  EXPECT_EQ(Get(y[1]), 16.0f);
}

TEST_F(BuiltFunctionsTest, OnlyTheTakenBranchRuns) {
  const ops::Variable n(root_.WithName("n"), 0.0f);
  const Output pred = Scalar("pred", DT_BOOL), x = Scalar("x");
  const Output y = ops::If(
      root_, pred,
      [&](const Scope& s) {
        const Output counted = ops::AssignAdd(s, n, 1);
        return Values{ops::Add(s, counted, x)};
      },
      [&](const Scope& s) { return Values{ops::Neg(s, x)}; })[0];
  const auto gradients = AddGradients(root_, {y}, {x});
  EXPECT_THAT(gradients, StatusIs(absl::StatusCode::kUnimplemented));
  Connect();
  const auto feeds = [&](bool taken) {
    return FeedList{{pred, Tensor::Scalar(taken)}, {x, Tensor::Scalar(3.0f)}};
  };
  EXPECT_EQ(Get(y, feeds(false)), -3.0f);
  EXPECT_EQ(Get(n), 0.0f);
  EXPECT_EQ(Get(y, feeds(true)), 4.0f);
}

TEST_F(BuiltFunctionsTest, SwitchCaseDefaultsToTheLastBranch) {
  const Output index = Scalar("index", DT_INT32), x = Scalar("x");
  const auto times = [&](float factor) {
    return
        [&x, factor](const Scope& s) { return Values{ops::Mul(s, x, factor)}; };
  };
  const Output y =
      ops::SwitchCase(root_, index, {times(1), times(10), times(100)})[0];
  const auto gradients = AddGradients(root_, {y}, {x});
  ASSERT_OK(gradients);
  Connect();
  for (const auto& [i, factor] : std::vector<std::pair<int, float>>{
           {0, 1}, {1, 10}, {2, 100}, {3, 100}, {-1, 100}}) {
    const FeedList feeds = {{index, Tensor::Scalar(i)},
                            {x, Tensor::Scalar(2.0f)}};
    EXPECT_EQ(Get(y, feeds), 2 * factor) << i;
    EXPECT_EQ(Get((*gradients)[0].dense, feeds), factor) << i;
  }
}

TEST_F(BuiltFunctionsTest, LoopRunsAndHasGradients) {
  const ops::Variable factor(root_.WithName("factor"), 2.0f);
  const Output n = Scalar("n", DT_INT32), x = Scalar("x");
  const Values last = ops::While(
      root_, {0, x},
      [&](const Scope& s, const Values& v) { return ops::Less(s, v[0], n); },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), ops::Mul(s, v[1], factor)};
      });
  const auto gradients = AddGradients(root_, {last[1]}, {x, factor});
  ASSERT_OK(gradients);
  Connect();
  const FeedList feeds = {{n, Tensor::Scalar(3)}, {x, Tensor::Scalar(5.0f)}};
  EXPECT_EQ(Get(last[1], feeds), 40.0f);
  EXPECT_EQ(Get((*gradients)[0].dense, feeds), 8.0f);
  EXPECT_EQ(Get((*gradients)[1].dense, feeds), 60.0f);
}

TEST_F(BuiltFunctionsTest, FrameLoopMayCallFunction) {
  const Output x = Scalar("x");
  const Values last = ops::WhileLoop(
      root_, {0, x},
      [&](const Scope& s, const Values& v) { return ops::Less(s, v[0], 3); },
      [&](const Scope& s, const Values& v) {
        const ops::Function add(
            s, "add", {DT_FLOAT}, [&](const Scope& t, const Values& u) {
              return Values{
                  ops::AddN(t, {u[0], x, ops::Cast(t, v[0], DT_FLOAT)})};
            });
        return Values{ops::Add(s, v[0], 1), add(s, {v[1]})[0]};
      });
  ASSERT_OK(root_.status());
  Connect();
  EXPECT_EQ(Get(last[1], {{x, Tensor::Scalar(10.0f)}}), 43.0f);
}

TEST_F(BuiltFunctionsTest, FunctionMayContainFrameLoop) {
  const Output step = Scalar("step");
  const ops::Function f(
      root_, "f", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        return ops::WhileLoop(
            s, {v[0]},
            [&](const Scope& t, const Values& u) {
              return ops::Less(t, u[0], 10.0f);
            },
            [&](const Scope& t, const Values& u) {
              return Values{ops::Add(t, u[0], step)};
            },
            {.shape_invariants = {PartialShape::UnknownRank()}});
      });
  ASSERT_OK(root_.status());
  const Output y = f(root_, {1.0f})[0];
  Connect();
  EXPECT_EQ(Get(y, {{step, Tensor::Scalar(4.0f)}}), 13.0f);
}

// Returns a function that increments `n` in nested loops and branches, with ops
// whose results are not used. The increments show how often each place runs: 3
// times in the outer loop body (by 1) and 4 times in its condition (by 10),
// twice per outer iteration in the inner body (by 100), once in one branch (by
// 1000), and never in the other branch.
ops::Function CountEverywhere(const Scope& root, const ops::Variable& n) {
  const auto count = [&n](const Scope& s, float by) {
    ops::AssignAdd(s, n, by);
  };
  const auto body = [count](const Scope& s, const Values& v) {
    count(s, 1);
    ops::WhileLoop(
        s, {0},
        [](const Scope& t, const Values& u) { return ops::Less(t, u[0], 2); },
        [count](const Scope& t, const Values& u) {
          count(t, 100);
          return Values{ops::Add(t, u[0], 1)};
        });
    ops::Cond(
        s, ops::Equal(s, v[0], 1),
        [count](const Scope& t) {
          count(t, 1000);
          return Values{ops::Const(t, 1)};
        },
        [](const Scope& t) { return Values{ops::Const(t, 0)}; });
    return Values{ops::Add(s, v[0], 1)};
  };
  return ops::Function(
      root, "everywhere", {DT_BOOL}, [&](const Scope& s, const Values& v) {
        const Values last = ops::WhileLoop(
            s, {0},
            [count](const Scope& t, const Values& u) {
              count(t, 10);
              return ops::Less(t, u[0], 3);
            },
            body);
        return ops::Cond(
            s, v[0],
            [count](const Scope& t) {
              count(t, 10000);
              return Values{ops::Const(t, 1.0f)};
            },
            [](const Scope& t) { return Values{ops::Const(t, 2.0f)}; });
      });
}

TEST_F(BuiltFunctionsTest, UnusedStatefulOpsRunInEachIteration) {
  constexpr float kOnce = 3 * 1 + 4 * 10 + 6 * 100 + 1000;
  const ops::Variable n(root_.WithName("n"), 0.0f);
  const ops::Function f = CountEverywhere(root_, n);
  const Output pred = Scalar("pred", DT_BOOL);
  const Output y = f(root_, {pred})[0];
  const auto read_after = [&](const Output& value) {
    return n.Read(root_.WithControlDependencies({value}));
  };
  const Output after = read_after(y);
  const Output in_branch = read_after(ops::If(
      root_, pred, [&](const Scope& s) { return f(s, {pred}); },
      [&](const Scope& s) { return Values{ops::Const(s, 3.0f)}; })[0]);
  const Output in_loop = read_after(ops::WhileLoop(
      root_, {0, 0.0f},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 2); },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), f(s, {pred})[0]};
      })[1]);
  ASSERT_OK(root_.status());
  Connect();
  const FeedList taken = {{pred, Tensor::Scalar(true)}};
  const FeedList not_taken = {{pred, Tensor::Scalar(false)}};
  EXPECT_EQ(Get(y, not_taken), 2.0f);
  EXPECT_EQ(Get(n), kOnce);
  EXPECT_EQ(Get(after, taken), 2 * kOnce + 10000);
  EXPECT_EQ(Get(in_branch, not_taken), 2 * kOnce + 10000);
  EXPECT_EQ(Get(in_branch, taken), 3 * kOnce + 20000);
  // Loop iterations do not wait for the stateful op in the called function, but
  // the step waits for that op.
  Get(in_loop, not_taken);
  EXPECT_EQ(Get(n), 5 * kOnce + 20000);
}

TEST(BuiltFunctionsOnTasksTest, VariablesOfTwoTasksAreRead) {
  TestCluster cluster(
      {.kind = ClusterKind::kOneProcess, .jobs = {{"ps", 2}, {"worker", 1}}});
  const Scope root = Scope::Root();
  std::vector<ops::Variable> parts;
  for (int i = 0; i < 2; ++i) {
    parts.emplace_back(root.WithName(absl::StrCat("part_", i))
                           .WithDevice(absl::StrCat("/job:ps/task:", i)),
                       i + 1.0f);
  }
  const ops::Function dot(
      root, "dot", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        return Values{ops::Mul(s, v[0], ops::Add(s, parts[0], parts[1]))};
      });
  const Output y = dot(root.WithDevice("/job:worker"), {2.0f})[0];
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect(cluster.target("worker", 0), root,
                                        cluster.session_options()));
  ASSERT_OK(session->Run(ops::GlobalVariablesInitializer(root)));
  ASSERT_OK_AND_ASSIGN(const Tensor value, session->Run(y));
  EXPECT_EQ(value.scalar<float>(), 6.0f);
}

}  // namespace
}  // namespace weft
