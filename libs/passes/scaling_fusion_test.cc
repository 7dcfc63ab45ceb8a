#include "libs/passes/scaling_fusion.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

// The gradient of a mean of squares: (x * 2) times a tensor of x's shape with
// equal elements.
class ScalingFusionTest : public ::testing::Test {
 protected:
  void SetUp() override { x_ = g_.Arg("x"); }

  const Node* Twice(const Nodes& controls = {}) {
    return g_.Add("Mul", "twice", {x_, g_.Const("two", Tensor::Scalar(2.0f))},
                  {}, controls);
  }
  const Node* Repeated(const Tensor& number, const Tensor& shape) {
    return g_.Add("BroadcastTo", "repeated",
                  {g_.Const("number", number), g_.Const("shape", shape)},
                  {{"Tidx", shape.dtype()}});
  }
  const Node* Repeated() {
    return Repeated(Tensor::FromValues<float>(TensorShape({1, 1}), {.5f}),
                    Tensor::Vector<int32_t>({70, 3}));
  }
  Rewritten Run() {
    GraphRewrite rewrite(g_.graph());
    FuseScaling(rewrite);
    return Rewritten(rewrite);
  }
  // Returns the product that replaces the product of x with that.
  std::string With(const Node* repeated) {
    g_.Fetch(g_.Add("Mul", "y", {repeated, x_}));
    return Run().Find("y")->type();
  }

  SmallGraph g_;
  const Node* x_ = nullptr;
};

TEST_F(ScalingFusionTest, GradientOfSquaresIsFused) {
  g_.Fetch(g_.Add("Mul", "y", {Repeated(), Twice()}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("y")->type(), "_MulInTurn");
  EXPECT_EQ(result.Input("y", 0), "x:0");
  EXPECT_EQ(result.Input("y", 1), "two:0");
  EXPECT_EQ(result.Input("y", 2), "number:0");
  EXPECT_EQ(result.Input("y", 3), "shape:0");
  EXPECT_FALSE(result.Has("twice"));
  EXPECT_FALSE(result.Has("repeated"));
}

TEST_F(ScalingFusionTest, ProductWithOtherConsumersStays) {
  const Node* twice = Twice();
  g_.Fetch(g_.Add("Mul", "y", {twice, Repeated()}));
  g_.Fetch(twice);
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("y")->type(), "_MulInTurn");
  EXPECT_EQ(result.Input("y", 0), "twice:0");
  EXPECT_EQ(result.Input("y", 1), "number:0");
}

TEST_F(ScalingFusionTest, ProductWithControlInputStays) {
  g_.Fetch(g_.Add("Mul", "y", {Repeated(), Twice({g_.Effect("effect", {})})}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Input("y", 0), "twice:0");
  EXPECT_EQ(result.Controls("twice"), std::vector<std::string>({"effect"}));
}

TEST_F(ScalingFusionTest, TiledVectorStays) {
  EXPECT_EQ(With(Repeated(Tensor::Vector<float>({1, 2, 3}),
                          Tensor::Vector<int32_t>({2, 3}))),
            "Mul");
}

TEST_F(ScalingFusionTest, ShapeErrorNamesTheSameNode) {
  const Tensor row = Tensor::FromValues<float>(TensorShape({1, 1}), {1});
  EXPECT_EQ(With(Repeated(row, Tensor::Vector<int64_t>({2, -3}))), "Mul");
}

TEST_F(ScalingFusionTest, NanPayloadIsPreserved) {
  EXPECT_EQ(
      With(Repeated(Tensor::Scalar(std::numeric_limits<float>::quiet_NaN()),
                    Tensor::Vector<int32_t>({3}))),
      "Mul");
}

// The tiled tensor is multiplied by another one later, and read then.
TEST_F(ScalingFusionTest, ScalarIsNotTiled) {
  const Node* repeated = Repeated();
  const Node* two = g_.Const("two", Tensor::Scalar(2.0f));
  g_.Fetch(g_.Add("Mul", "y", {repeated, two}));
  EXPECT_EQ(Run().Find("y")->type(), "Mul");
}

TEST_F(ScalingFusionTest, DynamicShapesStay) {
  const Node* number = g_.Const("number", Tensor::Scalar(2.0f));
  const Node* shape = g_.Add("Shape", "shape", {x_});
  EXPECT_EQ(With(g_.Add("BroadcastTo", "repeated", {number, shape})), "Mul");
}

}  // namespace
}  // namespace weft
