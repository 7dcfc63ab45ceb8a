#include "libs/ops/state/variable_scope.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libs/base/test_matchers.h"
#include "libs/ops/state/get_variable.h"

namespace weft::ops {
namespace {

using testing::ElementsAre;

// The program of conformance case programs/variable_scope_names.
TEST(VariableScopeTest, NamesNodesAsTensorFlowDoes) {
  const Scope root = Scope::Root();
  const Scope outer = VariableScope(root, "outer", {.use_resource = false});
  const Scope inner = VariableScope(outer, "inner");
  const Variable v = GetVariable(
      inner, "v", {2}, {.initializer = initializers::Constant({1.0, 2.0})});
  const Output y = inner.WithName("y").AddOutput("AddV2", {v, 1.0f});
  const Scope again = VariableScope(outer, "inner", {.reuse = Reuse::kTrue});
  const Variable same = GetVariable(again, "v", {2});
  const Output z = again.WithName("z").AddOutput("AddV2", {same, 10.0f});
  outer.SubScope("ops").WithName("q").AddOutput("Mul", {y, z});
  GlobalVariablesInitializer(root);
  ASSERT_THAT(root.status(), IsOk());
  std::vector<std::string> names;
  for (const Node* node : root.graph().nodes()) names.push_back(node->name());
  std::sort(names.begin(), names.end());
  EXPECT_THAT(
      names,
      ElementsAre("init", "outer/inner/v", "outer/inner/v/Assign",
                  "outer/inner/v/Initializer/Const", "outer/inner/v/read",
                  "outer/inner/y", "outer/inner/y/y", "outer/inner_1/z",
                  "outer/inner_1/z/y", "outer/ops/q"));
  EXPECT_EQ(same, v);
}

TEST(VariableScopeTest, ReuseControlsGetVariable) {
  const Scope root = Scope::Root();
  const Scope automatic = VariableScope(root, "a", {.reuse = kAutoReuse});
  const Variable x = GetVariable(automatic, "x", {2});
  EXPECT_EQ(GetVariable(automatic, "x", {2}), x);
  const Scope found = VariableScope(root, "a", {.reuse = Reuse::kTrue});
  EXPECT_EQ(GetVariable(found, "x", {2}), x);
  // An inner scope cannot disable reuse.
  EXPECT_EQ(
      VariableScopeReuse(VariableScope(found, "in", {.reuse = Reuse::kFalse})),
      Reuse::kTrue);
  ASSERT_THAT(root.status(), IsOk());
  GetVariable(found, "y", {2});
  EXPECT_THAT(root.status(), StatusIs(kInvalid,
                                      "Variable a/y does not exist, or was not "
                                      "created with tf.get_variable() "
                                      "(ops::GetVariable). Did you mean to set "
                                      "reuse=tf.AUTO_REUSE (ops::kAutoReuse)"));
}

TEST(VariableScopeTest, InnerOptionsWin) {
  const Scope root = Scope::Root();
  const Scope outer = VariableScope(
      root, "o", {.initializer = initializers::Ones(), .dtype = DT_DOUBLE});
  const Variable a = GetVariable(outer, "a", {2});
  EXPECT_EQ(a.dtype(), DT_DOUBLE);
  EXPECT_EQ(a.initial_value().name(), "o/a/Initializer/ones:0");
  const Variable b =
      GetVariable(VariableScope(outer, "i"), "b", {2},
                  {.dtype = DT_INT32, .initializer = initializers::Zeros()});
  EXPECT_EQ(b.dtype(), DT_INT32);
  EXPECT_EQ(b.initial_value().name(), "o/i/b/Initializer/zeros:0");
}

TEST(VariableScopeTest, UniqueScopesCount) {
  const Scope root = Scope::Root();
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(root, "l")), "l");
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(root, "l")), "l_1");
  const Scope a = VariableScope(root, "a");
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(a, "l")), "a/l");
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(a, "l")), "a/l_1");
  // Opening the outer scope again restarts the numbering, so that variables are
  // shared.
  const Scope again = VariableScope(root, "a");
  EXPECT_EQ(VariableScopeName(UniqueVariableScope(again, "l")), "a/l");
  const Scope entered = ReenterVariableScope(root, a, {.reuse = kAutoReuse});
  EXPECT_EQ(VariableScopeName(entered), "a");
  EXPECT_EQ(entered.prefix(), "a_2/");
}

}  // namespace
}  // namespace weft::ops
