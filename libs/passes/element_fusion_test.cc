#include "libs/passes/element_fusion.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/passes/testing/small_graph.h"

namespace weft {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<int64_t>;

class ElementFusionTest : public ::testing::Test {
 protected:
  const Node* Product(const Nodes& controls = {}) {
    return g_.Add("MatMul", "product", {x_, w_}, {{"transpose_b", true}},
                  controls);
  }
  const Node* Bias(const Node* value, const std::string& name = "bias_add") {
    return g_.Add("BiasAdd", name, {value, b_});
  }
  Rewritten Run() {
    GraphRewrite rewrite(g_.graph());
    FuseElements(rewrite);
    return Rewritten(rewrite);
  }
  static Names Attr(const Rewritten& result, const std::string& node,
                    const char* attr) {
    const Node* found = result.Find(node);
    const auto* names = found == nullptr ? nullptr : found->attr<Names>(attr);
    return names == nullptr ? Names{"none"} : *names;
  }
  static Numbers Operands(const Rewritten& result, const std::string& node) {
    const auto* numbers = result.Find(node)->attr<Numbers>("fused_operands");
    return numbers == nullptr ? Numbers() : *numbers;
  }

  SmallGraph g_;
  const Node* x_ = g_.Arg("x");
  const Node* w_ = g_.Arg("w");
  const Node* b_ = g_.Arg("b");
};

TEST_F(ElementFusionTest, LayerIsFusedIntoOneNode) {
  g_.Fetch(g_.Add("Relu", "relu", {Bias(Product())}));
  const Rewritten result = Run();
  const Node* fused = result.Find("relu");
  EXPECT_EQ(fused->type(), "_FusedMatMul");
  EXPECT_EQ(result.Input("relu", 0), "x:0");
  EXPECT_EQ(result.Input("relu", 1), "w:0");
  EXPECT_EQ(result.Input("relu", 2), "b:0");
  EXPECT_TRUE(*fused->attr<bool>("transpose_b"));
  EXPECT_EQ(Attr(result, "relu", "fused_ops"), Names({"BiasAdd", "Relu"}));
  EXPECT_EQ(Attr(result, "relu", "fused_names"),
            Names({"product", "bias_add", "relu"}));
  EXPECT_EQ(Operands(result, "relu"), Numbers({1, 0, 2, -1}));
  EXPECT_FALSE(result.Has("product"));
  EXPECT_FALSE(result.Has("bias_add"));
}

TEST_F(ElementFusionTest, AConvolutionKeepsItsAttrs) {
  const Node* conv = g_.Add(
      "Conv2D", "conv", {x_, w_},
      {{"strides", Numbers{1, 2, 2, 1}}, {"padding", std::string("SAME")}});
  g_.Fetch(Bias(conv));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("bias_add")->type(), "_FusedConv2D");
  EXPECT_EQ(*result.Find("bias_add")->attr<Numbers>("strides"),
            Numbers({1, 2, 2, 1}));
}

// relu' * (dy times the transposed weights), with several consumers.
TEST_F(ElementFusionTest, GradientIsFusedIntoItsProduct) {
  const Node* y = g_.Arg("y");
  const Node* grad = g_.Add("ReluGrad", "grad", {Product(), y});
  g_.Fetch(grad);
  g_.Fetch(g_.Add("BiasAddGrad", "bias_grad", {grad}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("grad")->type(), "_FusedMatMul");
  EXPECT_EQ(result.Input("grad", 2), "y:0");
  EXPECT_EQ(Operands(result, "grad"), Numbers({1, 0}));
}

TEST_F(ElementFusionTest, ValueWithOtherConsumersStays) {
  const Node* sum = Bias(Product());
  g_.Fetch(sum);
  g_.Fetch(g_.Add("Tanh", "tanh", {sum}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("bias_add")->type(), "_FusedMatMul");
  EXPECT_EQ(result.Find("tanh")->type(), "Tanh");
}

TEST_F(ElementFusionTest, NodesWithControlEdgesStay) {
  const Node* product = Product({g_.Effect("effect")});
  const Node* sum = Bias(product);
  const Node* relu = g_.Add("Relu", "relu", {sum});
  g_.Fetch(relu);
  g_.Fetch(g_.Effect("later", {sum}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("product")->type(), "MatMul");
  EXPECT_EQ(result.Find("bias_add")->type(), "BiasAdd");
  EXPECT_EQ(result.Find("relu")->type(), "Relu");
}

TEST_F(ElementFusionTest, NodesOfOtherDevicesStay) {
  const Node* relu = g_.Add("Relu", "relu", {Product()}, {}, {}, kOtherCpu);
  g_.Fetch(relu);
  EXPECT_EQ(Run().Find("relu")->type(), "Relu");
}

TEST_F(ElementFusionTest, NodesOfOtherTypesStay) {
  const Node* n = g_.Arg("n", DT_INT32);
  g_.Fetch(g_.Add("Neg", "neg", {g_.Add("Square", "square", {n})}));
  EXPECT_EQ(Run().Find("neg")->type(), "Neg");
}

// sigmoid(x) * tanh(w) + x
TEST_F(ElementFusionTest, ChainIsFusedIntoOneNode) {
  const Node* a = g_.Add("Sigmoid", "a", {x_});
  const Node* c = g_.Add("Tanh", "c", {w_});
  const Node* product = g_.Add("Mul", "mul", {a, c});
  g_.Fetch(g_.Add("AddV2", "sum", {product, x_}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("sum")->type(), "_FusedElementwise");
  EXPECT_EQ(result.Find("sum")->num_inputs(), 2);
  EXPECT_EQ(Attr(result, "sum", "fused_ops"),
            Names({"Sigmoid", "Tanh", "Mul", "AddV2"}));
  EXPECT_EQ(Operands(result, "sum"), Numbers({0, -1, 1, -1, 2, 3, 4, 0}));
}

// A value used by two members is computed once.
TEST_F(ElementFusionTest, DiamondIsPartOfTheChain) {
  const Node* a = g_.Add("Exp", "a", {x_});
  const Node* left = g_.Add("Neg", "left", {a});
  const Node* right = g_.Add("Square", "right", {a});
  g_.Fetch(g_.Add("Mul", "mul", {left, right}));
  EXPECT_EQ(Attr(Run(), "mul", "fused_names"),
            Names({"a", "left", "right", "mul"}));
}

TEST_F(ElementFusionTest, ChainEndsAtASharedValue) {
  const Node* a = g_.Add("Exp", "a", {x_});
  g_.Fetch(a);
  const Node* square = g_.Add("Square", "square", {a});
  g_.Fetch(g_.Add("Neg", "neg", {square}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("a")->type(), "Exp");
  EXPECT_EQ(Attr(result, "neg", "fused_names"), Names({"square", "neg"}));
}

TEST_F(ElementFusionTest, RowMayBeAddedByAddN) {
  const Node* row = g_.Const("row", Tensor::Vector<float>({1, 2, 3}));
  const Node* sum = g_.Add("AddV2", "sum", {row, Product()});
  g_.Fetch(g_.Add("Relu", "relu", {sum}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("relu")->type(), "_FusedMatMul");
  EXPECT_EQ(Operands(result, "relu"), Numbers({0, 1, 2, -1}));
}

TEST_F(ElementFusionTest, KnownBroadcastsAreNotFused) {
  const Node* row = g_.Const("row", Tensor(DT_FLOAT, {1, 3}));
  const Node* matrix = g_.Const(
      "matrix",
      Tensor::FromValues<float>(TensorShape({2, 3}), {1, 2, 3, 4, 5, 6}));
  const Node* sum = g_.Add("AddV2", "sum", {matrix, row});
  g_.Fetch(g_.Add("Neg", "neg", {sum}));
  EXPECT_EQ(Run().Find("neg")->type(), "Neg");
}

// For example the maximum of each row, kept as a column.
TEST_F(ElementFusionTest, ColumnWithUnknownWidthIsNotFused) {
  const Node* x =
      g_.Add("Placeholder", "m", {},
             {{"dtype", DT_FLOAT}, {"shape", PartialShape({-1, -1})}});
  const Node* axis = g_.Const("axis", Tensor::Scalar<int32_t>(1));
  const Node* most = g_.Add("Max", "most", {x, axis}, {{"keep_dims", true}});
  const Node* sub = g_.Add("Sub", "sub", {x, most});
  g_.Fetch(g_.Add("Exp", "exp", {sub}));
  EXPECT_EQ(Run().Find("exp")->type(), "Exp");
}

TEST_F(ElementFusionTest, LongSumHasALimitedNumberOfInputs) {
  const Node* sum = g_.Arg("first");
  for (int i = 0; i < 12; ++i) {
    sum = g_.Add("AddV2", absl::StrCat("sum_", i),
                 {sum, g_.Arg(absl::StrCat("x_", i))});
  }
  g_.Fetch(sum);
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("sum_11")->type(), "_FusedElementwise");
  EXPECT_LE(result.Find("sum_11")->num_inputs(), 6);
}

TEST_F(ElementFusionTest, ScalarsFuseWithAnyShape) {
  const Node* one = g_.Const("one", Tensor::Scalar(1.0f));
  const Node* sum = g_.Add("AddV2", "sum", {x_, one});
  g_.Fetch(g_.Add("Sigmoid", "y", {sum}));
  EXPECT_EQ(Run().Find("y")->type(), "_FusedElementwise");
}

// The value of a variable is read by its consumer, after changes that the
// consumer waits for (libs/executor/late_reads.h).
class VariableReadFusionTest : public ElementFusionTest {
 protected:
  const Node* Variable(const std::string& name) {
    return g_.Add("VariableV2", name, {},
                  {{"dtype", DT_FLOAT}, {"shape", PartialShape()}});
  }
  const Node* Changed() {
    return g_.Add("AssignAdd", "change", {variable_, b_});
  }

  const Node* variable_ = Variable("v");
  const Node* read_ = g_.Add("Identity", "read", {variable_});
};

TEST_F(VariableReadFusionTest, ReadsAreFusedIntoALayer) {
  const Node* product = g_.Add("MatMul", "product", {x_, read_});
  const Node* bias = g_.Add("Identity", "bias_read", {Variable("bias")});
  g_.Fetch(g_.Add("BiasAdd", "y", {product, bias}));
  EXPECT_EQ(Run().Find("y")->type(), "_FusedMatMul");
}

TEST_F(VariableReadFusionTest, ReadsAreNotMovedBehindAChange) {
  const Node* product = g_.Add("MatMul", "product", {x_, read_});
  const Node* later = g_.Add("Identity", "later", {Changed()});
  g_.Fetch(g_.Add("BiasAdd", "y", {product, later}));
  EXPECT_EQ(Run().Find("y")->type(), "BiasAdd");
}

TEST_F(VariableReadFusionTest, ReadsInAChainAreNotMovedBehindAChange) {
  const Node* square = g_.Add("Square", "square", {read_});
  const Node* later = g_.Add("Identity", "later", {Changed()});
  g_.Fetch(g_.Add("Sub", "y", {square, g_.Add("Neg", "neg", {later})}));
  EXPECT_EQ(Run().Find("y")->type(), "Sub");
}

TEST_F(VariableReadFusionTest, ReadsAfterAChangeStayAfterIt) {
  const Node* later = g_.Add("Identity", "later", {Changed()});
  const Node* sum = g_.Add("AddV2", "sum", {read_, later});
  g_.Fetch(g_.Add("Neg", "y", {sum}));
  EXPECT_EQ(Run().Find("y")->type(), "_FusedElementwise");
}

TEST_F(ElementFusionTest, LoopBodyIsFused) {
  const AttrMap frame = {{"frame_name", std::string("loop")}};
  const Node* enter = g_.Add("Enter", "enter", {x_}, frame);
  const Node* merge = g_.Add({.name = "merge",
                              .op = "Merge",
                              .inputs = {{enter, 0}, {}},
                              .attrs = {{"T", DT_FLOAT}, {"N", 2}}});
  const Node* go_on = g_.Add("LoopCond", "cond", {g_.Arg("c", DT_BOOL)});
  const Node* choice = g_.Add("Switch", "switch", {merge, go_on});
  const Node* square =
      g_.Add({.name = "square", .op = "Square", .inputs = {{choice, 1}}});
  const Node* neg = g_.Add("Neg", "neg", {square});
  g_.CloseLoop(merge, g_.Add("NextIteration", "next", {neg}));
  g_.Fetch(g_.Add("Exit", "exit", {choice}));
  const Rewritten result = Run();
  EXPECT_EQ(result.Find("neg")->type(), "_FusedElementwise");
  EXPECT_EQ(result.Input("neg", 0), "switch:1");
}

}  // namespace
}  // namespace weft
