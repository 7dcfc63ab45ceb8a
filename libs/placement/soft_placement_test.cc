// Tests which requests soft placement may relax, and which not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/placement/testing/test_graph.h"

namespace weft {
namespace {

constexpr char kPs[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr char kCpu[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kGpu[] = "/job:worker/replica:0/task:0/device:GPU:0";

class SoftPlacementTest : public ::testing::Test {
 protected:
  PlacementNode& Op(const std::string& name, const std::string& device,
                    const TestGraph::InputNames& inputs = {}) {
    return graph_.Add({.name = name,
                       .op = "Op",
                       .requested_device = device,
                       .kernel_types = {"CPU", "GPU"}},
                      inputs);
  }
  PlacementNode& CpuOp(const std::string& name, const std::string& device,
                       const TestGraph::InputNames& inputs = {}) {
    return graph_.Add({.name = name,
                       .op = "CpuOp",
                       .requested_device = device,
                       .kernel_types = {"CPU"}},
                      inputs);
  }
  absl::StatusOr<std::map<std::string, std::string>> Place(
      bool allow_soft_placement = true) {
    return graph_.Place(TestDevices({kPs, kCpu, kGpu}),
                        {.allow_soft_placement = allow_soft_placement,
                         .default_task = "/job:worker/replica:0/task:0"},
                        ExistsNowhere);
  }

  TestGraph graph_;
};

TEST_F(SoftPlacementTest, TypeAndIndexAreDropped) {
  CpuOp("no_kernel", "/job:worker/gpu:0");
  Op("no_index", "/job:worker/gpu:3");
  Op("no_type_there", "/job:ps/gpu:0");
  EXPECT_FALSE(Place(false).ok());
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_EQ(placed["no_kernel"], kCpu);
  EXPECT_EQ(placed["no_index"], kGpu);
  EXPECT_EQ(placed["no_type_there"], kPs);
}

TEST_F(SoftPlacementTest, SatisfiableRequestsAreKept) {
  Op("cpu", "/device:CPU:0");
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_EQ(placed["cpu"], kCpu);
}

TEST_F(SoftPlacementTest, JobAndTaskAreKept) {
  Op("no_task", "/job:worker/task:7");
  EXPECT_THAT(Place(), StatusIs(absl::StatusCode::kInvalidArgument, "no_task"));
}

TEST_F(SoftPlacementTest, ColocationAcrossTasksIsDropped) {
  Op("a", "/job:ps");
  Op("b", "/job:worker").colocate_with = {"a"};
  EXPECT_FALSE(Place(false).ok());
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_EQ(placed["a"], kPs);
  EXPECT_EQ(placed["b"], kGpu);
}

TEST_F(SoftPlacementTest, ColocationWithoutCommonTypeIsDropped) {
  CpuOp("a", "");
  graph_.Add({.name = "b",
              .op = "GpuOp",
              .kernel_types = {"GPU"},
              .colocate_with = {"a"}});
  EXPECT_FALSE(Place(false).ok());
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_EQ(placed["a"], kCpu);
  EXPECT_EQ(placed["b"], kGpu);
}

TEST_F(SoftPlacementTest, MembersThatAskForDifferentTypesStayTogether) {
  Op("a", "/device:CPU:0");
  Op("b", "/device:GPU:0").colocate_with = {"a"};
  Op("c", "/device:CPU:0").colocate_with = {"a"};
  EXPECT_FALSE(Place(false).ok());
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_EQ(placed["a"], kGpu) << "the type is open, and a GPU is better";
  EXPECT_EQ(placed["b"], kGpu);
  EXPECT_EQ(placed["c"], kGpu);
}

TEST_F(SoftPlacementTest, VariablesRequestTakesPrecedence) {
  graph_.Variable("v", "/device:CPU:0");
  Op("a", "/device:GPU:0").colocate_with = {"v"};
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_EQ(placed["v"], kCpu);
  EXPECT_EQ(placed["a"], kCpu);
}

TEST_F(SoftPlacementTest, VariablesTypeIsDroppedLast) {
  graph_.Variable("v", "/job:worker/device:GPU:0");
  CpuOp("update", "", {"&v"});
  EXPECT_FALSE(Place(false).ok());
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_EQ(placed["v"], kCpu);
  EXPECT_EQ(placed["update"], kCpu);
}

TEST_F(SoftPlacementTest, OtherIndexIsDroppedBeforeVariableType) {
  graph_.Variable("v", "/device:CPU");
  Op("a", "/device:CPU:5").colocate_with = {"v"};
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_EQ(placed["v"], kCpu) << "and not on the GPU, which comes first";
}

TEST_F(SoftPlacementTest, ContradictionsInAGroupAreDropped) {
  Op("a", "/job:ps/task:0").colocate_with = {"group"};
  Op("b", "/job:worker").colocate_with = {"group"};
  ASSERT_OK_AND_ASSIGN(auto placed, Place());
  EXPECT_NE(placed["a"], placed["b"]);
}

}  // namespace
}  // namespace weft
