#include "libs/placement/placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "libs/base/test_matchers.h"
#include "libs/graph/inference_context.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr char kLocal[] = "/job:worker/replica:0/task:1";

std::vector<DeviceAttributes> Devices(const std::vector<std::string>& names) {
  std::vector<DeviceAttributes> result;
  for (const std::string& name : names) {
    const bool is_gpu = name.find("GPU") != std::string::npos;
    result.push_back({.name = name, .device_type = is_gpu ? "GPU" : "CPU"});
  }
  return result;
}

std::vector<DeviceAttributes> Cluster() {
  return Devices({"/job:ps/replica:0/task:0/device:CPU:0",
                  "/job:ps/replica:0/task:1/device:CPU:0",
                  "/job:worker/replica:0/task:0/device:CPU:0",
                  "/job:worker/replica:0/task:1/device:CPU:0",
                  "/job:worker/replica:0/task:1/device:GPU:0"});
}

// The few ops these tests need: placement uses only their signatures.
std::shared_ptr<const OpRegistry> Ops() {
  auto ops = std::make_shared<OpRegistry>();
  ops->Add(OpDefBuilder("Const")
               .Output("output: dtype")
               .Attr("value: tensor")
               .Attr("dtype: type")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("VariableV2")
               .Output("ref: Ref(dtype)")
               .Attr("shape: shape")
               .Attr("dtype: type")
               .Stateful()
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Identity")
               .Input("input: T")
               .Output("output: T")
               .Attr("T: type")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Shape")
               .Input("input: T")
               .Output("output: int32")
               .Attr("T: type")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Assign")
               .Input("ref: Ref(T)")
               .Input("value: T")
               .Output("output_ref: Ref(T)")
               .Attr("T: type")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("AddRefs")
               .Input("a: Ref(float)")
               .Input("b: Ref(float)")
               .Shape(shapes::Unknown));
  return ops;
}

class PlacerTest : public ::testing::Test {
 protected:
  const Node* Const(const std::string& name, const std::string& device = "",
                    std::vector<std::string> colocate = {}) {
    AttrMap attrs = {{"dtype", DT_FLOAT}, {"value", Tensor::Scalar(1.0f)}};
    if (!colocate.empty()) attrs["_class"] = colocate;
    return Add({.name = name, .op = "Const", .attrs = attrs, .device = device});
  }
  const Node* Variable(const std::string& name, const std::string& device) {
    return Add({.name = name,
                .op = "VariableV2",
                .attrs = {{"dtype", DT_FLOAT}, {"shape", PartialShape{}}},
                .device = device});
  }
  const Node* Identity(const std::string& name, const Node* input,
                       const std::string& device = "",
                       std::vector<std::string> colocate = {}) {
    AttrMap attrs;
    if (!colocate.empty()) attrs["_class"] = colocate;
    return Add({.name = name,
                .op = "Identity",
                .inputs = {{input, 0}},
                .attrs = attrs,
                .device = device});
  }
  const Node* Assign(const std::string& name, const Node* variable,
                     const Node* value, const std::string& device = "") {
    return Add({.name = name,
                .op = "Assign",
                .inputs = {{variable, 0}, {value, 0}},
                .device = device});
  }
  const Node* Add(NodeSpec spec) {
    auto node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status();
    return *node;
  }

  absl::Status Place(PlacementOptions options = {.default_task = kLocal},
                     int first_id = 0) {
    const PlacementGraph described =
        DescribeForPlacement(graph_, first_id, [this](const Node& node) {
          const auto found = kernels_.find(node.type());
          return found == kernels_.end() ? std::vector<std::string>{"CPU"}
                                         : found->second;
        });
    ASSIGN_OR_RETURN(const Placement placement,
                     PlaceNodes(described, devices_, ExistsNowhere, options));
    for (size_t i = 0; i < described.nodes.size(); ++i) {
      graph_.set_assigned_device(graph_.FindNode(described.nodes[i].name),
                                 placement.devices[i]);
    }
    return absl::OkStatus();
  }

  static bool ExistsNowhere(const NamedResource&, const std::string&) {
    return false;
  }

  Graph graph_{Ops()};
  std::vector<DeviceAttributes> devices_ = Cluster();
  // By op; other ops have CPU kernels only.
  std::map<std::string, std::vector<std::string>> kernels_;
};

TEST_F(PlacerTest, UnpinnedNodesGoToTheSessionsOwnTask) {
  const Node* a = Const("a");
  const Node* b = Identity("b", a);
  ASSERT_OK(Place());
  EXPECT_EQ(a->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(b->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
}

TEST_F(PlacerTest, JobWithoutTaskPrefersOwnThenLowestTask) {
  const Node* ps = Identity("ps", Const("a"), "/job:ps");
  const Node* worker = Identity("worker", Const("b"), "/job:worker");
  ASSERT_OK(Place());
  EXPECT_EQ(ps->assigned_device(), "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(worker->assigned_device(),
            "/job:worker/replica:0/task:1/device:CPU:0");
}

TEST_F(PlacerTest, AGpuIsPreferredWhereThereIsAKernel) {
  kernels_["Identity"] = {"CPU", "GPU"};
  const Node* a = Const("a");
  const Node* b = Identity("b", a);
  ASSERT_OK(Place());
  EXPECT_EQ(b->assigned_device(), "/job:worker/replica:0/task:1/device:GPU:0");
}

TEST_F(PlacerTest, AssignIsPlacedWithItsVariable) {
  const Node* v = Variable("v", "/job:ps/task:1");
  const Node* assign = Assign("assign", v, Const("zero"));
  ASSERT_OK(Place());
  EXPECT_EQ(v->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(assign->assigned_device(), v->assigned_device());
}

TEST_F(PlacerTest, ConstantIsPlacedWithItsConsumer) {
  const Node* v = Variable("v", "/job:ps/task:1");
  const Node* zero = Const("zero");
  Assign("assign", v, zero);
  ASSERT_OK(Place());
  EXPECT_EQ(zero->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
}

TEST_F(PlacerTest, ColocationBeatsAMissingRequest) {
  const Node* a = Const("a", "/job:ps/task:1");
  const Node* b = Const("b", "", {"loc:@a"});
  ASSERT_OK(Place());
  EXPECT_EQ(b->assigned_device(), a->assigned_device());
}

TEST_F(PlacerTest, ColocationWithAContradictingRequestIsRefused) {
  Const("a", "/job:ps/task:1");
  Const("b", "/job:worker", {"loc:@a"});
  EXPECT_THAT(Place(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Cannot colocate nodes {{colocation_node b}} and "
                       "{{colocation_node a}}: Cannot merge devices with "
                       "incompatible jobs: '/job:ps/task:1' and "
                       "'/job:worker'"));
}

TEST_F(PlacerTest, ColocationNameNeedNotBeANode) {
  const Node* a = Const("a", "", {"loc:@group"});
  const Node* b = Const("b", "/job:ps/task:1", {"loc:@group"});
  const Node* c = Const("c", "/job:ps/task:0", {"loc:@other"});
  ASSERT_OK(Place());
  EXPECT_EQ(a->assigned_device(), b->assigned_device());
  EXPECT_NE(c->assigned_device(), b->assigned_device());
}

TEST_F(PlacerTest, ContradictingRequestsInAGroupAreRefused) {
  Const("a", "/job:ps/task:0", {"loc:@group"});
  Const("b", "/job:ps/task:1", {"loc:@group"});
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "Cannot colocate nodes {{colocation_node b}} "
                                "and {{colocation_node a}}"));
}

TEST_F(PlacerTest, ColocatedNodesWithoutACommonTypeAreRefused) {
  kernels_["Identity"] = {"GPU"};
  const Node* a = Const("a");
  Const("b", "", {"loc:@on_gpu"});
  Identity("on_gpu", a);
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "no device type supports both"));
}

TEST_F(PlacerTest, ReferenceOverridesTheConsumersRequest) {
  const Node* v = Variable("v", "/job:ps/task:0");
  const Node* assign =
      Assign("far_assign", v, Const("one"), "/job:worker/task:1");
  ASSERT_OK(Place());
  EXPECT_EQ(v->assigned_device(), "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(assign->assigned_device(), v->assigned_device());
}

TEST_F(PlacerTest, UnpinnedVariableFollowsItsConsumer) {
  const Node* v = Variable("v", "");
  Assign("assign", v, Const("one"), "/job:ps/task:1");
  ASSERT_OK(Place());
  EXPECT_EQ(v->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
}

TEST_F(PlacerTest, VariablesOnTwoTasksCannotShareAnOp) {
  const Node* v = Variable("v", "/job:ps/task:0");
  const Node* w = Variable("w", "/job:ps/task:1");
  Add({.name = "both", .op = "AddRefs", .inputs = {{v, 0}, {w, 0}}});
  EXPECT_THAT(Place(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "incompatible resource devices: /job:ps/task:1 vs "
                       "/job:ps/task:0. The edge src node is w, and the dst "
                       "node is both."));
}

TEST_F(PlacerTest, ShapeIsPlacedWithItsInput) {
  const Node* far = Identity("far", Const("a"), "/job:ps/task:1");
  const Node* shape = Add({.name = "s", .op = "Shape", .inputs = {{far, 0}}});
  ASSERT_OK(Place());
  EXPECT_EQ(shape->assigned_device(), far->assigned_device());
}

TEST_F(PlacerTest, ShapeWithARequestGetsItsDevice) {
  const Node* far = Identity("far", Const("a"), "/job:ps/task:1");
  const Node* shape = Add({.name = "s",
                           .op = "Shape",
                           .inputs = {{far, 0}},
                           .device = "/job:worker/task:0"});
  ASSERT_OK(Place());
  EXPECT_EQ(shape->assigned_device(),
            "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST_F(PlacerTest, SharedConstantStaysOnTheSessionsTask) {
  const Node* a = Const("a");
  Identity("x", a, "/job:ps/task:0");
  Identity("y", a, "/job:ps/task:1");
  ASSERT_OK(Place());
  EXPECT_EQ(a->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
}

TEST_F(PlacerTest, ColocatedConstantsFollowTheFirstConsumer) {
  const Node* a = Const("a");
  const Node* b = Const("b", "", {"loc:@a"});
  Identity("x", a, "/job:ps/task:1");
  Identity("y", b, "/job:worker/task:0");
  ASSERT_OK(Place());
  EXPECT_EQ(a->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(b->assigned_device(), a->assigned_device());
}

TEST_F(PlacerTest, MissingTaskErrorNamesNodeAndDevices) {
  Const("fine");
  Const("lost", "/job:worker/task:7");
  EXPECT_THAT(
      Place(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "Cannot assign a device for operation lost: {{node lost}} was "
               "explicitly assigned to /job:worker/task:7 but available "
               "devices are [ /job:ps/replica:0/task:0/device:CPU:0, "
               "/job:ps/replica:0/task:1/device:CPU:0, "
               "/job:worker/replica:0/task:0/device:CPU:0, "
               "/job:worker/replica:0/task:1/device:CPU:0, "
               "/job:worker/replica:0/task:1/device:GPU:0 ]. Make sure the "
               "device specification refers to a valid device."));
}

TEST_F(PlacerTest, AMisspelledJobIsCorrected) {
  Const("lost", "/job:wroker/task:0");
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "There is no job \"wroker\" here"));
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "Did you mean \"worker\"?"));
}

TEST_F(PlacerTest, AMisspelledDeviceTypeIsCorrected) {
  Const("lost", "/job:worker/device:CPPU:0");
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "There is no device of type \"CPPU\". Did you "
                                "mean \"CPU\"?"));
}

TEST_F(PlacerTest, AMissingGpuNamesTheRemedies) {
  Const("lost", "/job:ps/task:0/device:GPU:0");
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "no such GPU is available. Start the task with "
                                "--gpus, or set allow_soft_placement"));
}

TEST_F(PlacerTest, UnplaceableGroupErrorNamesItsRequest) {
  Variable("v", "/job:ps/task:7");
  Identity("near", Const("a"), "", {"loc:@v"});
  const absl::Status status = Place();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               "{{node v}} was explicitly assigned to "
                               "/job:ps/task:7"));
  Identity("nearer", Const("b"), "/device:CPU:0", {"loc:@v"});
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "because the node {{colocation_node v}} was "
                                "colocated with a group of nodes that required "
                                "incompatible device "
                                "'/job:ps/task:7/device:CPU:0'"));
}

TEST_F(PlacerTest, MalformedDeviceErrorNamesTheNode) {
  Const("bad", "/job:ps/tusk:1");
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "Device of operation bad: Malformed device "
                                "specification '/job:ps/tusk:1'"));
}

TEST_F(PlacerTest, AnOpWithoutAKernelIsRefusedWithItsAttrs) {
  kernels_["Identity"] = {};
  Identity("x", Const("a"));
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "No OpKernel was registered to support Op "
                                "'Identity' used by {{node x}} with these "
                                "attrs: [T="));
}

TEST_F(PlacerTest, KernelsForMissingDevicesAreNamed) {
  kernels_["Identity"] = {"TPU"};
  Identity("x", Const("a"));
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "Registered devices: [CPU, GPU]\nRegistered "
                                "kernels:\n  device='TPU'"));
}

TEST_F(PlacerTest, MissingKernelForRequestedTypeIsNamed) {
  Identity("x", Const("a"), "/job:worker/task:1/device:GPU:0");
  const absl::Status status = Place();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Could not satisfy explicit device specification "
                       "'/job:worker/task:1/device:GPU:0' because no supported "
                       "kernel for GPU devices is available."));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Identity: CPU"));
}

TEST_F(PlacerTest, PlacementWithoutDevicesFails) {
  devices_.clear();
  Const("a");
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                "No devices are registered"));
}

TEST_F(PlacerTest, PlacedNodesStayAndNewOnesFollowThem) {
  const Node* v = Variable("v", "/job:ps/task:1");
  ASSERT_OK(Place());
  const int first_new = graph_.num_nodes();
  const Node* assign = Assign("assign", v, Const("zero"));
  ASSERT_OK(Place({.default_task = "/job:ps/replica:0/task:0"}, first_new));
  EXPECT_EQ(assign->assigned_device(), v->assigned_device());
}

TEST_F(PlacerTest, PlacedNodeFixesItsGroupWithSoftPlacement) {
  kernels_["VariableV2"] = {"CPU", "GPU"};
  const Node* v = Variable("v", "/job:worker/task:1/device:GPU:0");
  ASSERT_OK(Place());
  const int first_new = graph_.num_nodes();
  Assign("assign", v, Const("zero"));
  EXPECT_THAT(
      Place({.allow_soft_placement = true, .default_task = kLocal}, first_new),
      StatusIs(absl::StatusCode::kInvalidArgument, "assign"))
      << "Assign has no kernel for GPUs";
}

TEST_F(PlacerTest, PlacedNodesOnTwoDevicesCannotBeMerged) {
  const Node* v = Variable("v", "/job:ps/task:0");
  const Node* w = Variable("w", "/job:ps/task:1");
  ASSERT_OK(Place());
  const int first_new = graph_.num_nodes();
  Add({.name = "both", .op = "AddRefs", .inputs = {{v, 0}, {w, 0}}});
  EXPECT_THAT(Place({.default_task = kLocal}, first_new),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "incompatible assigned devices"));
}

TEST_F(PlacerTest, InputWithoutANodeIsRefused) {
  PlacementGraph graph;
  graph.nodes.push_back({.name = "x",
                         .op = "Identity",
                         .kernel_types = {"CPU"},
                         .inputs = {{.node = 7}}});
  EXPECT_THAT(PlaceNodes(graph, devices_, ExistsNowhere, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "node x"));
  graph.nodes[0].inputs[0].node = -1;
  EXPECT_THAT(PlaceNodes(graph, devices_, ExistsNowhere, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "node x"));
}

TEST_F(PlacerTest, DeviceOrderDoesNotMatter) {
  const Node* a = Identity("a", Const("in"), "/job:worker");
  std::vector<std::string> seen;
  std::vector<std::string> names;
  for (const DeviceAttributes& d : Cluster()) names.push_back(d.name);
  std::sort(names.begin(), names.end());
  do {
    devices_ = Devices(names);
    ASSERT_OK(Place());
    seen.push_back(a->assigned_device());
  } while (std::next_permutation(names.begin(), names.end()));
  EXPECT_EQ(seen.size(), 120u);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), seen[0]), 120);
}

}  // namespace
}  // namespace weft
