// Tests functions built from ops: their captures, the arguments of calls, and
// errors. integration_tests covers the results of calls.
#include "libs/ops/control/function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Values = std::vector<Output>;

class FunctionTest : public testing::Test {
 protected:
  Output In(const char* name, DataType dtype = DT_FLOAT,
            PartialShape shape = {2}) {
    return ops::Placeholder(root_.WithName(name), dtype, {.shape = shape});
  }
  const FunctionDef* Definition(const ops::Function& function) {
    return root_.graph().functions().Find(function.name());
  }
  std::vector<std::string> Ops(const ops::Function& function) {
    std::vector<std::string> ops;
    for (const FunctionNode& node : Definition(function)->nodes) {
      ops.push_back(node.op);
    }
    return ops;
  }
  static Values Twice(const Scope& s, const Values& v) {
    return {ops::Add(s, v[0], v[0])};
  }
  void ExpectRefused(absl::string_view text) {
    EXPECT_EQ(root_.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(root_.status().message()),
                HasSubstr(std::string(text)));
  }

  const Scope root_ = Scope::Root();
};

TEST_F(FunctionTest, CallIsANodeAndBodyIsInTheLibrary) {
  const ops::Function twice(root_, "twice", {{DT_FLOAT, {2}}}, Twice);
  const Values y = twice(root_.WithName("call"), {In("x")});
  ASSERT_OK(root_.status());
  EXPECT_EQ(y[0].name(), "call:0");
  EXPECT_EQ(y[0].node()->type(), "PartitionedCall");
  EXPECT_EQ(y[0].shape(), PartialShape({2}));
  EXPECT_THAT(Ops(twice), ElementsAre("Add"));
  EXPECT_EQ(root_.graph().num_nodes(), 2);
}

TEST_F(FunctionTest, OuterValuesAreCapturedOnce) {
  const Output w = In("w"), b = In("b");
  const ops::Function f(
      root_, "f", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, ops::Mul(s, w, v[0]), ops::Mul(s, w, b)), b};
      });
  ASSERT_OK(root_.status());
  EXPECT_THAT(f.captured_inputs(), ElementsAre(w, b));
  const Values y = f(root_, {In("x")});
  ASSERT_OK(root_.status());
  EXPECT_EQ(y[0].node()->num_inputs(), 3);
  EXPECT_EQ(Output(y[0].node()->input(2)), b);
}

TEST_F(FunctionTest, VariableIsCapturedByItsHandle) {
  const ops::Variable w(root_.WithName("w"), Tensor(DT_FLOAT, {2, 3}));
  const ops::Function f(root_, "f", {{DT_FLOAT, {4, 2}}},
                        [&](const Scope& s, const Values& v) {
                          return Values{ops::MatMul(s, v[0], w)};
                        });
  ASSERT_OK(root_.status());
  EXPECT_THAT(f.captured_inputs(), ElementsAre(w.handle()));
  EXPECT_THAT(Ops(f), ElementsAre("ReadVariableOp", "MatMul"));
  EXPECT_EQ(f.results()[0].shape, PartialShape({4, 3}));
  EXPECT_TRUE(f.is_stateful());
  EXPECT_THAT(Definition(f)->control_results, IsEmpty());
}

TEST_F(FunctionTest, ReferenceVariableIsCapturedByValue) {
  const ops::Variable w(root_.WithName("w"), 1.0f, {.use_resource = false});
  const ops::Function f(root_, "f", {}, [&](const Scope& s, const Values&) {
    return Values{ops::Neg(s, w)};
  });
  ASSERT_OK(root_.status());
  EXPECT_THAT(f.captured_inputs(), ElementsAre(w.value()));
  EXPECT_FALSE(f.is_stateful());
}

TEST_F(FunctionTest, VariableCreatedInsideExistsOutside) {
  const ops::Function f(root_, "f", {DT_FLOAT},
                        [&](const Scope& s, const Values& v) {
                          const ops::Variable w =
                              ops::GetVariable(s, "w", PartialShape::Scalar());
                          const ops::Variable b(s.WithName("b"), 1.0f);
                          return Values{ops::Add(s, ops::Mul(s, v[0], w), b)};
                        });
  ASSERT_OK(root_.status());
  EXPECT_EQ(ops::TrainableVariables(root_).size(), 2u);
  EXPECT_NE(root_.graph().FindNode("w"), nullptr);
  EXPECT_NE(root_.graph().FindNode("b"), nullptr);
  EXPECT_EQ(f.captured_inputs().size(), 2u);
}

TEST_F(FunctionTest, SideEffectsAreControlResults) {
  const ops::Variable n(root_.WithName("n"), 0.0f);
  const ops::Function f(root_, "f", {}, [&](const Scope& s, const Values&) {
    ops::AssignAdd(s.WithName("count"), n, 1);
    return Values{ops::Const(s, 1.0f)};
  });
  ASSERT_OK(root_.status());
  EXPECT_THAT(Definition(f)->control_results, ElementsAre("count"));
  EXPECT_EQ(f.Call(root_, {}).node()->type(), "StatefulPartitionedCall");
}

TEST_F(FunctionTest, NestedFunctionCapturesThroughTheOuter) {
  const Output a = In("a"), b = In("b");
  const ops::Function outer(
      root_, "outer", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        const ops::Function inner(
            s, "inner", {DT_FLOAT}, [&](const Scope& t, const Values& u) {
              return Values{ops::AddN(t, {u[0], v[0], a, b})};
            });
        EXPECT_EQ(inner.captured_inputs().size(), 3u);
        return inner(s, {v[0]});
      });
  ASSERT_OK(root_.status());
  EXPECT_THAT(outer.captured_inputs(), ElementsAre(a, b));
  EXPECT_NE(root_.graph().functions().Find("inner"), nullptr);
  EXPECT_THAT(Ops(outer), ElementsAre("PartitionedCall"));
}

TEST_F(FunctionTest, FunctionMayBeCalledInAnEarlierOne) {
  ops::Function late;
  const ops::Function early(
      root_, "early", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        late = ops::Function(root_, "late", {DT_FLOAT}, Twice);
        return late(s, {v[0]});
      });
  ASSERT_OK(root_.status());
  EXPECT_OK(root_.graph().FindOp("early") == nullptr
                ? absl::InternalError("early is missing")
                : absl::OkStatus());
  EXPECT_THAT(Ops(early), ElementsAre("PartitionedCall"));
}

TEST_F(FunctionTest, NamesAreUnique) {
  const ops::Function a(root_, "twice", {DT_FLOAT}, Twice);
  const ops::Function b(root_, "twice", {DT_FLOAT}, Twice);
  const ops::Function c(root_, "Add", {DT_FLOAT}, Twice);
  ASSERT_OK(root_.status());
  EXPECT_EQ(a.name(), "twice");
  EXPECT_EQ(b.name(), "twice_1");
  EXPECT_EQ(c.name(), "Add_1");
}

TEST_F(FunctionTest, BodyNodesMayHaveArgumentNames) {
  const ops::Function f(root_, "f", {DT_FLOAT},
                        [&](const Scope& s, const Values& v) {
                          return Values{ops::Neg(s.WithName("arg_0"), v[0])};
                        });
  EXPECT_OK(root_.status());
  EXPECT_EQ(Definition(f)->nodes[0].name, "arg_0");
}

TEST_F(FunctionTest, CallKeepsTheBodysControlInputs) {
  const Operation before = ops::NoOp(root_.WithName("before"));
  const ops::Function f(
      root_, "f", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        return Values{ops::Neg(s.WithControlDependencies({before}), v[0])};
      });
  const Operation call = f.Call(root_, {In("x")});
  ASSERT_OK(root_.status());
  EXPECT_THAT(call.node()->control_inputs(), ElementsAre(before.node()));
}

TEST_F(FunctionTest, BranchesTakeTheSameInputs) {
  const Output x = In("x"), y = In("y");
  const Values z = ops::If(
      root_, In("pred", DT_BOOL, PartialShape::Scalar()),
      [&](const Scope& s) { return Values{ops::Neg(s, y)}; },
      [&](const Scope& s) { return Values{ops::Mul(s, x, y)}; });
  ASSERT_OK(root_.status());
  EXPECT_EQ(z[0].node()->type(), "StatelessIf");
  EXPECT_EQ(z[0].name(), "cond:0");
  EXPECT_EQ(z[0].shape(), PartialShape({2}));
  const auto& library = root_.graph().functions();
  EXPECT_EQ(library.Find("cond_true")->signature.inputs.size(), 2u);
  EXPECT_EQ(library.Find("cond_false")->signature.inputs.size(), 2u);
}

TEST_F(FunctionTest, LoopPassesItsCaptures) {
  const Output step = In("step", DT_FLOAT, PartialShape::Scalar());
  const Output limit = In("limit", DT_FLOAT, PartialShape::Scalar());
  const Values last = ops::While(
      root_, {0.0f, In("x")},
      [&](const Scope& s, const Values& v) {
        return ops::Less(s, v[0], limit);
      },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], step), ops::Add(s, v[1], v[1])};
      });
  ASSERT_OK(root_.status());
  EXPECT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].node()->num_inputs(), 4);
  EXPECT_EQ(root_.graph().functions().Find("while_body")->results.size(), 4u);
  EXPECT_EQ(last[1].shape(), PartialShape({2}));
}

TEST_F(FunctionTest, BodyErrorNamesItsFunction) {
  const ops::Function f(
      root_, "wrong", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], ops::Const(s, Tensor::Scalar(1)))};
      });
  EXPECT_FALSE(f);
  ExpectRefused("Function 'wrong'");
}

TEST_F(FunctionTest, MissingResultIsRejected) {
  ops::Function(root_, "f", {},
                [](const Scope&, const Values&) { return Values{Output()}; });
  ExpectRefused("Function 'f': result 0 is missing");
}

TEST_F(FunctionTest, BodyNodesCannotBeUsedOutside) {
  Output inside;
  ops::Function(root_, "f", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
    inside = ops::Neg(s, v[0]);
    EXPECT_OK(root_.status());
    ops::Neg(root_, inside);
    return Values{inside};
  });
  ExpectRefused("of another graph");
}

TEST_F(FunctionTest, WrongArgumentsAreRefused) {
  const ops::Function f(root_, "f", {{DT_FLOAT, {2}}}, Twice);
  f(root_, {In("x", DT_FLOAT, {3})});
  ExpectRefused("Function 'f': argument 0 is float of shape [2]");
}

TEST_F(FunctionTest, WrongNumberOfArgumentsIsRefused) {
  const ops::Function f(root_, "f", {DT_FLOAT}, Twice);
  f(root_, {});
  ExpectRefused("takes 1 arguments, but got 0");
}

TEST_F(FunctionTest, BranchesThatDisagreeAreRefused) {
  const Output x = In("x");
  ops::If(
      root_, In("pred", DT_BOOL, PartialShape::Scalar()),
      [&](const Scope&) { return Values{x}; },
      [&](const Scope& s) { return Values{ops::Cast(s, x, DT_INT32)}; });
  ExpectRefused("'cond_true' and 'cond_false'");
}

TEST_F(FunctionTest, LoopVariableOfChangingShapeIsRejected) {
  ops::While(
      root_, {In("x")},
      [&](const Scope& s, const Values& v) {
        return ops::Less(s, ops::Size(s, v[0]), 9);
      },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Concat(s, {v[0], v[0]}, 0)};
      });
  ExpectRefused("loop variable 0 becomes of shape [4]");
}

TEST_F(FunctionTest, TheGraphIsExportedWithItsFunctions) {
  const ops::Function twice(root_, "twice", {DT_FLOAT}, Twice);
  twice(root_.WithName("call"), {In("x")});
  ASSERT_OK(root_.status());
  const std::string bytes = ExportGraphDef(root_.graph()).value();
  const Scope other = Scope::Root();
  ASSERT_OK(ImportGraphDef(bytes, other.graph()));
  EXPECT_EQ(other.graph().functions().Fingerprint("twice"),
            root_.graph().functions().Fingerprint("twice"));
}

}  // namespace
}  // namespace weft
