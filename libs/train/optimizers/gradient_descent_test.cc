#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/train/optimizers/optimizer.h"
#include "libs/train/testing/scalar_graph.h"

namespace weft::train {
namespace {

class GradientDescentTest : public testing::TestWithParam<bool> {
 protected:
  ops::Variable Table(DataType dtype = DT_FLOAT) {
    return ops::Variable(root_.WithName("w"),
                         Tensor(dtype, TensorShape({4, 2})),
                         {.use_resource = GetParam()});
  }
  Gradient Rows() {
    Gradient rows;
    rows.values = ops::Placeholder(root_.WithName("values"), DT_FLOAT,
                                   {.shape = {-1, 2}});
    rows.indices =
        ops::Placeholder(root_.WithName("rows"), DT_INT32, {.shape = {-1}});
    return rows;
  }
  const Node* Find(const std::string& op) {
    return root_.graph().FindNode(
        absl::StrCat("GradientDescent/update_w/", op));
  }
  std::string DenseOp() const {
    return absl::StrCat(GetParam() ? "Resource" : "", "ApplyGradientDescent");
  }

  ScalarGraph graph_;
  const Scope root_ = graph_.root();
};

TEST_P(GradientDescentTest, RateIsCastToTypeOfVariable) {
  const ops::Variable w = Table(DT_DOUBLE);
  const Output gradient =
      ops::Const(root_, Tensor(DT_DOUBLE, TensorShape({4, 2})));
  GradientDescent(0.25).ApplyGradients(root_, {{Gradient(gradient), w}});
  ASSERT_OK(root_.status());
  const Node* update = Find(DenseOp());
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->input(1).node->type(), "Cast");
  EXPECT_NEAR(graph_.ValueOf(update->input(1)), 0.25, kNear);
  EXPECT_EQ(update->input(2).node, gradient.node());
}

// Adding -rate * gradient is the same as subtracting rate * gradient.
TEST_P(GradientDescentTest, RowsMoveAgainstTheirGradient) {
  const ops::Variable w = Table();
  const Gradient rows = Rows();
  GradientDescent(0.25).ApplyGradients(root_, {{rows, w}});
  ASSERT_OK(root_.status());
  const Node* update = Find(GetParam() ? "ResourceScatterAdd" : "ScatterSub");
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->input(0).node, w.handle().node());
  EXPECT_EQ(update->input(1).node, rows.indices.node());
  graph_.Set(rows.values, 3);
  EXPECT_NEAR(graph_.ValueOf(update->input(2)), GetParam() ? -0.75 : 0.75,
              kNear);
}

TEST_P(GradientDescentTest, OptimizerCreatesNoVariables) {
  GradientDescent optimizer(0.25);
  const ops::Variable w = Table();
  optimizer.ApplyGradients(root_, {{Rows(), w}});
  ASSERT_OK(root_.status());
  EXPECT_EQ(ops::GlobalVariables(root_).size(), 1u);
  EXPECT_EQ(optimizer.name(), "GradientDescent");
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, GradientDescentTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

}  // namespace
}  // namespace weft::train
