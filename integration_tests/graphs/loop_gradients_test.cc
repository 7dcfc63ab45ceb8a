// Checks that loops compute the right values, and that gradients through nested
// loops and branches match numerical differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/gradients/testing/gradient_checker.h"
#include "libs/runtime/process/process.h"

namespace weft {
namespace {

using Values = std::vector<Output>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Inputs of the differentiated function. x and w are double vectors of size 3,
// and n is the number of iterations.
struct Inputs {
  Output x, w, n;
};
using Function = std::function<Values(const Scope& root, const Inputs& in)>;

// Returns the result of repeating v = step(v) n times, starting with x.
Values Repeat(const Scope& root, const Inputs& in, int parallel,
              const std::function<Output(const Scope&, const Output& i,
                                         const Output& v)>& step) {
  return ops::WhileLoop(
      root, {0, in.x},
      [&](const Scope& s, const Values& v) { return ops::Less(s, v[0], in.n); },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), step(s, v[0], v[1])};
      },
      {.parallel_iterations = parallel});
}

class LoopGradientsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    process_ = new Process({.compute_threads = 2});
  }
  static void TearDownTestSuite() { delete process_; }

  // Checks the gradients of `function` for each number of iterations in
  // `counts`.
  static void Check(const Function& function,
                    std::initializer_list<int> counts = {0, 1, 4},
                    bool same_shape = true) {
    for (const int n : counts) {
      SCOPED_TRACE(absl::StrCat("n = ", n));
      const Scope root = Scope::Root();
      const PartialShape shape =
          same_shape ? PartialShape{3} : PartialShape::UnknownRank();
      Inputs in = {
          ops::Placeholder(root.WithName("x"), DT_DOUBLE, {.shape = shape}),
          ops::Placeholder(root.WithName("w"), DT_DOUBLE, {.shape = shape}),
          root.WithName("n").ToOutput(Tensor::Scalar(n))};
      Values ys = function(root, in);
      ASSERT_OK(root.status());
      for (Output& y : ys) y = ops::Mul(root, y, 1.0);
      ASSERT_OK_AND_ASSIGN(auto session,
                           Session::Connect("", root, {.process = process_}));
      const Evaluate evaluate = [&](const FeedList& feeds,
                                    const Values& fetches) {
        return session->Run(feeds, fetches);
      };
      ASSERT_OK_AND_ASSIGN(const double error,
                           MaxGradientError(root, ys, {in.x, in.w},
                                            {Tensor::Vector({0.3, -0.7, 0.55}),
                                             Tensor::Vector({1.1, 0.4, -0.9})},
                                            evaluate));
      EXPECT_LT(error, 1e-5);
    }
  }

  static inline Process* process_ = nullptr;
};

TEST_F(LoopGradientsTest, ProductIsDifferentiated) {
  for (const int parallel : {1, 2, 10}) {
    Check([&](const Scope& root, const Inputs& in) {
      return Values{Repeat(root, in, parallel,
                           [&](const Scope& s, const Output&, const Output& v) {
                             return ops::Mul(s, v, in.w);
                           })[1]};
    });
  }
}

TEST_F(LoopGradientsTest, FunctionsMayNeedTheirOutputs) {
  Check([&](const Scope& root, const Inputs& in) {
    const Values last = Repeat(
        root, in, 10, [&](const Scope& s, const Output& i, const Output& v) {
          const Output turn = ops::Cast(s, ops::Add(s, i, 1), DT_DOUBLE);
          return ops::Add(s, ops::Tanh(s, ops::Mul(s, v, turn)),
                          ops::Sigmoid(s, in.w));
        });
    return Values{ops::Exp(root, last[1])};
  });
}

TEST_F(LoopGradientsTest, UnknownShapesAreAllowed) {
  Check(
      [&](const Scope& root, const Inputs& in) {
        return Values{Repeat(
            root, in, 10, [&](const Scope& s, const Output&, const Output& v) {
              const Output sum = ops::Sum(s, ops::Mul(s, v, in.w), {0});
              return ops::Tanh(s, ops::Add(s, v, sum));
            })[1]};
      },
      {0, 1, 3}, /*same_shape=*/false);
}

// The loop has several variables. Only one of them determines the result, and
// another one affects it indirectly.
TEST_F(LoopGradientsTest, IndirectlyUsedVariablesHaveGradients) {
  Check([&](const Scope& root, const Inputs& in) {
    const Values last = ops::WhileLoop(
        root, {0, in.x, in.w},
        [&](const Scope& s, const Values& v) {
          return ops::Less(s, v[0], in.n);
        },
        [&](const Scope& s, const Values& v) {
          return Values{ops::Add(s, v[0], 1), ops::Mul(s, v[1], v[2]),
                        ops::Sin(s, v[2])};
        });
    return Values{last[1]};
  });
}

TEST_F(LoopGradientsTest, LoopsInLoopsAreDifferentiated) {
  for (const int parallel : {1, 3}) {
    Check(
        [&](const Scope& root, const Inputs& in) {
          const Values last =
              Repeat(root, in, parallel,
                     [&](const Scope& s, const Output& i, const Output& v) {
                       // The index of the outer loop is the number of
                       // iterations of the inner loop.
                       const Values inner = ops::WhileLoop(
                           s, {0, v},
                           [&](const Scope& t, const Values& u) {
                             return ops::Less(t, u[0], i);
                           },
                           [&](const Scope& t, const Values& u) {
                             const Output sum = ops::Add(
                                 t, ops::Sin(t, ops::Mul(t, u[1], in.w)),
                                 ops::Mul(t, v, 0.5));
                             return Values{ops::Add(t, u[0], 1), sum};
                           },
                           {.parallel_iterations = parallel});
                       return ops::Mul(s, inner[1], in.x);
                     });
          return Values{last[1]};
        },
        {0, 1, 2, 4});
  }
}

TEST_F(LoopGradientsTest, ThreeNestedLoopsAreDifferentiated) {
  Check(
      [&](const Scope& root, const Inputs& in) {
        const auto twice =
            [](const Scope& s, const Output& v,
               const std::function<Output(const Scope&, const Output&)>& step) {
              return ops::WhileLoop(
                  s, {0, v},
                  [](const Scope& t, const Values& u) {
                    return ops::Less(t, u[0], 2);
                  },
                  [&](const Scope& t, const Values& u) {
                    return Values{ops::Add(t, u[0], 1), step(t, u[1])};
                  })[1];
            };
        const Output y =
            twice(root, in.x, [&](const Scope& s, const Output& a) {
              return twice(s, a, [&](const Scope& t, const Output& b) {
                Inputs inner = in;
                inner.x = b;
                return Repeat(
                    t, inner, 10,
                    [&](const Scope& u, const Output&, const Output& c) {
                      return ops::Add(u, ops::Tanh(u, ops::Mul(u, c, in.w)), a);
                    })[1];
              });
            });
        return Values{y};
      },
      {0, 1, 2});
}

TEST_F(LoopGradientsTest, BranchesAreDifferentiated) {
  for (const bool taken : {false, true}) {
    Check(
        [&](const Scope& root, const Inputs& in) {
          const Output p = root.ToOutput(Tensor::Scalar(taken));
          return ops::Cond(
              root, p,
              [&](const Scope& s) {
                return Values{ops::Mul(s, in.x, in.w), ops::Square(s, in.x)};
              },
              [&](const Scope& s) {
                return Values{ops::Exp(s, in.x), ops::Mul(s, in.x, 3.0)};
              });
        },
        {0});
  }
}

TEST_F(LoopGradientsTest, BranchesInLoopsAreDifferentiated) {
  for (const bool taken : {false, true}) {
    Check([&](const Scope& root, const Inputs& in) {
      const Output p = root.ToOutput(Tensor::Scalar(taken));
      const Values last = Repeat(
          root, in, 10, [&](const Scope& s, const Output& i, const Output& v) {
            const Output first = ops::Equal(s, ops::FloorMod(s, i, 3), 0);
            return ops::Cond(
                s, first,
                [&](const Scope& t) { return Values{ops::Mul(t, v, in.w)}; },
                [&](const Scope& t) {
                  return ops::Cond(
                      t, p,
                      [&](const Scope& u) {
                        return Values{
                            ops::Exp(u, ops::Neg(u, ops::Square(u, v)))};
                      },
                      [&](const Scope& u) {
                        return Values{ops::Add(u, v, in.w)};
                      });
                })[0];
          });
      return Values{last[1]};
    });
  }
}

// The inner loop runs in one branch of some iterations only.
TEST_F(LoopGradientsTest, LoopsInBranchesInLoopsHaveGradients) {
  for (const int parallel : {1, 10}) {
    Check([&](const Scope& root, const Inputs& in) {
      const Values last = Repeat(
          root, in, parallel,
          [&](const Scope& s, const Output& i, const Output& v) {
            const Output odd = ops::Equal(s, ops::FloorMod(s, i, 2), 1);
            return ops::Cond(
                s, odd,
                [&](const Scope& t) {
                  Inputs inner = in;
                  inner.x = v;
                  return Values{Repeat(
                      t, inner, parallel,
                      [&](const Scope& u, const Output&, const Output& c) {
                        return ops::Tanh(u, ops::Mul(u, c, in.w));
                      })[1]};
                },
                [&](const Scope& t) {
                  return Values{ops::Mul(t, v, in.x)};
                })[0];
          });
      return Values{last[1]};
    });
  }
}

TEST_F(LoopGradientsTest, LoopsInBranchesAreDifferentiated) {
  for (const bool taken : {false, true}) {
    Check([&](const Scope& root, const Inputs& in) {
      const Output p = root.ToOutput(Tensor::Scalar(taken));
      return ops::Cond(
          root, p,
          [&](const Scope& s) {
            return Values{Repeat(
                s, in, 10, [&](const Scope& t, const Output&, const Output& v) {
                  return ops::Add(t, ops::Mul(t, v, in.w), 0.1);
                })[1]};
          },
          [&](const Scope& s) { return Values{ops::Mul(s, in.w, 2.0)}; });
    });
  }
}

TEST_F(LoopGradientsTest, MapsFoldsAndScansAreDifferentiated) {
  Check(
      [&](const Scope& root, const Inputs& in) {
        const ops::FoldFunction step = [&](const Scope& s, const Values& a,
                                           const Values& e) {
          return Values{ops::Add(s, ops::Mul(s, a[0], 0.5),
                                 ops::Sin(s, ops::Mul(s, e[0], e[1])))};
        };
        const Output first = ops::Sum(root, in.w, {0});
        Values ys =
            ops::MapFn(root,
                       [](const Scope& s, const Values& e) {
                         return Values{ops::Exp(s, ops::Mul(s, e[0], e[1])),
                                       ops::Square(s, e[1])};
                       },
                       {in.x, in.w});
        const auto add = [&](const Values& more) {
          ys.insert(ys.end(), more.begin(), more.end());
        };
        add(ops::Scan(root, step, {in.x, in.w}, {.initializer = {first}}));
        add(ops::Scan(root, step, {in.x, in.w},
                      {.initializer = {first}, .reverse = true}));
        add(ops::Foldl(root, step, {in.x, in.w}, {.initializer = {first}}));
        add(ops::Foldr(root, step, {in.x, in.w}, {.initializer = {first}}));
        const ops::FoldFunction product = [](const Scope& s, const Values& a,
                                             const Values& e) {
          return Values{ops::Mul(s, a[0], e[0])};
        };
        add(ops::Foldl(root, product, {in.x}));
        add(ops::Foldr(root, product, {in.w}));
        add(ops::Scan(root, product, {in.x}, {.reverse = true}));
        return ys;
      },
      {0});
}

// Gathers rows of a matrix that is a loop invariant. The sparse gradient has
// one row for each gathered row.
TEST_F(LoopGradientsTest, RowsOfALoopInvariantAreDifferentiated) {
  Check([&](const Scope& root, const Inputs& in) {
    const Output table = ops::Stack(root, {in.x, in.w, in.x});
    const Values last = Repeat(
        root, in, 10, [&](const Scope& s, const Output& i, const Output& v) {
          const Output row = ops::Gather(s, table, ops::FloorMod(s, i, 3));
          return ops::Tanh(s, ops::Add(s, v, ops::Reshape(s, row, {3})));
        });
    return Values{last[1]};
  });
}

TEST_F(LoopGradientsTest, ValuesWithoutGradientStopIt) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {}});
  const Output w = ops::Placeholder(root, DT_FLOAT, {.shape = {}});
  const Values last = ops::WhileLoop(
      root, {x, w},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5.0f); },
      [](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1.0f), ops::Floor(s, v[1])};
      });
  ASSERT_OK(root.status());
  ASSERT_OK_AND_ASSIGN(const auto gradients,
                       AddGradients(root, {last[0]}, {x, w}));
  EXPECT_FALSE(gradients[0].IsNone());
  EXPECT_TRUE(gradients[1].IsNone());
}

// The loop body calls AddGradients itself, for a step of gradient descent.
TEST_F(LoopGradientsTest, BodyMayComputeGradients) {
  const Scope root = Scope::Root();
  const Output target = root.ToOutput(Tensor::Vector({2.0f, -1.0f}));
  const Values last = ops::WhileLoop(
      root, {0, Tensor::Vector({0.0f, 0.0f})},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 200); },
      [&](const Scope& s, const Values& v) {
        const Output loss =
            ops::Sum(s, ops::SquaredDifference(s, v[1], target), {0});
        const auto gradients = AddGradients(s, {loss}, {v[1]});
        EXPECT_THAT(gradients, IsOk());
        if (!gradients.ok()) return v;
        return Values{
            ops::Add(s, v[0], 1),
            ops::Sub(s, v[1], ops::Mul(s, (*gradients)[0].dense, 0.1f))};
      });
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect("", root, {.process = process_}));
  ASSERT_OK_AND_ASSIGN(const Tensor found, session->Run(last[1]));
  EXPECT_NEAR(found.flat<float>()[0], 2, 1e-4);
  EXPECT_NEAR(found.flat<float>()[1], -1, 1e-4);
}

// Returns the number of iterations set by WEFT_LOOP_ITERATIONS in the
// environment, 2000 by default. tools/nightly.sh sets a million.
int NumIterations() {
  const char* text = std::getenv("WEFT_LOOP_ITERATIONS");
  int count = 0;
  return text != nullptr && absl::SimpleAtoi(text, &count) ? count : 2000;
}

// A graph contains gradients of a loop, but the step does not compute them.
// Then thousands of iterations need only the memory of a few.
TEST_F(LoopGradientsTest, UnusedGradientsKeepNoMemory) {
  constexpr int64_t kBytes = 128 << 10;
  const Scope root = Scope::Root();
  const Output n = ops::Placeholder(root, DT_INT32, {.shape = {}});
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {kBytes / 4}});
  const Values last = ops::WhileLoop(
      root, {0, x},
      [&](const Scope& s, const Values& v) { return ops::Less(s, v[0], n); },
      [](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), ops::Sin(s, v[1])};
      });
  ASSERT_OK_AND_ASSIGN(const auto gradients,
                       AddGradients(root, {last[1]}, {x}));
  const Tensor value(DT_FLOAT, {kBytes / 4});
  int64_t grown = 0;
  const auto peak = [&](int count, const Output& fetch) {
    Process process({.compute_threads = 2});
    auto session = Session::Connect("", root, {.process = &process});
    EXPECT_THAT(session, IsOk());
    const int64_t before = process.usage().resident_bytes;
    EXPECT_THAT((*session)->Run({{n, Tensor::Scalar(count)}, {x, value}},
                                Values{fetch}),
                IsOk());
    // The growth of memory outside of tensors, for example for frames and
    // iterations.
    grown = process.usage().resident_bytes - before;
    return process.buffers().stats().peak_bytes_in_use;
  };
  EXPECT_LT(peak(NumIterations(), last[1]), 40 * kBytes);
  // The first steps of a program allocate memory that it keeps, which matters
  // only in short runs.
  if (NumIterations() > 100'000) {
    EXPECT_LT(grown, 64 << 20);
  }
  EXPECT_GT(peak(200, gradients[0].dense), 200 * kBytes);
}

TEST_F(LoopGradientsTest, UnsupportedLoopsAreRejected) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {}});
  Output inside;
  const Values last = ops::WhileLoop(
      root, {0, x},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5); },
      [&](const Scope& s, const Values& v) {
        inside = ops::Square(s, v[1]);
        return Values{ops::Add(s, v[0], 1), inside};
      });
  ASSERT_OK(root.status());
  EXPECT_THAT(AddGradients(root, {inside}, {x}),
              StatusIs(kInvalid, "is inside loop 'while/while_context'"));
  EXPECT_THAT(AddGradients(root, {last[1]}, {inside}),
              StatusIs(kInvalid, "is inside loop"));
  ASSERT_OK_AND_ASSIGN(const auto first, AddGradients(root, {last[1]}, {x}));
  EXPECT_THAT(AddGradients(root, {first[0].dense}, {x}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "Second-order gradient for while loops not supported"));
}

TEST_F(LoopGradientsTest, LoopWithTwoConditionsIsRejected) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {}});
  const Values last = ops::WhileLoop(
      root, {0, x},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 5); },
      [](const Scope& s, const Values& v) {
        ops::LoopCond(s.WithName("other"), ops::Less(s, v[0], 3));
        return Values{ops::Add(s, v[0], 1), ops::Square(s, v[1])};
      });
  ASSERT_OK(root.status());
  EXPECT_THAT(AddGradients(root, {last[1]}, {x}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "node 'while/other' (op type: LoopCond) is not the "
                       "only one of its loop"));
}

// A constant x has a gradient, whether a loop or a branch uses it.
TEST_F(LoopGradientsTest, GradientsOfConstantsAreComputed) {
  for (const bool taken : {false, true}) {
    const Scope root = Scope::Root();
    const Output x = root.ToOutput(Tensor::Vector({2.0f, 3.0f}));
    const Output p = ops::Placeholder(root, DT_BOOL, {.shape = {}});
    const Output by_loop = ops::WhileLoop(
        root, {0, Tensor::Vector({1.0f, 1.0f})},
        [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 3); },
        [&](const Scope& s, const Values& v) {
          return Values{ops::Add(s, v[0], 1), ops::Mul(s, v[1], x)};
        })[1];
    const Output by_branch = ops::Cond(
        root, p, [&](const Scope& s) { return Values{ops::Square(s, x)}; },
        [&](const Scope& s) {
          return Values{s.ToOutput(Tensor::Vector({5.0f, 6.0f}))};
        })[0];
    ASSERT_OK_AND_ASSIGN(const auto loop, AddGradients(root, {by_loop}, {x}));
    ASSERT_OK_AND_ASSIGN(const auto branch,
                         AddGradients(root, {by_branch}, {x}));
    ASSERT_OK_AND_ASSIGN(auto session,
                         Session::Connect("", root, {.process = process_}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                         session->Run({{p, Tensor::Scalar(taken)}},
                                      Values{loop[0].dense, branch[0].dense}));
    EXPECT_THAT(values[0].flat<float>(), ElementsAre(12, 27));
    EXPECT_THAT(values[1].flat<float>(),
                ElementsAre(taken ? 4 : 0, taken ? 6 : 0));
  }
}

// Each call of AddGradients uses its own gradient arrays.
TEST_F(LoopGradientsTest, TwoCallsUseSeparateGradientArrays) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {3}});
  const Values y = ops::MapFn(root,
                              [](const Scope& s, const Values& e) {
                                return Values{ops::Square(s, e[0])};
                              },
                              {x});
  ASSERT_OK_AND_ASSIGN(const auto one,
                       AddGradients(root.WithName("one"), {y[0]}, {x}));
  ASSERT_OK_AND_ASSIGN(const auto two,
                       AddGradients(root.WithName("two"), {y[0]}, {x}));
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect("", root, {.process = process_}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                       session->Run({{x, Tensor::Vector({1.0f, 2.0f, 3.0f})}},
                                    Values{one[0].dense, two[0].dense}));
  EXPECT_THAT(values[0].flat<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(values[1].flat<float>(), ElementsAre(2, 4, 6));
}

// If a branch is not taken, none of its nodes may run, even if its control
// inputs from outside of the branch run.
TEST_F(LoopGradientsTest, OutsideControlInputDoesNotRunUntakenBranch) {
  const Scope root = Scope::Root();
  const Output p = ops::Placeholder(root, DT_BOOL, {.shape = {}});
  const Operation outside = root.AddNode("NoOp", {});
  const auto rows = [&](int count) {
    return [&outside, count](const Scope& s) {
      return Values{
          ops::Range(s.WithControlDependencies({outside}), 0, count, 1)};
    };
  };
  const Values y = ops::Cond(root, p, rows(3), rows(5));
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect("", root, {.process = process_}));
  for (const bool taken : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Tensor> values,
        session->Run({{p, Tensor::Scalar(taken)}}, Values{y[0]}));
    EXPECT_EQ(values[0].num_elements(), taken ? 3 : 5);
  }
}

// Nodes in the body that depend only on loop invariants run in each iteration.
TEST_F(LoopGradientsTest, BodyMayUseInvariantsOnly) {
  const Scope root = Scope::Root();
  const Output x =
      ops::Placeholder(root, DT_FLOAT, {.shape = PartialShape::Scalar()});
  const ops::Variable count(root, Tensor::Scalar(0.0f));
  const Values last = ops::WhileLoop(
      root, {0, Tensor::Scalar(0.0f), Tensor::Scalar(0.0f)},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 3); },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), x, ops::AssignAdd(s, count, x)};
      },
      {.shape_invariants = {PartialShape::Scalar(), PartialShape::Scalar(),
                            PartialShape::UnknownRank()}});
  const Operation initializer = ops::GlobalVariablesInitializer(root);
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect("", root, {.process = process_}));
  ASSERT_OK(session->Run({}, Values{}, {initializer}).status());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                       session->Run({{x, Tensor::Scalar(2.0f)}}, last));
  EXPECT_EQ(values[1].scalar<float>(), 2);
  ASSERT_OK_AND_ASSIGN(const Tensor total, session->Run(count.value()));
  EXPECT_EQ(total.scalar<float>(), 6);
}

// The Case is inside a function that the loop calls. Its index may be out of
// range.
TEST_F(LoopGradientsTest, CaseInsideLoopIsDifferentiated) {
  for (const size_t num_branches : {1, 2, 3}) {
    Check([&](const Scope& root, const Inputs& in) {
      return Values{Repeat(
          root, in, 4, [&](const Scope& s, const Output& i, const Output& v) {
            std::vector<ops::BranchFunction> branches = {
                [&](const Scope& t) { return Values{ops::Mul(t, v, in.w)}; },
                [&](const Scope& t) { return Values{ops::Tanh(t, v)}; },
                [&](const Scope& t) {
                  return Values{ops::Add(t, ops::Mul(t, v, v), in.w)};
                }};
            branches.resize(num_branches);
            const Output taken = ops::SwitchCase(s, i, branches)[0];
            return ops::Mul(s, ops::Sigmoid(s, taken), v);
          })[1]};
    });
  }
}

// The gradient of one branch is a tensor of zeros. In iterations that take the
// other branch, these zeros are dead, although their shape is a loop invariant.
// A Merge combines the gradients of w from both branches.
TEST_F(LoopGradientsTest, BranchWithZeroGradientIsDifferentiated) {
  const Tensor ones = Tensor::Vector({1.0, 1.0, 1.0});
  const std::function<Output(const Scope&, const Output&)> flat[] = {
      [](const Scope& s, const Output& w) { return ops::Sign(s, w); },
      [&](const Scope& s, const Output& w) {
        return ops::ReluGrad(s, ones, w);
      },
      [&](const Scope& s, const Output& w) {
        return ops::LeakyReluGrad(s, ones, w, 0.5f);
      }};
  for (const auto& function : flat) {
    Check([&](const Scope& root, const Inputs& in) {
      const auto below = [&](const Scope& s, const Values& v) {
        return ops::Less(s, v[0], in.n);
      };
      const auto step = [&](const Scope& s, const Values& v) {
        const Values taken = ops::If(
            s, ops::Equal(s, v[0], 0),
            [&](const Scope& t) { return Values{function(t, in.w)}; },
            [&](const Scope& t) { return Values{ops::Mul(t, in.w, 2.0)}; });
        return Values{ops::Add(s, v[0], 1), ops::Add(s, v[1], taken[0])};
      };
      return Values{ops::While(root, {0, in.x}, below, step)[1]};
    });
  }
}

// ---- lists ----

Output EmptyList(const Scope& s) {
  return s.AddOutput("EmptyTensorList", {Tensor::Vector<int32_t>({3}), -1},
                     {{"element_dtype", DT_DOUBLE}});
}
Output Stacked(const Scope& s, const Output& list) {
  return s.AddOutput("TensorListStack", {list, Tensor::Vector<int32_t>({3})},
                     {{"element_dtype", DT_DOUBLE}});
}
Output ItemAt(const Scope& s, const Output& list, const Output& i) {
  return s.AddOutput("TensorListGetItem",
                     {list, i, Tensor::Vector<int32_t>({3})},
                     {{"element_dtype", DT_DOUBLE}});
}

TEST_F(LoopGradientsTest, ListsOutsideOfLoopsAreDifferentiated) {
  Check(
      [](const Scope& s, const Inputs& in) {
        Output list = s.AddOutput("TensorListPushBack", {EmptyList(s), in.x});
        list = s.AddOutput("TensorListPushBack", {list, in.w});
        list =
            s.AddOutput("TensorListPushBack", {list, ops::Mul(s, in.x, in.w)});
        const Output set = s.AddOutput("TensorListSetItem",
                                       {list, 0, ops::Mul(s, in.w, in.w)});
        const Output popped = s.AddOutput("TensorListPopBack",
                                          {set, Tensor::Vector<int32_t>({3})},
                                          {{"element_dtype", DT_DOUBLE}});
        const Output again = s.AddOutput("TensorListFromTensor",
                                         {ops::Mul(s, Stacked(s, popped), 2.0),
                                          Tensor::Vector<int32_t>({3})});
        return Values{Stacked(s, list), Output(popped.node(), 1),
                      ItemAt(s, again, s.ToOutput(Tensor::Scalar(1))),
                      ItemAt(s, list, s.ToOutput(Tensor::Scalar(0)))};
      },
      {1});
}

// Gathers each item only once. If an item were gathered twice, one of its
// gradients would overwrite the other in TensorFlow.
TEST_F(LoopGradientsTest, JoinedAndSplitListsAreDifferentiated) {
  Check(
      [](const Scope& s, const Inputs& in) {
        const Output rows = ops::Stack(s, {in.x, in.w, ops::Mul(s, in.x, 3.0)});
        const Output list = s.AddOutput("TensorListFromTensor",
                                        {rows, Tensor::Vector<int32_t>({-1})});
        const Output set =
            s.AddOutput("TensorListScatterIntoExistingList",
                        {list, ops::Stack(s, {ops::Mul(s, in.x, in.w), in.w}),
                         Tensor::Vector<int32_t>({2, 0})});
        const Output gathered =
            s.AddOutput("TensorListGather",
                        {set, Tensor::Vector<int32_t>({2, 1, 0}),
                         Tensor::Vector<int32_t>({3})},
                        {{"element_dtype", DT_DOUBLE}});
        const Output joined = s.AddOutput(
            "TensorListConcatV2",
            {set, Tensor::Vector<int32_t>({-1}), Tensor::Vector<int64_t>({})},
            {{"element_dtype", DT_DOUBLE}});
        const Output old = s.AddOutput("TensorListConcat", {list},
                                       {{"element_dtype", DT_DOUBLE}});
        const Output parts = s.AddOutput(
            "TensorListSplit",
            {ops::Mul(s, joined, old), Tensor::Vector<int32_t>({-1}),
             Tensor::Vector<int64_t>({4, 0, 2, 3})});
        return Values{ops::Reshape(s, gathered, Tensor::Vector<int32_t>({9})),
                      joined,
                      s.AddOutput("TensorListConcatV2",
                                  {parts, Tensor::Vector<int32_t>({-1}),
                                   Tensor::Vector<int64_t>({})},
                                  {{"element_dtype", DT_DOUBLE}}),
                      ItemAt(s, parts, s.ToOutput(Tensor::Scalar(3)))};
      },
      {1});
}

TEST_F(LoopGradientsTest, ListPushedToInLoopIsDifferentiated) {
  Check([](const Scope& root, const Inputs& in) {
    const Values results = ops::WhileLoop(
        root, {0, in.x, EmptyList(root)},
        [&](const Scope& s, const Values& v) {
          return ops::Less(s, v[0], in.n);
        },
        [&](const Scope& s, const Values& v) {
          const Output next = ops::Mul(s, v[1], in.w);
          return Values{ops::Add(s, v[0], 1), next,
                        s.AddOutput("TensorListPushBack", {v[2], next})};
        });
    return Values{results[1], Stacked(root, results[2])};
  });
}

TEST_F(LoopGradientsTest, ListReadAndSetInLoopIsDifferentiated) {
  Check([](const Scope& root, const Inputs& in) {
    const Output rows =
        ops::Stack(root, {in.x, in.w, ops::Mul(root, in.x, 2.0), in.x, in.w});
    const Output read = root.AddOutput("TensorListFromTensor",
                                       {rows, Tensor::Vector<int32_t>({3})});
    const Values results = ops::WhileLoop(
        root, {0, in.w, read},
        [&](const Scope& s, const Values& v) {
          return ops::Less(s, v[0], in.n);
        },
        [&](const Scope& s, const Values& v) {
          const Output item = ops::Mul(s, ItemAt(s, read, v[0]), v[1]);
          const Output set =
              s.AddOutput("TensorListSetItem", {v[2], v[0], item});
          return Values{ops::Add(s, v[0], 1),
                        ops::Mul(s, v[1], ItemAt(s, v[2], v[0])), set};
        });
    return Values{results[1], Stacked(root, results[2])};
  });
}

}  // namespace
}  // namespace weft
