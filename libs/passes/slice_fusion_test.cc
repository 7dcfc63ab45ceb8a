#include "libs/passes/slice_fusion.h"

#include <string>

#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

// The part of a layer's gradient that an embedding receives.
class SliceFusionTest : public ::testing::Test {
 protected:
  const Node* Product(const Nodes& controls = {}) {
    return g_.Add("MatMul", "product", {x_, w_}, {{"transpose_b", true}},
                  controls);
  }
  const Node* Slice(const Node* of, const std::string& name = "slice") {
    return g_.Add("Slice", name, {of, begin_, size_});
  }
  Rewritten Run() {
    GraphRewrite rewrite(g_.graph());
    FuseSlices(rewrite);
    return Rewritten(rewrite);
  }
  std::string TypeOfSlice() { return Run().Find("slice")->type(); }

  SmallGraph g_;
  const Node* x_ = g_.Arg("x");
  const Node* w_ = g_.Arg("w");
  const Node* begin_ = g_.Const("begin", Tensor::Vector<int64_t>({0, 3}));
  const Node* size_ = g_.Const("size", Tensor::Vector<int64_t>({-1, 8}));
};

TEST_F(SliceFusionTest, ProductIsFusedIntoItsOnlySlice) {
  g_.Fetch(Slice(Product()));
  const Rewritten result = Run();
  const Node* const slice = result.Find("slice");
  EXPECT_EQ(slice->type(), "_SlicedMatMul");
  EXPECT_EQ(result.Input("slice", 0), "x:0");
  EXPECT_EQ(result.Input("slice", 1), "w:0");
  EXPECT_EQ(result.Input("slice", 2), "begin:0");
  EXPECT_EQ(result.Input("slice", 3), "size:0");
  EXPECT_FALSE(*slice->attr<bool>("transpose_a"));
  EXPECT_TRUE(*slice->attr<bool>("transpose_b"));
  EXPECT_EQ(*slice->attr<DataType>("Index"), DT_INT64);
  EXPECT_EQ(*slice->attr<std::string>("product_name"), "product");
  EXPECT_FALSE(result.Has("product"));
}

TEST_F(SliceFusionTest, ProductWithOtherConsumersStays) {
  const Node* product = Product();
  g_.Fetch(Slice(product));
  g_.Fetch(product);
  EXPECT_EQ(TypeOfSlice(), "Slice");
}

TEST_F(SliceFusionTest, ProductOfTwoSlicesStays) {
  const Node* product = Product();
  g_.Fetch(Slice(product));
  g_.Fetch(Slice(product, "other"));
  EXPECT_EQ(TypeOfSlice(), "Slice");
}

TEST_F(SliceFusionTest, ProductWithControlInputKeepsIt) {
  g_.Fetch(Slice(Product({g_.Effect("effect", {})})));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("slice")->type(), "Slice");
  EXPECT_EQ(result.Controls("product"), std::vector<std::string>({"effect"}));
}

TEST_F(SliceFusionTest, ProductWithControlOutputStays) {
  const Node* product = Product();
  g_.Fetch(Slice(product));
  g_.Fetch(g_.Effect("after", {product}));
  EXPECT_EQ(TypeOfSlice(), "Slice");
}

TEST_F(SliceFusionTest, ProductOnAnotherDeviceStays) {
  const Node* product =
      g_.Add("MatMul", "product", {x_, w_}, {}, {}, kOtherCpu);
  g_.Fetch(Slice(product));
  EXPECT_EQ(TypeOfSlice(), "Slice");
}

TEST_F(SliceFusionTest, ProductOfDoublesStays) {
  const Node* x = g_.Arg("doubles", DT_DOUBLE);
  g_.Fetch(Slice(g_.Add("MatMul", "product", {x, x})));
  EXPECT_EQ(TypeOfSlice(), "Slice");
}

// The product need not wait for it.
TEST_F(SliceFusionTest, ReceivedSliceBoundsDoNotDelayTheProduct) {
  begin_ = g_.Arg("begin_of_a_peer", DT_INT64);
  g_.Fetch(Slice(Product()));
  EXPECT_EQ(TypeOfSlice(), "Slice");
}

TEST_F(SliceFusionTest, SliceOfAnotherOpStays) {
  g_.Fetch(Slice(g_.Add("Relu", "relu", {Product()})));
  EXPECT_EQ(TypeOfSlice(), "Slice");
}

}  // namespace
}  // namespace weft
