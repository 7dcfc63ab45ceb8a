// Weft's own rule: a named resource that requests no task is placed where it
// lives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "libs/base/test_matchers.h"
#include "libs/placement/testing/test_graph.h"

namespace weft {
namespace {

constexpr char kPs0[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr char kPs1[] = "/job:ps/replica:0/task:1/device:CPU:0";
constexpr char kWorker0[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kWorker0Gpu[] = "/job:worker/replica:0/task:0/device:GPU:0";
constexpr char kWorker1[] = "/job:worker/replica:0/task:1/device:CPU:0";
constexpr char kWorker1Gpu[] = "/job:worker/replica:0/task:1/device:GPU:0";

class SharedResourcesTest : public ::testing::Test {
 protected:
  void Lives(const std::string& name, const std::string& device) {
    living_.insert({name, device});
  }
  std::map<std::string, std::string> Place(
      const std::vector<std::string>& devices = {kPs0, kPs1, kWorker0,
                                                 kWorker1}) {
    auto placed = graph_.Place(
        TestDevices(devices), {.default_task = "/job:worker/replica:0/task:0"},
        [this](const NamedResource& resource, const std::string& device) {
          return resource.kind == "Var" &&
                 living_.count({resource.name, device}) > 0;
        });
    EXPECT_OK(placed);
    return *placed;
  }

  TestGraph graph_;
  std::set<std::pair<std::string, std::string>> living_;  // name, device
};

TEST_F(SharedResourcesTest, ExistingResourceIsFound) {
  Lives("x", kPs1);
  graph_.Variable("x");
  graph_.Add({.name = "read", .op = "ReadVariableOp"}, {"&x"});
  graph_.Variable("y");
  auto placed = Place();
  EXPECT_EQ(placed["x"], kPs1);
  EXPECT_EQ(placed["read"], kPs1);
  EXPECT_EQ(placed["y"], kWorker0);
}

TEST_F(SharedResourcesTest, ExistingResourceOnOtherDeviceIsIgnored) {
  Lives("x", kWorker1);
  graph_.Variable("x", "/job:ps");
  EXPECT_EQ(Place()["x"], kPs0);
}

TEST_F(SharedResourcesTest, JobWithoutTaskLeavesTheChoice) {
  Lives("x", kPs1);
  graph_.Variable("x", "/job:ps");
  EXPECT_EQ(Place()["x"], kPs1);
}

TEST_F(SharedResourcesTest, ANamedTaskIsTaken) {
  Lives("x", kPs1);
  graph_.Variable("x", "/job:ps/task:0");
  EXPECT_EQ(Place()["x"], kPs0);
}

TEST_F(SharedResourcesTest, SessionsOwnTaskComesFirst) {
  Lives("x", kPs0);
  Lives("x", kWorker0);
  graph_.Variable("x");
  EXPECT_EQ(Place()["x"], kWorker0);
}

TEST_F(SharedResourcesTest, BestOtherDeviceIsChosen) {
  Lives("x", kPs1);
  Lives("x", kWorker1);
  graph_.Variable("x");
  EXPECT_EQ(Place()["x"], kPs1);
}

TEST_F(SharedResourcesTest, NewResourcePrefersTheSessionsOwnTask) {
  graph_.Variable("x");
  graph_.Variable("of_job", "/job:ps");
  auto placed = Place({kPs0, kPs1, kWorker0, kWorker1, kWorker1Gpu});
  EXPECT_EQ(placed["x"], kWorker0);
  EXPECT_EQ(placed["of_job"], kPs0);
}

TEST_F(SharedResourcesTest, BetterTypeComesFirstOnOwnTask) {
  graph_.Variable("x");
  EXPECT_EQ(Place({kWorker0, kWorker0Gpu, kWorker1})["x"], kWorker0Gpu);
}

TEST_F(SharedResourcesTest, OneExistingGroupMemberIsEnough) {
  Lives("slot", kPs1);
  graph_.Variable("x");
  graph_.Variable("slot").colocate_with = {"x"};
  auto placed = Place();
  EXPECT_EQ(placed["x"], kPs1);
  EXPECT_EQ(placed["slot"], kPs1);
}

TEST_F(SharedResourcesTest, AnOldMemberOfTheGroupDecides) {
  Lives("x", kPs1);
  graph_.Add({.name = "old", .op = "NoOp", .assigned_device = kPs0});
  graph_.Variable("x").colocate_with = {"old"};
  EXPECT_EQ(Place()["x"], kPs0);
}

TEST_F(SharedResourcesTest, AnOldMemberOfANamedGroupDecides) {
  Lives("x", kPs1);
  graph_.Add({.name = "old",
              .op = "NoOp",
              .assigned_device = kPs0,
              .colocate_with = {"group"}});
  graph_.Variable("x").colocate_with = {"group"};
  EXPECT_EQ(Place()["x"], kPs0);
}

TEST_F(SharedResourcesTest, OtherNodesAreNotLookedUp) {
  Lives("x", kPs1);
  graph_.Add({.name = "x", .op = "Identity"});
  EXPECT_EQ(Place()["x"], kWorker0);
}

}  // namespace
}  // namespace weft
