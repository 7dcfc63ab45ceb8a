#include "libs/placement/placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// The few ops these tests need: placement sees their signatures only.
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
  ops->Add(OpDefBuilder("Assign")
               .Input("ref: Ref(T)")
               .Input("value: T")
               .Output("output_ref: Ref(T)")
               .Attr("T: type")
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
                       const std::string& device = "") {
    return Add({.name = name,
                .op = "Identity",
                .inputs = {{input, 0}},
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
    return PlaceNodes(
        graph_, first_id, devices_,
        [this](const Node& node) {
          return gpu_ops_.count(node.type())
                     ? std::vector<std::string>{"CPU", "GPU"}
                     : std::vector<std::string>{"CPU"};
        },
        options);
  }

  Graph graph_{Ops()};
  std::vector<DeviceAttributes> devices_ = Cluster();
  std::set<std::string> gpu_ops_;
};

TEST_F(PlacerTest, UnpinnedNodesGoToTheSessionsOwnTask) {
  const Node* a = Const("a");
  const Node* b = Identity("b", a);
  ASSERT_OK(Place());
  EXPECT_EQ(a->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(b->assigned_device(), "/job:worker/replica:0/task:1/device:CPU:0");
}

TEST_F(PlacerTest, AJobWithoutATaskMeansTheLowestUnlessItIsOurOwnJob) {
  const Node* ps = Identity("ps", Const("a"), "/job:ps");
  const Node* worker = Identity("worker", Const("b"), "/job:worker");
  ASSERT_OK(Place());
  EXPECT_EQ(ps->assigned_device(), "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(worker->assigned_device(),
            "/job:worker/replica:0/task:1/device:CPU:0");
}

TEST_F(PlacerTest, AGpuIsPreferredWhereThereIsAKernel) {
  gpu_ops_ = {"Identity"};
  const Node* a = Const("a");
  const Node* b = Identity("b", a);
  ASSERT_OK(Place());
  EXPECT_EQ(b->assigned_device(), "/job:worker/replica:0/task:1/device:GPU:0");
}

TEST_F(PlacerTest, AssignSitsWithItsVariable) {
  const Node* v = Variable("v", "/job:ps/task:1");
  const Node* assign = Assign("assign", v, Const("zero"));
  ASSERT_OK(Place());
  EXPECT_EQ(v->assigned_device(), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(assign->assigned_device(), v->assigned_device());
}

TEST_F(PlacerTest, AConstantGoesWhereItIsUsed) {
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
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "Cannot colocate nodes"));
}

TEST_F(PlacerTest, AMissingTaskIsRefusedNamingNodeAndDevices) {
  Const("fine");
  Const("lost", "/job:worker/task:7");
  const absl::Status status = Place();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               "Cannot assign a device for operation lost"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/job:ps/replica:0/task:0/device:CPU:0"));
  EXPECT_EQ(graph_.FindNode("fine")->assigned_device(), "")
      << "a refused placement leaves all nodes alone";
}

TEST_F(PlacerTest, SoftPlacementForgetsTypeAndIndexButNotTheTask) {
  const Node* no_type = Identity("t", Const("a"), "/job:ps/task:1/gpu:3");
  ASSERT_OK(Place({.allow_soft_placement = true, .default_task = kLocal}));
  EXPECT_EQ(no_type->assigned_device(),
            "/job:ps/replica:0/task:1/device:CPU:0");
  Const("no_job", "/job:nowhere");
  EXPECT_THAT(Place({.allow_soft_placement = true, .default_task = kLocal}, 2),
              StatusIs(absl::StatusCode::kInvalidArgument, "no_job"));
}

TEST_F(PlacerTest, AnOpWithoutAKernelOnTheRequestedTypeSaysSo) {
  Identity("x", Const("a"), "/job:worker/task:1/device:GPU:0");
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument,
                                "no supported kernel for GPU"));
}

TEST_F(PlacerTest, PlacedNodesStayAndNewOnesFollowThem) {
  const Node* v = Variable("v", "/job:ps/task:1");
  ASSERT_OK(Place());
  const int first_new = graph_.num_nodes();
  const Node* assign = Assign("assign", v, Const("zero"));
  ASSERT_OK(Place({.default_task = "/job:ps/replica:0/task:0"}, first_new));
  EXPECT_EQ(assign->assigned_device(), v->assigned_device());
}

TEST_F(PlacerTest, TheOrderOfDevicesDoesNotMatter) {
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
