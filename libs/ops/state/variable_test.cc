#include "libs/ops/state/variable.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"

namespace weft::ops {
namespace {

using testing::ElementsAre;

std::vector<std::string> Names(const Scope& scope) {
  std::vector<std::string> names;
  for (const Node* node : scope.graph().nodes()) names.push_back(node->name());
  return names;
}

std::vector<std::string> Groups(const Scope& scope, absl::string_view name) {
  const Node* node = scope.graph().FindNode(name);
  const auto* groups = node == nullptr
                           ? nullptr
                           : node->attr<std::vector<std::string>>("_class");
  return groups == nullptr ? std::vector<std::string>() : *groups;
}

// Names and colocation are those of TensorFlow's recorded graphs.
TEST(VariableTest, ReferenceVariableFromAValue) {
  const Scope root = Scope::Root();
  const Variable x(root.WithName("x"), 1.0f, {.use_resource = false});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_THAT(Names(root),
              ElementsAre("x/initial_value", "x", "x/Assign", "x/read"));
  EXPECT_THAT(Groups(root, "x"), ElementsAre());
  EXPECT_THAT(Groups(root, "x/Assign"), ElementsAre("loc:@x"));
  EXPECT_THAT(Groups(root, "x/read"), ElementsAre("loc:@x"));
  EXPECT_EQ(x.handle().dtype(), DT_FLOAT_REF);
  EXPECT_EQ(x.value().name(), "x/read:0");
}

TEST(VariableTest, ResourceVariableFromAValue) {
  const Scope root = Scope::Root();
  const Variable x(root.WithName("x"), 1.0f);
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_THAT(Names(root), ElementsAre("x/Initializer/initial_value", "x",
                                       "x/IsInitialized/VarIsInitializedOp",
                                       "x/Assign", "x/Read/ReadVariableOp"));
  EXPECT_THAT(Groups(root, "x"), ElementsAre("loc:@x"));
  EXPECT_THAT(Groups(root, "x/Initializer/initial_value"),
              ElementsAre("loc:@x"));
  EXPECT_THAT(Groups(root, "x/Assign"), ElementsAre());
  EXPECT_EQ(*x.handle().node()->attr<std::string>("shared_name"), "x");
  EXPECT_EQ(x.dtype(), DT_FLOAT);
  EXPECT_EQ(x.initializer().name(), "x/Assign");
}

TEST(VariableTest, VariableFromAnInitializer) {
  for (bool resource : {false, true}) {
    const Scope root = Scope::Root();
    const Variable x(root.WithName("x"), initializers::Zeros(), {2},
                     {.dtype = DT_FLOAT, .use_resource = resource});
    ASSERT_THAT(root.status(), IsOk());
    EXPECT_EQ(Names(root)[0], "x/Initializer/zeros");
    EXPECT_EQ(Names(root)[1], "x");
    EXPECT_THAT(Groups(root, "x"), ElementsAre("loc:@x"));
    EXPECT_THAT(Groups(root, "x/Initializer/zeros"), ElementsAre("loc:@x"));
    EXPECT_EQ(x.shape(), (PartialShape{2}));
  }
}

TEST(VariableTest, TakesItsDeviceButNotControlDependencies) {
  const Scope root = Scope::Root();
  const Output late = root.AddOutput("Placeholder", {}, {{"dtype", DT_FLOAT}});
  const Variable x(root.WithDevice("/job:ps").WithControlDependencies({late}),
                   1.0f);
  EXPECT_EQ(x.handle().node()->requested_device(), "/job:ps");
  EXPECT_EQ(x.initializer().node()->requested_device(), "/job:ps");
  EXPECT_EQ(x.initial_value().node()->requested_device(), "");
  EXPECT_TRUE(x.initializer().node()->control_inputs().empty());
}

TEST(VariableTest, DefaultNamesCount) {
  const Scope root = Scope::Root();
  EXPECT_EQ(Variable(root, 1.0f).name(), "Variable");
  EXPECT_EQ(Variable(root, 1.0f).name(), "Variable_1");
  EXPECT_EQ(Variable(root.SubScope("a").WithName("x"), 1.0f).name(), "a/x");
}

TEST(VariableTest, ChecksTheInitialValue) {
  const Scope root = Scope::Root();
  EXPECT_EQ(Variable(root, 1, {.dtype = DT_DOUBLE}).dtype(), DT_DOUBLE);
  EXPECT_FALSE(
      Variable(root.WithName("bad"), Tensor::Scalar(1), {.dtype = DT_DOUBLE}));
  EXPECT_THAT(root.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "bad"));
  const Scope other = Scope::Root();
  const Output unknown =
      other.AddOutput("Placeholder", {}, {{"dtype", DT_FLOAT}});
  EXPECT_TRUE(Variable(other, unknown,
                       {.use_resource = false, .validate_shape = false}));
  EXPECT_FALSE(Variable(other, unknown, {.use_resource = false}));
  EXPECT_THAT(other.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "must have a shape"));
}

TEST(VariableTest, GoesIntoCollections) {
  const Scope root = Scope::Root();
  const Variable a(root, 1.0f), b(root, 2.0f, {.trainable = false});
  const Variable c(root, 3.0f,
                   {.trainable = false,
                    .collections = {std::string(collection::kLocalVariables)},
                    .use_resource = false});
  EXPECT_THAT(GlobalVariables(root), ElementsAre(a, b));
  EXPECT_THAT(TrainableVariables(root), ElementsAre(a));
  EXPECT_THAT(LocalVariables(root), ElementsAre(c));
  EXPECT_EQ(FindVariable(root, b.handle()), b);
  EXPECT_FALSE(FindVariable(root, b.value()));
}

TEST(VariableTest, InitializersAreGroupedByDevice) {
  const Scope root = Scope::Root();
  EXPECT_EQ(GlobalVariablesInitializer(root).name(), "init");
  const Variable a(root.WithDevice("/cpu:0").WithName("a"), 1.0f);
  const Operation one = GlobalVariablesInitializer(root);
  EXPECT_EQ(one.name(), "init_1");
  EXPECT_EQ(one.node()->requested_device(), "/device:CPU:0");
  EXPECT_THAT(one.node()->control_inputs(),
              ElementsAre(a.initializer().node()));
  const Variable b(root.WithDevice("/cpu:1").WithName("b"), 1.0f);
  const Operation both = GlobalVariablesInitializer(root.WithName("start"));
  EXPECT_EQ(both.name(), "start");
  EXPECT_THAT(both.node()->control_inputs(),
              ElementsAre(root.graph().FindNode("start/NoOp"),
                          root.graph().FindNode("start/NoOp_1")));
  EXPECT_EQ(LocalVariablesInitializer(root).name(), "init_2");
}

TEST(VariableTest, ReadsAndAssignments) {
  for (bool resource : {false, true}) {
    const Scope root = Scope::Root();
    const Variable x(root, {1.0, 2.0},
                     {.dtype = DT_FLOAT, .use_resource = resource});
    const Output sum = root.AddOutput("Add", {x, 1});
    EXPECT_EQ(sum.node()->input(0), x.value().output_tensor());
    for (const Output& changed :
         {Assign(root, x, {3.0, 4.0}), AssignAdd(root, x, {1, 1}),
          AssignSub(root, x, sum)}) {
      ASSERT_THAT(root.status(), IsOk());
      EXPECT_EQ(RemoveRefType(changed.dtype()), DT_FLOAT);
      EXPECT_EQ(changed.shape(), (PartialShape{2}));
    }
    EXPECT_NE(x.Read(root), x.value());
    EXPECT_EQ(x.IsInitialized(root).dtype(), DT_BOOL);
    EXPECT_THAT(root.status(), IsOk());
  }
}

TEST(VariableTest, AccessorsAfterAnErrorKeepTheFirstError) {
  const Scope root = Scope::Root();
  const Variable x(root.WithName("not valid"), 1.0f);
  ASSERT_FALSE(x);
  const std::string error(root.status().message());
  EXPECT_EQ(x.name(), "<none>");
  EXPECT_EQ(x.dtype(), DT_INVALID);
  EXPECT_FALSE(x.shape().has_rank());
  EXPECT_FALSE(x.is_resource());
  EXPECT_FALSE(x.trainable());
  EXPECT_FALSE(x.handle());
  EXPECT_FALSE(x.initializer());
  EXPECT_FALSE(x.initial_value());
  EXPECT_FALSE(x.Read(root));
  EXPECT_FALSE(x.SparseRead(root, {0}));
  EXPECT_FALSE(x.IsInitialized(root));
  EXPECT_FALSE(Assign(root, x, 1.0f));
  EXPECT_FALSE(AssignAdd(root, x, 1.0f));
  EXPECT_FALSE(GatherV2(root, x, {0}, 0));
  EXPECT_FALSE(VariablesInitializer(root, {x}));
  EXPECT_FALSE(FindVariable(root, x.handle()));
  EXPECT_EQ(root.status().message(), error);
}

}  // namespace
}  // namespace weft::ops
