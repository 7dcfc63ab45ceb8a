#include "libs/ops/state/get_variable.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libs/base/test_matchers.h"

namespace weft::ops {
namespace {

using testing::ElementsAre;

TEST(GetVariableTest, RefusesASecondVariableOfAName) {
  const Scope root = Scope::Root();
  GetVariable(root, "x", {2});
  EXPECT_FALSE(GetVariable(root, "x", {2}));
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid, "Variable x already exists, disallowed."));
}

TEST(GetVariableTest, SharedVariablesAgree) {
  const struct {
    PartialShape shape;
    DataType dtype;
    const char* error;
  } cases[] = {
      {{3}, DT_FLOAT, "but specified shape [3] and found shape [2]."},
      {{2}, DT_DOUBLE, "but specified dtype double and found dtype float."}};
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    const Scope scope = VariableScope(root, "s", {.reuse = kAutoReuse});
    GetVariable(scope, "x", {2});
    GetVariable(scope, "x", PartialShape(c.shape), {.dtype = c.dtype});
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.error));
  }
}

TEST(GetVariableTest, DefaultInitializersDependOnTheType) {
  const Scope root = Scope::Root();
  EXPECT_EQ(GetVariable(root, "f", {2, 3}).initial_value().name(),
            "f/Initializer/random_uniform:0");
  EXPECT_EQ(
      GetVariable(root, "i", {2}, {.dtype = DT_INT32}).initial_value().name(),
      "i/Initializer/zeros:0");
  ASSERT_THAT(root.status(), IsOk());
  GetVariable(root, "s", {2}, {.dtype = DT_STRING});
  EXPECT_THAT(root.status(), StatusIs(kInvalid,
                                      "An initializer for variable s "
                                      "of string is required"));
}

TEST(GetVariableTest, ValuesBringTheirShape) {
  const Scope root = Scope::Root();
  const Variable x =
      GetVariable(root, "x", {.initial_value = Input({1.0, 2.0, 3.0})});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_EQ(x.dtype(), DT_FLOAT);
  EXPECT_EQ(x.shape(), (PartialShape{3}));
  GetVariable(root, "y", {3}, {.initial_value = Input(1.0)});
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "do not specify shape"));
}

TEST(GetVariableTest, ShapesMustBeKnown) {
  const Scope root = Scope::Root();
  GetVariable(root, "x", PartialShape{PartialShape::kUnknown, 2});
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid,
                       "Shape of a new variable (x) must be fully "
                       "defined, but instead was [?,2]."));
}

TEST(GetVariableTest, CollectsRegularizationLosses) {
  const Scope root = Scope::Root();
  int calls = 0;
  const Scope scope = VariableScope(
      root, "s",
      {.reuse = kAutoReuse, .regularizer = [&](const Scope& at, Output value) {
         ++calls;
         return at.AddOutput("Square", {value});
       }});
  GetVariable(scope, "x", {2});
  GetVariable(scope, "x", {2});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_EQ(calls, 1);
  const auto losses = root.GetCollection(collection::kRegularizationLosses);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].name(), "s/x/Regularizer/Square:0");
}

}  // namespace
}  // namespace weft::ops
