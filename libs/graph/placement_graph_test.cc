#include "libs/graph/placement_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Input = PlacementNode::Input;

OpDefBuilder StateOp(const std::string& name, const std::string& output) {
  return OpDefBuilder(name)
      .Output(output)
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Stateful()
      .Shape(shapes::Unknown);
}

std::shared_ptr<const OpRegistry> Ops() {
  auto ops = std::make_shared<OpRegistry>();
  ops->Add(OpDefBuilder("Const")
               .Output("output: float")
               .Attr("size: int = 1")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Identity")
               .Input("input: float")
               .Output("output: float")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Shape")
               .Input("input: float")
               .Output("output: int32")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Assign")
               .Input("ref: Ref(float)")
               .Input("value: float")
               .Output("output_ref: Ref(float)")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("ReadVariableOp")
               .Input("resource: resource")
               .Output("value: float")
               .Shape(shapes::Unknown));
  for (const char* variable : {"Variable", "VariableV2"}) {
    ops->Add(StateOp(variable, "ref: Ref(dtype)")
                 .Attr("shape: shape")
                 .Attr("dtype: type"));
  }
  ops->Add(StateOp("VarHandleOp", "resource: resource")
               .Attr("shape: shape")
               .Attr("dtype: type"));
  for (const char* op :
       {"ConditionalAccumulator", "Unlisted", "Stage", "Unstage"}) {
    ops->Add(StateOp(op, "handle: resource"));
  }
  for (const char* op : {"FIFOQueue", "FIFOQueueV2"}) {
    ops->Add(StateOp(op, "handle: resource").Attr("capacity: int = -1"));
  }
  // Barrier has an attr of type func that is part of its definition.
  ops->Add(StateOp("Barrier", "handle: resource").Attr("shapes: func"));
  ops->Add(StateOp("HashTableV2", "handle: resource")
               .Attr("use_node_name_sharing: bool = false"));
  return ops;
}

class DescribeForPlacementTest : public ::testing::Test {
 protected:
  const Node* Add(NodeSpec spec) {
    auto node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status();
    return *node;
  }
  const Node* Const(const std::string& name) {
    return Add({.name = name, .op = "Const"});
  }
  const Node* Variable(const std::string& name) {
    return Add({.name = name,
                .op = "VariableV2",
                .attrs = {{"dtype", DT_FLOAT}, {"shape", PartialShape({2})}}});
  }
  PlacementGraph Describe(int first_id = 0) {
    return DescribeForPlacement(graph_, first_id, [this](const Node& node) {
      return node.type() == "Const" ? kernels_of_const_
                                    : std::vector<std::string>{"CPU"};
    });
  }
  // Adds a node to the graph and returns the resource that it declares.
  std::optional<NamedResource> ResourceOf(NodeSpec spec) {
    const int first_id = graph_.num_nodes();
    Add(std::move(spec));
    return Describe(first_id).nodes.at(0).resource;
  }

  Graph graph_{Ops()};
  std::vector<std::string> kernels_of_const_ = {"GPU", "CPU"};
};

TEST_F(DescribeForPlacementTest, UnknownNodesDoNotRestrictPlacement) {
  const Node* v = Variable("v");
  const Node* w = Variable("w");
  NodeSpec spec{.name = "u",
                .op = "Foo",
                .inputs = {{v, 0}, {w, 0}},
                .attrs = {{"_class", std::vector<std::string>{"loc:@v"}}},
                .device = "/device:TPU:0"};
  MarkUnknown(1, spec);
  const Node* u = Add(std::move(spec));
  Add({.name = "assign", .op = "Assign", .inputs = {{u, 0}, {v, 0}}});
  const PlacementGraph described = Describe();
  const PlacementNode& unknown = described.nodes.at(2);
  EXPECT_EQ(unknown.requested_device, "");
  EXPECT_THAT(unknown.colocate_with, IsEmpty());
  EXPECT_THAT(unknown.inputs, ElementsAre(Input{0, false}, Input{1, false}));
  EXPECT_FALSE(described.nodes.at(3).inputs.at(0).shares_device);
}

TEST_F(DescribeForPlacementTest, UnknownNodeIsNotInTheGroupOfItsName) {
  const AttrMap group = {{"_class", std::vector<std::string>{"loc:@u"}}};
  NodeSpec spec{.name = "u", .op = "Foo"};
  MarkUnknown(1, spec);
  const Node* u = Add(std::move(spec));
  Add({.name = "old", .op = "Const", .attrs = group});
  Add({.name = "new", .op = "Identity", .inputs = {{u, 0}}, .attrs = group});
  const PlacementGraph described = Describe(2);
  ASSERT_EQ(described.nodes.size(), 3u);
  EXPECT_EQ(described.nodes[0].name, "u");
  EXPECT_THAT(described.nodes[0].colocate_with, IsEmpty());
  EXPECT_EQ(described.nodes[1].name, "old");
  ASSERT_EQ(described.nodes[1].colocate_with.size(), 1u);
  EXPECT_NE(described.nodes[1].colocate_with[0], "u");
  EXPECT_EQ(described.nodes[1].colocate_with, described.nodes[2].colocate_with);
}

TEST_F(DescribeForPlacementTest, UnknownNodesRepresentNoGroup) {
  const AttrMap group = {{"_class", std::vector<std::string>{"loc:@group"}}};
  NodeSpec spec{.name = "u", .op = "Foo", .attrs = group};
  MarkUnknown(0, spec);
  Add(std::move(spec));
  Add({.name = "old", .op = "Const", .attrs = group});
  Add({.name = "new", .op = "Const", .attrs = group});
  const PlacementGraph described = Describe(2);
  ASSERT_EQ(described.nodes.size(), 2u);
  EXPECT_EQ(described.nodes[0].name, "old");
  EXPECT_THAT(described.nodes[0].colocate_with, ElementsAre("group"));
}

TEST_F(DescribeForPlacementTest, InputsMarkSharedDevices) {
  const Node* v = Variable("v");
  const Node* one = Const("one");
  Add({.name = "assign", .op = "Assign", .inputs = {{v, 0}, {one, 0}}});
  Add({.name = "copy",
       .op = "Identity",
       .inputs = {{one, 0}},
       .control_inputs = {v}});
  const Node* handle =
      Add({.name = "handle",
           .op = "VarHandleOp",
           .attrs = {{"dtype", DT_FLOAT}, {"shape", PartialShape()}}});
  Add({.name = "read", .op = "ReadVariableOp", .inputs = {{handle, 0}}});

  const PlacementGraph described = Describe();
  ASSERT_EQ(described.nodes.size(), 6u);
  EXPECT_THAT(described.nodes[2].inputs,
              ElementsAre(Input{0, true}, Input{1, false}));
  EXPECT_THAT(described.nodes[3].inputs, ElementsAre(Input{1, false}));
  EXPECT_THAT(described.nodes[5].inputs, ElementsAre(Input{4, true}));
}

TEST_F(DescribeForPlacementTest, RequestsKernelsAndColocationAreCopied) {
  Add({.name = "a",
       .op = "Const",
       .attrs = {{"_class", std::vector<std::string>{"loc:@b", "other", ""}}},
       .device = "/job:ps"});
  const PlacementNode a = Describe().nodes.at(0);
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.op, "Const");
  EXPECT_EQ(a.assigned_device, "");
  EXPECT_EQ(a.requested_device, "/job:ps");
  EXPECT_THAT(a.kernel_types, ElementsAre("GPU", "CPU"));
  EXPECT_THAT(a.colocate_with, ElementsAre("b"));
  EXPECT_EQ(a.attrs, "");
}

TEST_F(DescribeForPlacementTest, AttrsAreListedOnlyWithoutAKernel) {
  Const("a");
  kernels_of_const_.clear();
  EXPECT_EQ(Describe().nodes.at(0).attrs, "size=1");
}

TEST_F(DescribeForPlacementTest, GeneratorsAndMetadataAreMarked) {
  const Node* a = Const("a");
  Add({.name = "shape", .op = "Shape", .inputs = {{a, 0}}});
  Variable("v");
  const PlacementGraph described = Describe();
  EXPECT_TRUE(described.nodes[0].is_generator);
  EXPECT_FALSE(described.nodes[0].is_metadata);
  EXPECT_FALSE(described.nodes[1].is_generator);
  EXPECT_TRUE(described.nodes[1].is_metadata);
  EXPECT_FALSE(described.nodes[2].is_generator) << "it makes a reference";
}

TEST_F(DescribeForPlacementTest, PlacedNodesComeFirst) {
  const Node* unused = Const("unused");
  const Node* v = Variable("v");
  const Node* near = Const("near");
  for (const Node* node : {unused, v, near}) {
    graph_.set_assigned_device(node, "/job:ps/replica:0/task:0/device:CPU:0");
  }
  const int first_new = graph_.num_nodes();
  Add({.name = "b",
       .op = "Const",
       .attrs = {{"_class", std::vector<std::string>{"loc:@near"}}}});
  const Node* one = Const("one");
  Add({.name = "assign", .op = "Assign", .inputs = {{v, 0}, {one, 0}}});

  const PlacementGraph described = Describe(first_new);
  ASSERT_EQ(described.nodes.size(), 5u);
  EXPECT_EQ(described.nodes[0],
            (PlacementNode{
                .name = "v",
                .op = "VariableV2",
                .assigned_device = "/job:ps/replica:0/task:0/device:CPU:0"}));
  EXPECT_EQ(described.nodes[1].name, "near");
  EXPECT_EQ(described.nodes[2].name, "b");
  EXPECT_THAT(described.nodes[4].inputs,
              ElementsAre(Input{0, true}, Input{3, false}));
  EXPECT_THAT(described.nodes[4].assigned_device, IsEmpty());
}

TEST_F(DescribeForPlacementTest, GroupIsRepresentedByItsFirstOldMember) {
  const AttrMap in_group = {{"_class", std::vector<std::string>{"loc:@g"}}};
  for (const char* name : {"unused", "first", "second"}) {
    const bool is_member = name != std::string("unused");
    const Node* node = Add({.name = name,
                            .op = "Const",
                            .attrs = is_member ? in_group : AttrMap()});
    graph_.set_assigned_device(node, "/job:ps/replica:0/task:0/device:CPU:0");
  }
  Add({.name = "new", .op = "Const", .attrs = in_group});
  const PlacementGraph described = Describe(3);
  ASSERT_EQ(described.nodes.size(), 2u);
  EXPECT_EQ(described.nodes[0].name, "first");
  EXPECT_THAT(described.nodes[0].colocate_with, ElementsAre("g"));
  EXPECT_THAT(described.nodes[1].colocate_with, ElementsAre("g"));
}

TEST_F(DescribeForPlacementTest, GraphWithoutNewNodesIsEmpty) {
  Const("a");
  EXPECT_THAT(Describe(1).nodes, IsEmpty());
}

TEST_F(DescribeForPlacementTest, VariableIsNamedBySharedNameOrNode) {
  AttrMap attrs = {{"dtype", DT_FLOAT}, {"shape", PartialShape({2, -1})}};
  EXPECT_EQ(ResourceOf({.name = "v", .op = "VariableV2", .attrs = attrs}),
            (NamedResource{.name = "v",
                           .kind = "Var",
                           .dtype = DT_FLOAT,
                           .shape = PartialShape({2, -1}),
                           .definition = "Variable"}));
  attrs["container"] = "box";
  attrs["shared_name"] = "common";
  EXPECT_EQ(ResourceOf({.name = "h", .op = "VarHandleOp", .attrs = attrs}),
            (NamedResource{.container = "box",
                           .name = "common",
                           .kind = "Var",
                           .dtype = DT_FLOAT,
                           .shape = PartialShape({2, -1}),
                           .definition = "VarHandleOp"}));
}

TEST_F(DescribeForPlacementTest, OldVariableOpScalarHasUnknownShape) {
  const AttrMap attrs = {{"dtype", DT_FLOAT},
                         {"shape", PartialShape::Scalar()}};
  EXPECT_EQ(
      ResourceOf({.name = "old", .op = "Variable", .attrs = attrs})->shape,
      PartialShape());
  EXPECT_EQ(
      ResourceOf({.name = "new", .op = "VariableV2", .attrs = attrs})->shape,
      PartialShape::Scalar());
}

TEST_F(DescribeForPlacementTest, SessionLocalResourceIsNotNamed) {
  EXPECT_EQ(ResourceOf({.name = "a", .op = "ConditionalAccumulator"}),
            std::nullopt);
  EXPECT_EQ(ResourceOf({.name = "b",
                        .op = "ConditionalAccumulator",
                        .attrs = {{"shared_name", "grads"}}}),
            (NamedResource{.name = "grads",
                           .kind = "GradientAccumulator",
                           .definition = "ConditionalAccumulator"}));
  EXPECT_EQ(ResourceOf({.name = "q", .op = "FIFOQueueV2"}), std::nullopt);
  EXPECT_EQ(ResourceOf({.name = "t", .op = "HashTableV2"}), std::nullopt);
  EXPECT_EQ(
      ResourceOf({.name = "u",
                  .op = "HashTableV2",
                  .attrs = {{"use_node_name_sharing", true}}}),
      (NamedResource{
          .name = "u", .kind = "LookupTable", .definition = "HashTable"}));
  EXPECT_EQ(ResourceOf({.name = "c", .op = "Const"}), std::nullopt);
}

TEST_F(DescribeForPlacementTest, KindIsTheTypeNameOfTheResource) {
  const AttrMap attrs = {{"shared_name", "common"}};
  EXPECT_EQ(
      ResourceOf({.name = "q", .op = "FIFOQueueV2", .attrs = attrs})->kind,
      "Queue");
  EXPECT_EQ(ResourceOf({.name = "s", .op = "Stage", .attrs = attrs})->kind,
            "StagingArea");
  EXPECT_EQ(ResourceOf({.name = "u", .op = "Unstage", .attrs = attrs})->kind,
            "StagingArea");
  EXPECT_EQ(ResourceOf({.name = "b", .op = "Unlisted", .attrs = attrs})->kind,
            "Unlisted");
}

TEST_F(DescribeForPlacementTest, DefinitionIsTheOpAndItsSharedAttrs) {
  const auto definition = [&](const std::string& name, const std::string& op,
                              int64_t capacity) {
    return ResourceOf(
               {.name = name,
                .op = op,
                .attrs = {{"shared_name", "common"}, {"capacity", capacity}}})
        ->definition;
  };
  EXPECT_EQ(definition("a", "FIFOQueue", 7), "FIFOQueue capacity=7");
  EXPECT_EQ(definition("b", "FIFOQueueV2", 7), "FIFOQueue capacity=7");
  EXPECT_EQ(definition("c", "FIFOQueueV2", 8), "FIFOQueue capacity=8");
  EXPECT_EQ(
      ResourceOf(
          {.name = "d", .op = "Unlisted", .attrs = {{"shared_name", "common"}}})
          ->definition,
      "")
      << "nobody knows what counts";
}

TEST_F(DescribeForPlacementTest, DefinitionDistinguishesFunctionGradients) {
  using Names = std::map<std::string, std::string, std::less<>>;
  const auto definition = [](const Names& gradients) {
    std::vector<FunctionPtr> functions;
    for (const char* name : {"f", "g", "h"}) {
      auto function = std::make_shared<FunctionDef>();
      function->signature.name = function->serialized = name;
      functions.push_back(std::move(function));
    }
    Graph graph(Ops());
    EXPECT_OK(graph.AddFunctions(functions, gradients));
    EXPECT_OK(graph.AddNode(
        {.name = "a",
         .op = "Barrier",
         .attrs = {{"shared_name", "common"}, {"shapes", NameAttrList{"f"}}}}));
    return DescribeForPlacement(
               graph, 0,
               [](const Node&) { return std::vector<std::string>{"CPU"}; })
        .nodes.at(0)
        .resource->definition;
  };
  EXPECT_NE(definition({}), definition({{"f", "g"}}));
  EXPECT_NE(definition({{"f", "h"}}), definition({{"f", "g"}}));
  EXPECT_NE(definition({{"f", "g"}, {"g", "h"}}), definition({{"f", "g"}}));
  EXPECT_EQ(definition({{"f", "g"}, {"h", "g"}}), definition({{"f", "g"}}))
      << "nothing calls h";
}

}  // namespace
}  // namespace weft
