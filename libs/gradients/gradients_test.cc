#include "libs/gradients/gradients.h"

#include <gtest/gtest.h>

#include <thread>

#include "libs/base/test_matchers.h"
#include "libs/graph/unknown_op.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

using testing::ElementsAre;

using Gradients = absl::StatusOr<std::vector<Gradient>>;

// Derivatives of a few ops, so that these tests cover the walk alone.
GradientRegistry TestGradients() {
  GradientRegistry registry;
  registry.Register("Neg",
                    [](const Scope& scope, const Node&,
                       const std::vector<Gradient>& g) -> Gradients {
                      return {{scope.AddOutput("Neg", {g[0].dense})}};
                    });
  registry.Register(
      "Mul",
      [](const Scope& scope, const Node& node,
         const std::vector<Gradient>& g) -> Gradients {
        return {{scope.AddOutput("Mul", {g[0].dense, Output(node.input(1))}),
                 scope.AddOutput("Mul", {g[0].dense, Output(node.input(0))})}};
      });
  const GradientFn pass = [](const Scope&, const Node&,
                             const std::vector<Gradient>& g) -> Gradients {
    return {{g[0]}};
  };
  registry.Register("Identity", pass, /*takes_sparse=*/true);
  registry.Register("ReadVariableOp", pass, /*takes_sparse=*/true);
  // Records that only the gathered rows have gradients.
  registry.Register("Gather",
                    [](const Scope& scope, const Node& node,
                       const std::vector<Gradient>& g) -> Gradients {
                      Gradient rows;
                      rows.values = g[0].dense;
                      rows.indices = node.input(1);
                      rows.dense_shape =
                          scope.AddOutput("Shape", {Output(node.input(0))});
                      return {{rows, Gradient()}};
                    });
  registry.Register("Unpack",
                    [](const Scope& scope, const Node&,
                       const std::vector<Gradient>& g) -> Gradients {
                      Output sum;
                      for (const Gradient& part : g) {
                        if (!part.IsNone()) sum = part.dense;
                      }
                      return {{scope.AddOutput("Pack", {sum, sum})}};
                    });
  registry.RegisterNone("Floor");
  registry.Register(
      "Relu",
      [](const Scope&, const Node&, const std::vector<Gradient>&) -> Gradients {
        return absl::InternalError("on purpose");
      });
  registry.Register(
      "Exp",
      [](const Scope&, const Node&, const std::vector<Gradient>&) -> Gradients {
        return {std::vector<Gradient>(2)};
      });
  return registry;
}

class GradientsTest : public testing::Test {
 protected:
  Output In(const char* name, PartialShape shape = {2}) {
    return root_.WithName(name).AddOutput(
        "Placeholder", {}, {{"dtype", DT_FLOAT}, {"shape", shape}});
  }
  Output Op(const char* op, const InputList& inputs, AttrMap attrs = {}) {
    return root_.AddOutput(op, inputs, std::move(attrs));
  }
  Gradients Of(std::vector<Output> ys, std::vector<Output> xs,
               GradientOptions options = {}) {
    options.registry = &registry_;
    return AddGradients(root_, ys, xs, options);
  }
  // The gradient of one y with respect to one x; None after an error.
  Gradient OfOne(const Output& y, const Output& x,
                 const GradientOptions& options = {}) {
    Gradients result = Of({y}, {x}, options);
    EXPECT_THAT(result, IsOk());
    return result.ok() ? (*result)[0] : Gradient();
  }

  const GradientRegistry registry_ = TestGradients();
  const Scope root_ = Scope::Root();
};

TEST_F(GradientsTest, NamesNodesAsTensorFlowDoes) {
  const Output x = In("x");
  const Output y = root_.SubScope("a").AddOutput("Neg", {x});
  const Gradient gradient = OfOne(y, x);
  EXPECT_EQ(gradient.dense.name(), "gradients/a/Neg_grad/Neg:0");
  EXPECT_EQ(gradient.dense.node()->input(0).node->name(),
            "gradients/grad_ys_0");
  EXPECT_NE(root_.graph().FindNode("gradients/Shape"), nullptr);
  EXPECT_NE(root_.graph().FindNode("gradients/grad_ys_0/Const"), nullptr);
  EXPECT_EQ(OfOne(y, x).dense.name(), "gradients_1/a/Neg_grad/Neg:0");
}

TEST_F(GradientsTest, SumsGradientsOfRepeatedUses) {
  const Output x = In("x");
  const Output y = Op("Mul", {x, x});
  const Gradient gradient = OfOne(y, x);
  EXPECT_EQ(gradient.dense.name(), "gradients/AddN:0");
  EXPECT_EQ(gradient.dense.node()->num_inputs(), 2);
}

TEST_F(GradientsTest, OneXMayDependOnAnother) {
  const Output x = In("x"), y = Op("Neg", {x}), z = Op("Neg", {y});
  Gradients gradients = Of({z}, {x, y, z});
  ASSERT_THAT(gradients, IsOk());
  EXPECT_EQ((*gradients)[0].dense.name(), "gradients/Neg_grad/Neg:0");
  EXPECT_EQ((*gradients)[1].dense.name(), "gradients/Neg_1_grad/Neg:0");
  EXPECT_EQ((*gradients)[2].dense.name(), "gradients/grad_ys_0:0");
}

TEST_F(GradientsTest, IsNoneWithoutAPath) {
  const Output x = In("x"), other = In("other");
  EXPECT_TRUE(OfOne(Op("Neg", {x}), other).IsNone());
  // Through an op without a gradient by nature.
  EXPECT_TRUE(OfOne(Op("Floor", {x}), x).IsNone());
  // Through a type that has none.
  const Output shape = Op("Shape", {x});
  const Output back = Op("Cast", {shape}, {{"DstT", DT_FLOAT}});
  EXPECT_TRUE(OfOne(back, x).IsNone());
}

TEST_F(GradientsTest, StopsAtStopGradients) {
  const Output x = In("x"), y = Op("Neg", {x}), z = Op("Mul", {y, x});
  const Gradient gradient = OfOne(z, x, {.stop_gradients = {y}});
  EXPECT_EQ(gradient.dense.name(), "gradients/Mul_grad/Mul_1:0");
}

TEST_F(GradientsTest, WeightsYsByGradYs) {
  const Output x = In("x"), y = Op("Neg", {x});
  const Output weight = In("weight");
  const Gradient gradient = OfOne(y, x, {.grad_ys = {weight}});
  const Node* seed = gradient.dense.node()->input(0).node;
  EXPECT_EQ(seed->type(), "Identity");
  EXPECT_EQ(seed->input(0).node, weight.node());
}

TEST_F(GradientsTest, ChecksItsArguments) {
  const Output x = In("x"), y = Op("Neg", {x});
  const Output number = Op("Shape", {x});
  const auto invalid = [](absl::string_view text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, std::string(text));
  };
  EXPECT_THAT(Of({y, y}, {x}, {.grad_ys = {x}}),
              invalid("Passed 1 grad_ys for 2 ys"));
  EXPECT_THAT(Of({y}, {x}, {.grad_ys = {In("w", {3})}}),
              invalid("does not fit"));
  EXPECT_THAT(Of({number}, {x}), invalid("floating-point"));
  EXPECT_THAT(Of({y}, {Output()}), invalid("is null"));
}

TEST_F(GradientsTest, NamesTheOpThatHasNoGradient) {
  const Output x = In("x");
  const Output y = root_.WithName("odd").AddOutput("Sin", {x});
  EXPECT_THAT(
      Of({y}, {x}),
      StatusIs(absl::StatusCode::kNotFound,
               "No gradient defined for operation 'odd' (op type: Sin)"));
}

// Even a rejected call must not undo the other change.
TEST_F(GradientsTest, AreRejectedDuringAnotherChange) {
  const Output x = In("x");
  const Output y = Op("Sin", {x});
  const GraphWriter::Turn turn(root_.graph().writer());
  absl::Status status;
  std::thread second([&] { status = Of({y}, {x}).status(); });
  second.join();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "Another thread"));
}

TEST_F(GradientsTest, NamesTheOpThatIsNotRegistered) {
  const Output x = In("x");
  NodeSpec spec{.name = "odd", .op = "Unknown", .inputs = {x.output_tensor()}};
  MarkUnknown(1, spec);
  ASSERT_OK_AND_ASSIGN(const Node* odd, root_.graph().AddNode(spec));
  ASSERT_OK_AND_ASSIGN(const Node* y,
                       root_.graph().AddNode({.name = "y",
                                              .op = "Neg",
                                              .inputs = {{odd, 0}},
                                              .attrs = {{"T", DT_FLOAT}}}));
  EXPECT_THAT(Of({Output(y)}, {x}),
              StatusIs(absl::StatusCode::kNotFound,
                       "No gradient defined for operation 'odd' (op type: "
                       "Unknown): it cannot run, since its op is not "
                       "registered"));
}

TEST_F(GradientsTest, ErrorNamesTheFailedGradientOp) {
  const Output x = In("x");
  EXPECT_THAT(Of({Op("Relu", {x})}, {x}),
              StatusIs(absl::StatusCode::kInternal, "'Relu'"));
  EXPECT_THAT(Of({Op("Exp", {x})}, {x}),
              StatusIs(absl::StatusCode::kInternal,
                       "Num gradients 2 generated for op 'Exp' (op type: Exp) "
                       "do not match num inputs 1"));
}

TEST_F(GradientsTest, SomeOutputsMayHaveNone) {
  const Output x = In("x", {2, 3});
  const Node* rows = root_.AddNode("Unpack", {x}, {{"num", 2}});
  ASSERT_NE(rows, nullptr);
  EXPECT_FALSE(OfOne(Op("Neg", {Output(rows, 1)}), x).IsNone());
}

TEST_F(GradientsTest, JoinsSparseGradients) {
  const Output x = In("x", {5, 2});
  const Output rows = Op("Gather", {x, {1, 2}});
  const Gradient one = OfOne(rows, x);
  ASSERT_TRUE(one.IsSparse());
  const Output more = Op("Gather", {x, {3}});
  Gradients gradients = Of({rows, more}, {x});
  ASSERT_THAT(gradients, IsOk());
  ASSERT_TRUE((*gradients)[0].IsSparse());
  EXPECT_EQ((*gradients)[0].values.shape(), (PartialShape{3, 2}));
  EXPECT_EQ((*gradients)[0].indices.shape(), (PartialShape{3}));
  const Output dense = ToDense(root_, (*gradients)[0]);
  ASSERT_THAT(root_.status(), IsOk());
  EXPECT_EQ(dense.node()->type(), "UnsortedSegmentSum");
  EXPECT_EQ(dense.shape(), (PartialShape{5, 2}));
}

TEST_F(GradientsTest, AddsSparseToDense) {
  const Output x = In("x", {5, 2});
  Gradients gradients = Of({Op("Gather", {x, {1, 2}}), Op("Neg", {x})}, {x});
  ASSERT_THAT(gradients, IsOk());
  EXPECT_FALSE((*gradients)[0].IsSparse());
  EXPECT_EQ((*gradients)[0].dense.node()->type(), "AddN");
}

TEST_F(GradientsTest, MakesSparseDenseForOpsThatNeedIt) {
  const Output x = In("x", {5, 2});
  const Output y = Op("Neg", {x});
  const Gradient gradient = OfOne(Op("Gather", {y, {1, 2}}), x);
  EXPECT_FALSE(gradient.IsSparse());
  EXPECT_EQ(gradient.dense.node()->input(0).node->type(), "UnsortedSegmentSum");
}

TEST_F(GradientsTest, VariableStandsForAllItsReads) {
  for (bool resource : {false, true}) {
    const ops::Variable v(root_, Tensor(DT_FLOAT, {2}),
                          {.use_resource = resource});
    const Output y = Op("Mul", {v, v.Read(root_)});
    for (const Output& x : {v.handle(), v.value()}) {
      const Gradient gradient = OfOne(y, x);
      ASSERT_FALSE(gradient.IsNone());
      EXPECT_EQ(gradient.dense.node()->type(), "AddN");
    }
  }
}

TEST_F(GradientsTest, VariableMayBeAnXAndAStop) {
  for (bool resource : {false, true}) {
    const ops::VariableOptions options = {.use_resource = resource};
    const ops::Variable a(root_, Tensor::Scalar(2.0f), options);
    const ops::Variable b(root_, Tensor::Scalar(3.0f), options);
    Gradients gradients =
        Of({Op("Mul", {a, b})}, {a, b}, {.stop_gradients = {a, b}});
    ASSERT_THAT(gradients, IsOk());
    ASSERT_FALSE((*gradients)[0].IsNone() || (*gradients)[1].IsNone());
    EXPECT_EQ((*gradients)[0].dense.node()->input(1).node, b.value().node());
    EXPECT_EQ((*gradients)[1].dense.node()->input(1).node, a.value().node());
  }
}

TEST_F(GradientsTest, ColocatesGradientsOnRequest) {
  const Output x = In("x");
  const Output y = root_.WithDevice("/cpu:1").AddOutput("Neg", {x});
  EXPECT_EQ(OfOne(y, x).dense.node()->requested_device(), "");
  const Gradient there = OfOne(y, x, {.colocate_gradients_with_ops = true});
  EXPECT_EQ(there.dense.node()->requested_device(), "/device:CPU:1");
  EXPECT_THAT(*there.dense.node()->attr<std::vector<std::string>>("_class"),
              ElementsAre("loc:@Neg"));
}

TEST_F(GradientsTest, AddsOnEachDeviceFirst) {
  const Output x = In("x");
  std::vector<Output> ys;
  for (const char* device : {"/cpu:0", "/cpu:1", "/cpu:1"}) {
    ys.push_back(root_.WithDevice(device).AddOutput("Neg", {x}));
  }
  Gradients gradients = Of(ys, {x}, {.colocate_gradients_with_ops = true});
  ASSERT_THAT(gradients, IsOk());
  const Node* sum = (*gradients)[0].dense.node();
  ASSERT_EQ(sum->num_inputs(), 2);
  EXPECT_EQ(sum->input(1).node->requested_device(), "/device:CPU:1");
  EXPECT_EQ(sum->input(1).node->num_inputs(), 2);
}

TEST_F(GradientsTest, RejectsPartsOfLoops) {
  const Output x = In("x");
  const Output enter =
      root_.WithName("enter").AddOutput("Enter", {x}, {{"frame_name", "f"}});
  const int nodes = root_.graph().num_nodes();
  EXPECT_THAT(AddGradients(root_, {enter}, {x}),
              StatusIs(kInvalid, "y 'enter:0' is inside loop 'f'"));
  EXPECT_EQ(root_.graph().num_nodes(), nodes);
}

TEST(GradientRegistryTest, DistinguishesNoneFromUnknown) {
  const GradientRegistry registry = TestGradients();
  EXPECT_EQ(registry.Find("Nothing"), nullptr);
  ASSERT_NE(registry.Find("Floor"), nullptr);
  EXPECT_FALSE(registry.Find("Floor")->fn);
  EXPECT_TRUE(registry.Find("Neg")->fn);
}

TEST(GradientRegistryDeathTest, AbortsOnTwoDerivatives) {
  GradientRegistry registry;
  registry.RegisterNone("Neg");
  EXPECT_DEATH(registry.RegisterNone("Neg"), "'Neg'");
}

}  // namespace
}  // namespace weft
