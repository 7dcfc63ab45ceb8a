// Builds the variable scopes of the conformance case
// programs/variable_scope_names with Weft's own builders. Node names and values
// equal those of TensorFlow's program.
#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// The list `node_names` of the conformance case.
const std::vector<std::string> kNodeNames = {
    "init",
    "outer/inner/v",
    "outer/inner/v/Assign",
    "outer/inner/v/Initializer/Const",
    "outer/inner/v/read",
    "outer/inner/y",
    "outer/inner/y/y",
    "outer/inner_1/z",
    "outer/inner_1/z/y",
    "outer/ops/q",
};

TEST(VariableScopeNamesTest, NamesAndValuesMatchTensorFlow) {
  Scope root = Scope::Root();
  Scope outer = ops::VariableScope(root, "outer", {.use_resource = false});
  Scope inner = ops::VariableScope(outer, "inner");
  const Tensor initial = Tensor::Vector<float>({1, 2});
  ops::Variable v = ops::GetVariable(
      inner, "v", {2}, {.initializer = ops::initializers::Constant(initial)});
  Output y = ops::AddV2(inner.WithName("y"), v, 1.0f);
  Scope again =
      ops::VariableScope(outer, "inner", {.reuse = ops::Reuse::kTrue});
  ops::Variable same = ops::GetVariable(again, "v", {2});
  Output z = ops::AddV2(again.WithName("z"), same, 10.0f);
  Output q = ops::Mul(outer.SubScope("ops").WithName("q"), y, z);
  Operation init = ops::GlobalVariablesInitializer(root);
  ASSERT_OK(root.status());

  std::vector<std::string> names;
  for (const Node* node : root.graph().nodes()) names.push_back(node->name());
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAreArray(kNodeNames));

  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
  ASSERT_OK(session->Run(init));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                       session->Run({}, std::vector<Output>{v, y, z, q}));
  EXPECT_THAT(values[0].flat<float>(), ElementsAre(1, 2));
  EXPECT_THAT(values[1].flat<float>(), ElementsAre(2, 3));
  EXPECT_THAT(values[2].flat<float>(), ElementsAre(11, 12));
  EXPECT_THAT(values[3].flat<float>(), ElementsAre(22, 36));
}

}  // namespace
}  // namespace weft
