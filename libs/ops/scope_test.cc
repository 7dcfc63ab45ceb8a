#include "libs/ops/scope.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Output Placeholder(const Scope& scope, DataType dtype = DT_FLOAT) {
  return scope.AddOutput("Placeholder", {}, {{"dtype", dtype}});
}

Tensor ValueOf(const Output& output) {
  return output ? *output.node()->attr<Tensor>("value") : Tensor();
}

TEST(ScopeTest, MakesNamesUniqueAsTensorFlowDoes) {
  const Scope root = Scope::Root();
  const auto name = [&](const Scope& scope) {
    return Placeholder(scope).node()->name();
  };
  EXPECT_EQ(name(root), "Placeholder");
  EXPECT_EQ(name(root), "Placeholder_1");
  EXPECT_EQ(name(root.WithName("x")), "x");
  EXPECT_EQ(name(root.WithName("x")), "x_1");
  // Names are unique regardless of case.
  EXPECT_EQ(name(root.WithName("X")), "X_2");
  // A name that is already taken is skipped.
  EXPECT_EQ(name(root.WithName("y_1")), "y_1");
  EXPECT_EQ(name(root.WithName("y")), "y");
  EXPECT_EQ(name(root.WithName("y")), "y_2");
}

TEST(ScopeTest, NestsNameScopes) {
  const Scope root = Scope::Root();
  const Scope a = root.SubScope("a");
  EXPECT_EQ(a.prefix(), "a/");
  EXPECT_EQ(root.SubScope("a").prefix(), "a_1/");
  EXPECT_EQ(a.SubScope("b").prefix(), "a/b/");
  EXPECT_EQ(Placeholder(a.SubScope("b").WithName("x")).node()->name(),
            "a/b_1/x");
  EXPECT_EQ(root.ReenterScope("a/b").prefix(), "a/b/");
  EXPECT_EQ(a.SubScope("").prefix(), "");
  EXPECT_EQ(a.SubScope("c/").prefix(), "c/");
  // Scopes and nodes share one set of names.
  EXPECT_EQ(Placeholder(root.WithName("s")).node()->name(), "s");
  EXPECT_EQ(root.SubScope("s").prefix(), "s_1/");
  EXPECT_EQ(Placeholder(root.WithName("a/")).node()->name(), "a");
  EXPECT_THAT(root.status(), IsOk());
}

TEST(ScopeTest, OuterGradientSourceWins) {
  const Scope root = Scope::Root();
  EXPECT_EQ(root.gradient_source(), "");
  const Scope outer = root.WithGradientSource("gradients");
  const Scope inner = outer.SubScope("a").WithGradientSource("a/gradients");
  EXPECT_EQ(inner.gradient_source(), "gradients");
}

TEST(ScopeTest, RefusesBadNames) {
  for (const char* name : {"_x", "-x", "/x", "a b", "a:0"}) {
    const Scope root = Scope::Root();
    root.SubScope(name);
    EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        "is not a valid scope name"))
        << name;
    const Scope other = Scope::Root();
    EXPECT_FALSE(Placeholder(other.WithName(name))) << name;
    EXPECT_FALSE(other.ok()) << name;
  }
}

TEST(ScopeTest, NamesAvoidImportedNodes) {
  const Scope root = Scope::Root();
  ASSERT_THAT(
      root.graph().AddNode(
          {.name = "x", .op = "Placeholder", .attrs = {{"dtype", DT_FLOAT}}}),
      IsOk());
  EXPECT_EQ(Placeholder(root.WithName("x")).node()->name(), "x_1");
}

TEST(ScopeTest, ValuesBecomeConstsNamedAfterTheArgument) {
  const Scope root = Scope::Root();
  const Output x = Placeholder(root);
  const Output sum = root.AddOutput("Add", {x, 1.0f});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_EQ(sum.node()->name(), "Add");
  EXPECT_EQ(sum.node()->input(1).node->name(), "Add/y");
  const Output pack = root.AddOutput("Pack", {x, 2.0f, 3.0f});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_EQ(pack.node()->input(2).node->name(), "Pack/values_2");
}

TEST(ScopeTest, ScalarsTakeTheTypeOfTheirNeighbour) {
  for (DataType dtype : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT8,
                         DT_INT32, DT_INT64, DT_UINT8, DT_COMPLEX64}) {
    const Scope root = Scope::Root();
    const Output x = Placeholder(root, dtype);
    const Output sum = root.AddOutput("Add", {1, x});
    ASSERT_THAT(root.status(), IsOk()) << DataTypeName(dtype);
    EXPECT_EQ(sum.dtype(), dtype);
    EXPECT_EQ(ValueOf(sum.node()->input(0)).dtype(), dtype);
  }
}

TEST(ScopeTest, ScalarsAdaptToAttrsListsAndFixedTypes) {
  const Scope root = Scope::Root();
  const Output x = Placeholder(root);
  // Split's axis has the fixed type int32.
  const Node* split =
      root.AddNode("Split", {int64_t{0}, x}, {{"num_split", 2}});
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_EQ(ValueOf(split->input(0)).dtype(), DT_INT32);
  // The attr determines the type.
  const Output sum = root.AddOutput("Add", {1, 2}, {{"T", DT_DOUBLE}});
  EXPECT_EQ(sum.dtype(), DT_DOUBLE);
  // If all operands are values, the floating-point type wins.
  EXPECT_EQ(root.AddOutput("Add", {1, 2.5f}).dtype(), DT_FLOAT);
  EXPECT_EQ(root.AddOutput("Add", {x, {1.0, 2.0}}).dtype(), DT_FLOAT);
  EXPECT_THAT(root.status(), IsOk());
}

TEST(ScopeTest, RefusesScalarsThatDoNotFit) {
  const struct {
    DataType dtype;
    Input value;
  } cases[] = {{DT_INT32, 1.5},  {DT_UINT8, 300},
               {DT_UINT8, -1},   {DT_INT32, int64_t{1} << 40},
               {DT_INT64, 1e30}, {DT_FLOAT, true},
               {DT_STRING, 1}};
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(root.AddOutput("Add", {Placeholder(root, c.dtype), c.value}));
    EXPECT_THAT(root.status(),
                StatusIs(absl::StatusCode::kInvalidArgument, "Expected"))
        << DataTypeName(c.dtype);
  }
}

TEST(ScopeTest, FirstErrorStopsNodeCreation) {
  const Scope root = Scope::Root();
  const Output x = Placeholder(root), i = Placeholder(root, DT_INT32);
  EXPECT_FALSE(root.AddOutput("Add", {x, i}));
  const absl::Status first = root.status();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kInvalidArgument, "Add"));
  const int nodes = root.graph().num_nodes();
  EXPECT_FALSE(root.AddOutput("NoSuchOp", {}));
  EXPECT_FALSE(root.SubScope("a").AddOutput("Add", {Output(), x}));
  EXPECT_EQ(root.status(), first);
  EXPECT_EQ(root.graph().num_nodes(), nodes);
}

TEST(ScopeTest, InputErrorsNameTheInput) {
  const Scope root = Scope::Root();
  root.AddOutput("Add", {Output(), 1.0f});
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "input 0 is missing"));
  const Scope other = Scope::Root();
  other.AddOutput("Neg", {1.0f, 2.0f});
  EXPECT_THAT(other.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "takes 1 inputs, but 2 are given"));
}

TEST(ScopeTest, InnerDevicesWinPartByPart) {
  const Scope root = Scope::Root();
  const auto device = [](const Scope& scope) {
    return Placeholder(scope).node()->requested_device();
  };
  EXPECT_EQ(device(root), "");
  const Scope worker = root.WithDevice("/job:worker");
  EXPECT_EQ(device(worker.WithDevice("/task:1").WithDevice("/cpu:0")),
            "/job:worker/task:1/device:CPU:0");
  EXPECT_EQ(device(worker.WithDevice("/job:ps/task:0")), "/job:ps/task:0");
  EXPECT_EQ(device(worker.WithoutDevice().WithDevice("/gpu:1")),
            "/device:GPU:1");
  worker.WithDevice("/nonsense");
  EXPECT_THAT(root.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "nonsense"));
}

TEST(ScopeTest, DeviceFunctionsRunInnermostFirst) {
  const Scope root = Scope::Root();
  std::vector<std::string> seen;
  const Scope scope =
      root.WithDevice("/job:outer/task:7")
          .WithDeviceFunction([&](const NodeSpec& spec) {
            seen.push_back(spec.op + " " + spec.device);
            return spec.device.empty() ? std::string("/cpu:0") : spec.device;
          });
  EXPECT_EQ(Placeholder(scope).node()->requested_device(),
            "/job:outer/task:7/device:CPU:0");
  EXPECT_EQ(
      Placeholder(scope.WithDevice("/job:inner")).node()->requested_device(),
      "/job:inner/task:7");
  EXPECT_THAT(seen, ElementsAre("Placeholder ", "Placeholder /job:inner"));
  Placeholder(root.WithDeviceFunction([](const NodeSpec&) { return "/bad"; }));
  EXPECT_THAT(root.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "/bad"));
}

TEST(ScopeTest, Colocates) {
  const Scope root = Scope::Root();
  const Output x = Placeholder(root.WithDevice("/cpu:1").WithName("x"));
  const Output y = Placeholder(root.WithDevice("/cpu:0").ColocateWith(x));
  EXPECT_EQ(y.node()->requested_device(), "/device:CPU:1");
  const auto groups = [](const Output& output) {
    return *output.node()->attr<std::vector<std::string>>("_class");
  };
  EXPECT_THAT(groups(y), ElementsAre("loc:@x"));
  // Colocation with y means colocation with the nodes that y is colocated with.
  EXPECT_THAT(groups(Placeholder(root.ColocateWith(y))), ElementsAre("loc:@x"));
  EXPECT_THAT(groups(Placeholder(root.ColocateWithName("later"))),
              ElementsAre("loc:@later"));
}

TEST(ScopeTest, AddsControlInputs) {
  const Scope root = Scope::Root();
  const Output a = Placeholder(root), b = Placeholder(root);
  const Scope after = root.WithControlDependencies({a, b, a});
  EXPECT_THAT(Placeholder(after).node()->control_inputs(),
              ElementsAre(a.node(), b.node()));
  EXPECT_THAT(after.AddOutput("Neg", {a}).node()->control_inputs(),
              ElementsAre(b.node()));
  EXPECT_TRUE(Placeholder(after.WithoutControlDependencies())
                  .node()
                  ->control_inputs()
                  .empty());
}

TEST(ScopeTest, StatefulOpsGetTheContainer) {
  const Scope root = Scope::Root().WithContainer("box");
  const Output variable = root.AddOutput(
      "VarHandleOp", {}, {{"dtype", DT_FLOAT}, {"shape", PartialShape{1}}});
  EXPECT_EQ(*variable.node()->attr<std::string>("container"), "box");
  EXPECT_EQ(Placeholder(root).node()->attr<std::string>("container"), nullptr);
}

TEST(ScopeTest, SeedsFollowTensorFlow) {
  using Seeds = std::pair<int64_t, int64_t>;
  const Scope root = Scope::Root();
  EXPECT_EQ(root.GetSeeds(std::nullopt), Seeds(0, 0));
  EXPECT_EQ(root.GetSeeds(5), Seeds(87654321, 5));
  root.SetGraphSeed(7);
  EXPECT_EQ(root.GetSeeds(5), Seeds(7, 5));
  Placeholder(root);
  Placeholder(root);
  EXPECT_EQ(root.GetSeeds(std::nullopt), Seeds(7, 2));
  root.SetGraphSeed(0);
  EXPECT_EQ(root.GetSeeds(0), Seeds(0, 2147483647));
  EXPECT_EQ(root.GetSeeds(-1), Seeds(0, 2147483646));
  EXPECT_EQ(root.GetSeeds(int64_t{1} << 31), Seeds(0, 1));
}

TEST(ScopeTest, Collects) {
  const Scope root = Scope::Root();
  const Output x = Placeholder(root);
  root.SubScope("a").AddToCollection("things", x);
  EXPECT_THAT(root.GetCollection("things"), ElementsAre(x));
  EXPECT_TRUE(root.GetCollection("others").empty());
}

TEST(ScopeTest, CollectsOperations) {
  const Scope root = Scope::Root();
  const Output x = Placeholder(root);
  const Operation nothing = root.AddNode("NoOp", {});
  root.AddToCollection("things", nothing);
  root.AddToCollection("things", x);
  root.AddToCollection("things", Operation());
  EXPECT_THAT(root.GetCollection("things"), ElementsAre(x));
  const std::vector<Operation> all = root.GetOperations("things");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].node(), nothing.node());
  EXPECT_EQ(all[1].node(), x.node());
  EXPECT_TRUE(root.GetOperations("others").empty());
}

// A device function is called in the middle of a change of the graph. There, a
// second thread adds a node.
TEST(ScopeThreadsTest, SecondWriterIsRejectedWithAnError) {
  const Scope root = Scope::Root();
  Output of_second;
  const Scope outer = root.WithDeviceFunction(
      DeviceFunction([&](const NodeSpec&) -> absl::StatusOr<std::string> {
        std::thread second(
            [&] { of_second = Placeholder(root.WithName("x")); });
        second.join();
        return "";
      }));
  (void)Placeholder(outer.WithName("y"));
  EXPECT_FALSE(of_second);
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      "Another thread is adding to the graph"));
  EXPECT_EQ(root.graph().FindNode("x"), nullptr);
  EXPECT_FALSE(Placeholder(root));  // the error persists
}

TEST(ScopeThreadsTest, TwoWritersCorruptNoMemory) {
  const Scope root = Scope::Root();
  const auto write = [&root] {
    const Scope scope = root.SubScope("layer");
    for (int i = 0; i < 300; ++i) {
      scope.AddToCollection(collection::kSummaries, Placeholder(scope));
      scope.UpdateStatus(absl::OkStatus());
    }
  };
  std::thread second(write);
  write();
  second.join();
  if (!root.ok()) {
    EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kFailedPrecondition));
  }
}

TEST(ScopeThreadsTest, WritersOneAfterTheOtherAreFine) {
  const Scope root = Scope::Root();
  (void)Placeholder(root);
  std::thread second([&root] { (void)Placeholder(root); });
  second.join();
  (void)Placeholder(root);
  EXPECT_THAT(root.status(), IsOk());
  EXPECT_EQ(root.graph().num_nodes(), 3);
}

TEST(OutputTest, NullOutputsAreSafeToQuery) {
  const Output output;
  EXPECT_EQ(output.name(), "<none>");
  EXPECT_EQ(output.dtype(), DT_INVALID);
  EXPECT_FALSE(output.shape().has_rank());
  EXPECT_EQ(Operation().name(), "<none>");
  EXPECT_EQ(Operation(output).name(), "<none>");
}

}  // namespace
}  // namespace weft
