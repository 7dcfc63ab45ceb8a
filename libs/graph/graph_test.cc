#include "libs/graph/graph.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/near_nodes.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

using testing::HasSubstr;

absl::Status ShapeAttr(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.GetAttr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status ConstShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(Tensor value, c.GetAttr<Tensor>("value"));
  c.set_output(0, value.shape());
  return absl::OkStatus();
}

absl::Status MatMulShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape a, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(PartialShape b, c.InputWithRank(1, 2));
  RETURN_IF_ERROR(InferenceContext::MergeDims(a.dim(1), b.dim(0)).status());
  c.set_output(0, PartialShape::Matrix(a.dim(0), b.dim(1)));
  return absl::OkStatus();
}

absl::Status ReshapeShape(InferenceContext& c) {
  c.set_output(0, c.input_as_shape(1));
  return absl::OkStatus();
}

// The value function of an op that adds vectors of int32.
std::optional<Tensor> AddValue(InferenceContext& c) {
  const auto &a = c.input_tensor(0), &b = c.input_tensor(1);
  if (!a || !b || a->dtype() != DT_INT32 || a->shape() != b->shape()) {
    return std::nullopt;
  }
  Tensor sum(DT_INT32, a->shape());
  for (int64_t i = 0; i < a->num_elements(); ++i) {
    sum.mutable_flat<int32_t>()[i] =
        a->flat<int32_t>()[i] + b->flat<int32_t>()[i];
  }
  return sum;
}

// Returns the ops of this test. The shape function of its slice op infers no
// sizes, because the tests need only its value.
std::shared_ptr<const OpRegistry> TestOps() {
  auto ops = std::make_shared<OpRegistry>();
  ops->Add(OpDefBuilder("Const")
               .Output("output: dtype")
               .Attr("value: tensor")
               .Attr("dtype: type")
               .Shape(ConstShape));
  ops->Add(OpDefBuilder("In")
               .Output("output: dtype")
               .Attr("dtype: type = DT_FLOAT")
               .Attr("shape: shape = { unknown_rank: true }")
               .Shape(ShapeAttr));
  ops->Add(OpDefBuilder("Variable")
               .Output("ref: Ref(dtype)")
               .Attr("dtype: type = DT_FLOAT")
               .Attr("shape: shape = {}")
               .Shape(ShapeAttr));
  ops->Add(OpDefBuilder("Assign")
               .Input("ref: Ref(T)")
               .Input("value: T")
               .Output("output_ref: Ref(T)")
               .Attr("T: type")
               .Shape(shapes::Unchanged));
  ops->Add(OpDefBuilder("Add")
               .Input("x: T")
               .Input("y: T")
               .Output("z: T")
               .Attr("T: {float, double, int32}")
               .Shape(shapes::BroadcastBinary)
               .Value(AddValue));
  ops->Add(OpDefBuilder("MatMul")
               .Input("a: T")
               .Input("b: T")
               .Output("product: T")
               .Attr("T: {float, double}")
               .Attr("mode: {'fast', 'slow'} = 'fast'")
               .Shape(MatMulShape));
  ops->Add(OpDefBuilder("Pack")
               .Input("values: N * T")
               .Output("output: T")
               .Attr("N: int >= 1")
               .Attr("T: type")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Stitch")
               .Input("indices: N * int32")
               .Input("data: N * T")
               .Output("merged: T")
               .Attr("N: int >= 1")
               .Attr("T: type")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("IdentityN")
               .Input("input: T")
               .Output("output: T")
               .Attr("T: list(type) >= 1")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Shape")
               .Input("input: T")
               .Output("output: int32")
               .Attr("T: type")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("ConcatV2")
               .Input("values: N * T")
               .Input("axis: int32")
               .Output("output: T")
               .Attr("N: int >= 2")
               .Attr("T: type")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("StridedSlice")
               .Input("input: T")
               .Input("begin: int32")
               .Input("end: int32")
               .Input("strides: int32")
               .Output("output: T")
               .Attr("T: type")
               .Attr("begin_mask: int = 0")
               .Attr("end_mask: int = 0")
               .Attr("shrink_axis_mask: int = 0")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Identity")
               .Input("input: T")
               .Output("output: T")
               .Attr("T: type")
               .Shape(shapes::Unchanged));
  ops->Add(OpDefBuilder("Reshape")
               .Input("tensor: T")
               .Input("shape: int32")
               .Output("output: T")
               .Attr("T: type")
               .Shape(ReshapeShape));
  for (const char* name : {"Merge", "NextIteration"}) {
    OpDefBuilder builder(name);
    if (std::string(name) == "Merge") {
      builder.Input("inputs: N * T").Attr("N: int >= 1");
    } else {
      builder.Input("data: T");
    }
    ops->Add(
        builder.Output("output: T").Attr("T: type").Shape(shapes::Unknown));
  }
  return ops;
}

class GraphTest : public testing::Test {
 protected:
  const Node* Add(NodeSpec spec) {
    absl::StatusOr<Node*> node = graph_.AddNode(std::move(spec));
    EXPECT_THAT(node, IsOk());
    return node.ok() ? *node : nullptr;
  }
  const Node* In(const char* name, PartialShape shape,
                 DataType dtype = DT_FLOAT) {
    return Add({.name = name,
                .op = "In",
                .attrs = {{"dtype", dtype}, {"shape", std::move(shape)}}});
  }
  const Node* Const(const char* name, Tensor value) {
    return Add({.name = name,
                .op = "Const",
                .attrs = {{"dtype", value.dtype()}, {"value", value}}});
  }
  const Node* Op(const char* name, const char* op,
                 std::vector<OutputTensor> inputs, AttrMap attrs = {}) {
    return Add({.name = name,
                .op = op,
                .inputs = std::move(inputs),
                .attrs = std::move(attrs)});
  }
  // Returns the error text of AddNode for `spec`, or "" if the node was added.
  std::string Refusal(NodeSpec spec) {
    const int before = graph_.num_nodes();
    absl::StatusOr<Node*> node = graph_.AddNode(std::move(spec));
    if (node.ok()) return "";
    EXPECT_EQ(node.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(graph_.num_nodes(), before);
    return std::string(node.status().message());
  }

  Graph graph_{TestOps()};
};

TEST_F(GraphTest, InfersTypesAndFillsInDefaults) {
  const Node* x = In("x", {2, 3});
  const Node* y = In("y", {3, PartialShape::kUnknown});
  const Node* product = Op("p", "MatMul", {{x}, {y}});
  EXPECT_EQ(*product->attr<DataType>("T"), DT_FLOAT);
  EXPECT_EQ(*product->attr<std::string>("mode"), "fast");
  EXPECT_EQ(product->output_type(0), DT_FLOAT);
  EXPECT_EQ(product->output_shape(0).ToString(), "[2,?]");
  EXPECT_EQ(graph_.FindNode("p"), product);
  EXPECT_EQ(TensorName({product, 0}), "p:0");
}

TEST_F(GraphTest, InfersListAttrsFromInputs) {
  const Node* i = In("i", {}, DT_INT32);
  const Node* x = In("x", {});
  const Node* pack = Op("pack", "Pack", {{x}, {x}, {x}});
  EXPECT_EQ(*pack->attr<int64_t>("N"), 3);
  const Node* stitch = Op("stitch", "Stitch", {{i}, {i}, {x}, {x}});
  EXPECT_EQ(*stitch->attr<int64_t>("N"), 2);
  EXPECT_EQ(stitch->InputRange(1), (std::pair<int, int>(2, 4)));
  const Node* all = Op("all", "IdentityN", {{x}, {i}});
  EXPECT_EQ(all->output_types(), (DataTypeVector{DT_FLOAT, DT_INT32}));
  EXPECT_EQ(all->OutputRange(0), (std::pair<int, int>(0, 2)));
  EXPECT_THAT(
      Refusal({.name = "odd", .op = "Stitch", .inputs = {{i}, {i}, {x}}}),
      HasSubstr("odd"));
}

TEST_F(GraphTest, InvalidNamesAreRefused) {
  In("x", {});
  for (const char* name : {"", "/a", "-a", "a b", "a:0", "a^"}) {
    EXPECT_THAT(Refusal({.name = name, .op = "In"}), HasSubstr("name")) << name;
  }
  EXPECT_THAT(Refusal({.name = "x", .op = "In"}), HasSubstr("not unique"));
  for (const char* name : {"a/b", "a-b", ".a", "A_1", "_made"}) In(name, {});
}

TEST_F(GraphTest, UnknownOpIsNamed) {
  EXPECT_THAT(graph_.AddNode({.name = "n", .op = "Nothing"}),
              StatusIs(absl::StatusCode::kNotFound, "Nothing"));
}

TEST_F(GraphTest, ChecksTypes) {
  const Node* x = In("x", {});
  const Node* i = In("i", {}, DT_INT64);
  EXPECT_THAT(
      Refusal({.name = "a", .op = "Add", .inputs = {{x}, {i}}}),
      HasSubstr("Input 1 of node a was passed int64 from i:0 incompatible "
                "with expected float."));
  EXPECT_THAT(Refusal({.name = "a", .op = "Add", .inputs = {{i}, {i}}}),
              HasSubstr("Value for attr 'T' of int64 is not in the list of "
                        "allowed values: float, double, int32"));
  EXPECT_THAT(Refusal({.name = "a", .op = "Add", .inputs = {{x}}}),
              HasSubstr("do not match 1 inputs specified"));
  EXPECT_THAT(Refusal({.name = "a", .op = "Add", .inputs = {{x}, {x, 1}}}),
              HasSubstr("'x:1'"));
  EXPECT_THAT(Refusal({.name = "a", .op = "Add", .inputs = {{x}, {}}}),
              HasSubstr("input 1 is missing"));
}

TEST_F(GraphTest, ChecksAttrs) {
  const Node* x = In("x", {2, 2});
  const auto with = [&](const char* name, AttrValue value) {
    return Refusal({.name = "m",
                    .op = "MatMul",
                    .inputs = {{x}, {x}},
                    .attrs = {{name, std::move(value)}}});
  };
  EXPECT_THAT(with("mode", "middling"), HasSubstr("'mode'"));
  EXPECT_THAT(with("mode", 1),
              HasSubstr("had value with type 'int' when 'string' expected"));
  EXPECT_THAT(with("T", DT_DOUBLE), HasSubstr("expected double"));
  EXPECT_THAT(with("color", 1), HasSubstr("mentions attr 'color' not in"));
  EXPECT_EQ(with("_color", 1), "");
  EXPECT_THAT(Refusal({.name = "c", .op = "Const"}),
              HasSubstr("missing attr 'value'"));
  EXPECT_THAT(Refusal({.name = "p", .op = "Pack"}),
              HasSubstr("Value for attr 'N' of 0 must be at least minimum 1"));
  EXPECT_THAT(Refusal({.name = "p",
                       .op = "Pack",
                       .attrs = {{"N", int64_t{1} << 60}, {"T", DT_FLOAT}}}),
              HasSubstr("'N'"));
}

TEST_F(GraphTest, ReferenceMayFeedValueNotViceVersa) {
  const Node* x = In("x", {});
  const Node* v = Op("v", "Variable", {});
  EXPECT_EQ(v->output_type(0), DT_FLOAT_REF);
  EXPECT_EQ(Op("sum", "Add", {{v}, {x}})->input_type(0), DT_FLOAT);
  EXPECT_EQ(Op("set", "Assign", {{v}, {x}})->output_type(0), DT_FLOAT_REF);
  EXPECT_THAT(Refusal({.name = "a", .op = "Assign", .inputs = {{x}, {x}}}),
              HasSubstr("expected float_ref"));
}

TEST_F(GraphTest, ShapeErrorNamesTheShapes) {
  const Node* x = In("x", {2, 3});
  const Node* v = In("v", {3});
  EXPECT_THAT(
      Refusal({.name = "m", .op = "MatMul", .inputs = {{x}, {x}}}),
      HasSubstr("Dimensions must be equal, but are 3 and 2 for 'm' (op: "
                "'MatMul') with input shapes: [2,3], [2,3]."));
  EXPECT_THAT(Refusal({.name = "m", .op = "MatMul", .inputs = {{x}, {v}}}),
              HasSubstr("Shape must be rank 2 but is rank 1"));
}

TEST_F(GraphTest, ImpossibleShapesAreRefused) {
  const PartialShape wide({int64_t{1} << 40, 1});
  const PartialShape high({1, int64_t{1} << 40});
  ASSERT_OK_AND_ASSIGN(
      const Node* a,
      graph_.AddNode({.name = "wide", .op = "In", .attrs = {{"shape", wide}}}));
  ASSERT_OK_AND_ASSIGN(
      const Node* b,
      graph_.AddNode({.name = "high", .op = "In", .attrs = {{"shape", high}}}));
  EXPECT_THAT(
      graph_.AddNode(
          {.name = "product", .op = "MatMul", .inputs = {{a, 0}, {b, 0}}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "more than 2**63 - 1 elements for 'product'"));
}

TEST_F(GraphTest, NodesOfOtherGraphsAreRefused) {
  Graph other(TestOps());
  ASSERT_OK_AND_ASSIGN(Node * x, other.AddNode({.name = "x", .op = "In"}));
  EXPECT_THAT(Refusal({.name = "a", .op = "Add", .inputs = {{x}, {x}}}),
              HasSubstr("another graph"));
  EXPECT_THAT(Refusal({.name = "a", .op = "In", .control_inputs = {x}}),
              HasSubstr("another graph"));
}

TEST_F(GraphTest, DuplicateControlInputsAreRemoved) {
  const Node* x = In("x", {});
  const Node* y = Add({.name = "y", .op = "In", .control_inputs = {x, x}});
  EXPECT_EQ(y->control_inputs().size(), 1u);
}

TEST_F(GraphTest, LoopIsClosedOnlyOnce) {
  const Node* x = In("x", {});
  const Node* merge = Op("merge", "Merge", {{x}, {}});
  const Node* next = Op("next", "NextIteration", {{merge}});
  EXPECT_THAT(graph_.SetBackEdge(merge, 0, {next}),
              StatusIs(absl::StatusCode::kInvalidArgument, "set already"));
  EXPECT_THAT(graph_.SetBackEdge(merge, 2, {next}),
              StatusIs(absl::StatusCode::kInvalidArgument, "merge"));
  EXPECT_THAT(graph_.SetBackEdge(next, 0, {next}),
              StatusIs(absl::StatusCode::kInvalidArgument, "next"));
  const Node* number = In("number", {}, DT_INT32);
  EXPECT_THAT(graph_.SetBackEdge(merge, 1, {number}),
              StatusIs(absl::StatusCode::kInvalidArgument, "int32"));
  EXPECT_THAT(graph_.SetBackEdge(merge, 1, {next}), IsOk());
  EXPECT_EQ(merge->input(1).node, next);
}

TEST_F(GraphTest, TruncateRestoresAnEarlierGraph) {
  const Node* x = In("x", {});
  const Node* merge = Op("merge", "Merge", {{x}, {}});
  const Node* next = Op("next", "NextIteration", {{merge}});
  ASSERT_THAT(graph_.SetBackEdge(merge, 1, {next}), IsOk());
  graph_.TruncateTo(2);
  EXPECT_EQ(graph_.num_nodes(), 2);
  EXPECT_EQ(graph_.FindNode("next"), nullptr);
  EXPECT_EQ(merge->input(1).node, nullptr);
  In("next", {});  // the name is free again
}

TEST_F(GraphTest, FindsTensorsByName) {
  const Node* x = In("scope/x", {});
  ASSERT_OK_AND_ASSIGN(OutputTensor plain, graph_.FindOutputTensor("scope/x"));
  EXPECT_EQ(plain, (OutputTensor{x, 0}));
  EXPECT_THAT(graph_.FindOutputTensor("scope/x:0"), IsOk());
  EXPECT_THAT(graph_.FindOutputTensor("y:0"),
              StatusIs(absl::StatusCode::kNotFound, "y:0"));
  EXPECT_THAT(
      FindTensorOrSuggest(graph_, "scpoe/x:0"),
      StatusIs(absl::StatusCode::kNotFound, "Did you mean \"scope/x\"?"));
  for (const char* name : {"scope/x:1", "scope/x:", "scope/x:-1", "scope/x:a",
                           "scope/x:99999999999"}) {
    EXPECT_THAT(graph_.FindOutputTensor(name),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
}

TEST_F(GraphTest, ConstantValueFollowsFromConstants) {
  const Node* a = Const("a", Tensor::Vector({1, 2}));
  const Node* b = Const("b", Tensor::Vector({10, 20}));
  const Node* sum = Op("sum", "Add", {{a}, {b}});
  ASSERT_TRUE(graph_.ConstantValue({sum}).has_value());
  EXPECT_TRUE(SameBits(*graph_.ConstantValue({sum}), Tensor::Vector({11, 22})));
  const Node* x = In("x", {2}, DT_INT32);
  EXPECT_FALSE(graph_.ConstantValue({Op("no", "Add", {{a}, {x}})}).has_value());
}

TEST_F(GraphTest, QueriesOnDeepGraphsTerminate) {
  // Each sum uses the previous sum as both inputs, so a naive evaluation would
  // need 2^200 additions.
  const Node* sum = Const("a", Tensor::Vector({1}));
  for (int i = 0; i < 200; ++i) {
    sum = Op(absl::StrCat("s", i).c_str(), "Add", {{sum}, {sum}});
  }
  EXPECT_FALSE(graph_.ConstantValue({sum}).has_value());
}

TEST_F(GraphTest, ConstantShapeMayBePartiallyKnown) {
  const Node* x = In("x", {PartialShape::kUnknown, 28, 28});
  const Node* shape = Op("shape", "Shape", {{x}});
  EXPECT_EQ(graph_.ConstantValueAsShape({shape})->ToString(), "[?,28,28]");
  const auto slice = [&](const char* name, int begin, int end, int stride,
                         AttrMap attrs) {
    const std::string n(name);
    return Op(name, "StridedSlice",
              {{shape},
               {Const((n + "b").c_str(), Tensor::Vector({begin}))},
               {Const((n + "e").c_str(), Tensor::Vector({end}))},
               {Const((n + "s").c_str(), Tensor::Vector({stride}))}},
              std::move(attrs));
  };
  EXPECT_EQ(
      graph_.ConstantValueAsShape({slice("tail", 1, 3, 1, {})})->ToString(),
      "[28,28]");
  EXPECT_EQ(
      graph_.ConstantValueAsShape({slice("head", 0, -1, 1, {})})->ToString(),
      "[?,28]");
  EXPECT_EQ(graph_
                .ConstantValueAsShape({slice(
                    "back", 0, 0, -1, {{"begin_mask", 1}, {"end_mask", 1}})})
                ->ToString(),
            "[28,28,?]");
  const Node* batch = slice("batch", 0, 1, 1, {{"shrink_axis_mask", 1}});
  const Node* width = slice("width", 2, 3, 1, {{"shrink_axis_mask", 1}});
  EXPECT_EQ(graph_.ConstantScalar({width}), 28);
  EXPECT_EQ(graph_.ConstantScalar({batch}), std::nullopt);
  const Node* pack = Op("pack", "Pack", {{batch}, {width}});
  const Node* axis = Const("axis", Tensor::Scalar(0));
  const Node* tail = graph_.FindNode("tail");
  const Node* concat = Op("concat", "ConcatV2", {{pack}, {tail}, {axis}});
  const Node* same = Op("same", "Identity", {{concat}});
  EXPECT_EQ(graph_.ConstantValueAsShape({same})->ToString(), "[?,28,28,28]");
  EXPECT_EQ(Op("r", "Reshape", {{x}, {same}})->output_shape(0).ToString(),
            "[?,28,28,28]");
}

TEST_F(GraphTest, PackOfPossibleVectorsHasNoKnownShape) {
  const Node* rows = In("rows", PartialShape(), DT_INT32);
  const auto slice = [&](const char* name, const Node* of, const Tensor& at,
                         AttrMap attrs) {
    const Node* begin = Const(absl::StrCat(name, "_at").c_str(), at);
    const Node* part = Op(name, "StridedSlice",
                          {{of}, {begin}, {begin}, {begin}}, std::move(attrs));
    const Node* pack =
        Op(absl::StrCat(name, "_pack").c_str(), "Pack", {{part}});
    return graph_.ConstantValueAsShape({pack}).has_value();
  };
  const Node* shape = Op("shape", "Shape", {{rows}});
  const AttrMap element = {{"shrink_axis_mask", 1}};
  EXPECT_TRUE(slice("element", shape, Tensor::Vector({0}), element));
  EXPECT_FALSE(slice("row", rows, Tensor::Vector({0}), element));
  EXPECT_FALSE(slice("part", shape, Tensor::Vector({0}), {}));
  EXPECT_FALSE(slice("all", shape, Tensor(DT_INT32, {0}), element));
}

TEST(BroadcastTest, FollowsTheRulesOfNumPy) {
  const int64_t u = PartialShape::kUnknown;
  const struct {
    PartialShape a, b;
    const char* result;  // "" for an error
  } cases[] = {
      {{2, 3}, {3}, "[2,3]"},
      {{2, 1}, {3}, "[2,3]"},
      {PartialShape::Scalar(), {4}, "[4]"},
      {{2}, {3}, ""},
      {{u}, {3}, "[3]"},
      {{u}, {1}, "[?]"},
      {{0}, {1}, "[0]"},
      {PartialShape(), {3}, "<unknown>"},
      {{2, u}, {u, u}, "[2,?]"},
  };
  for (const auto& c : cases) {
    absl::StatusOr<PartialShape> result = shapes::Broadcast(c.a, c.b);
    EXPECT_EQ(result.ok() ? result->ToString() : "", c.result)
        << c.a.ToString() << " " << c.b.ToString();
  }
}

// Each allocation in AddNode fails once.
TEST(GraphWithoutMemoryTest, FailedAllocationLeavesTheGraphUnchanged) {
  constexpr int kNodes = 70;  // enough to reallocate containers
  Graph graph(TestOps());
  NodeSpec unknown{.name = "unknown", .op = "Unknown"};
  MarkUnknown(0, unknown);
  ASSERT_OK_AND_ASSIGN(const Node* const source,
                       graph.AddNode(std::move(unknown)));
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = absl::StrCat("a_name_that_is_not_short_", i);
    absl::Status status = absl::UnknownError("none was added");
    for (int64_t nth = 1; !status.ok(); ++nth) {
      NodeSpec spec{.name = name,
                    .op = "Identity",
                    .inputs = {{source, i}},
                    .attrs = {{"T", DT_FLOAT}}};
      const FailingMemory failing(nth);
      status = CatchExceptions(
          [&] { return graph.AddNode(std::move(spec)).status(); });
      if (status.ok()) break;
      ASSERT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
      ASSERT_EQ(graph.num_nodes(), 1 + i);
      ASSERT_EQ(graph.FindNode(name), nullptr);
      ASSERT_EQ(graph.FindNode("unknown"), source);
    }
    ASSERT_EQ(graph.FindNode(name), graph.node(1 + i));
    ASSERT_EQ(source->output_type(i), DT_FLOAT);
  }
  graph.TruncateTo(1);
  EXPECT_EQ(graph.num_nodes(), 1);
  EXPECT_EQ(graph.FindNode("a_name_that_is_not_short_0"), nullptr);
  EXPECT_EQ(source->output_type(0), DT_INVALID);
}

// While one thread adds a node, the node's shape function makes a second thread
// add a node too.
TEST(GraphThreadsTest, SecondWriterIsRefused) {
  auto ops = std::make_shared<OpRegistry>();
  std::function<void()> during = [] {};
  ops->Add(OpDefBuilder("Slow")
               .Output("output: int32")
               .Shape([&during](InferenceContext& c) {
                 during();
                 return shapes::Unknown(c);
               }));
  Graph graph(ops);
  ASSERT_OK(graph.AddNode({.name = "first", .op = "Slow"}));
  const OutputTensor first = {graph.node(0), 0};
  std::vector<absl::Status> seen;
  during = [&] {
    std::thread second([&] {
      seen.push_back(graph.AddNode({.name = "x", .op = "Slow"}).status());
      seen.push_back(graph.RefineShape(first, PartialShape{2}));
      seen.push_back(graph.AddFunctions({}));
      graph.TruncateTo(0);
    });
    second.join();
  };
  EXPECT_OK(graph.AddNode({.name = "second", .op = "Slow"}));
  for (const absl::Status& status : seen) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 "Another thread is adding to the graph"));
  }
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(graph.num_nodes(), 2);
}

}  // namespace
}  // namespace weft
