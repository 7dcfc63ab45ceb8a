#include "libs/placement/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/placement/testing/test_graph.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr char kPs0[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr char kPs1[] = "/job:ps/replica:0/task:1/device:CPU:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kWorkerGpu[] = "/job:worker/replica:0/task:0/device:GPU:0";

class ExplanationTest : public ::testing::Test {
 protected:
  std::map<std::string, std::string> Explain(
      bool soft = false,
      std::vector<std::string> devices = {kPs0, kPs1, kWorker}) {
    auto reasons = graph_.Explain(
        TestDevices(devices),
        {.allow_soft_placement = soft,
         .default_task = "/job:worker/replica:0/task:0"},
        [](const NamedResource& resource, const std::string& device) {
          return resource.name == "known" && device == kPs1;
        });
    EXPECT_OK(reasons);
    return *reasons;
  }
  TestGraph graph_;
};

TEST_F(ExplanationTest, SessionsOwnTaskIsExplained) {
  graph_.Add({.name = "a", .op = "Op"});
  EXPECT_EQ(Explain()["a"],
            "asks for no device; kernels for CPU; 3 devices fit: "
            "/job:worker/replica:0/task:0/device:CPU:0, "
            "/job:ps/replica:0/task:0/device:CPU:0 and "
            "/job:ps/replica:0/task:1/device:CPU:0; "
            "/job:worker/replica:0/task:0/device:CPU:0 was taken because it is "
            "on the session's own task.");
}

TEST_F(ExplanationTest, OnlyFittingDeviceIsExplained) {
  graph_.Add(
      {.name = "a", .op = "Op", .requested_device = "/job:ps/task:1/cpu:0"});
  EXPECT_EQ(Explain()["a"],
            "asks for /job:ps/task:1/cpu:0; kernels for CPU; only "
            "/job:ps/replica:0/task:1/device:CPU:0 fits.");
}

TEST_F(ExplanationTest, BetterDeviceTypeIsExplained) {
  graph_.Add({.name = "a", .op = "Op", .kernel_types = {"GPU", "CPU"}});
  EXPECT_THAT(Explain(false, {kPs0, kWorker, kWorkerGpu})["a"],
              HasSubstr("/device:GPU:0 was taken because GPU comes before "
                        "CPU."));
}

TEST_F(ExplanationTest, FirstDeviceByNameIsExplained) {
  graph_.Add({.name = "a", .op = "Op", .requested_device = "/job:ps"});
  EXPECT_THAT(Explain()["a"],
              HasSubstr("task:0/device:CPU:0 was taken because it is the first "
                        "by name."));
}

TEST_F(ExplanationTest, ExistingResourceIsExplained) {
  graph_.Variable("known");
  graph_.Add({.name = "read", .op = "Op"}, {"&known"});
  auto reasons = Explain();
  EXPECT_THAT(reasons["known"], HasSubstr("because Var 'known' lives there"));
  EXPECT_THAT(reasons["read"],
              HasSubstr("asks for no device; shares its device with known; "
                        "kernels for CPU; 3 devices fit"));
  EXPECT_THAT(reasons["read"], HasSubstr("because Var 'known' lives there"));
}

TEST_F(ExplanationTest, NondecisiveResourceIsMentioned) {
  graph_.Variable("known", "/job:ps/task:1");
  graph_.Add({.name = "read", .op = "Op"}, {"&known"});
  graph_.Variable("new", "/job:ps/task:1");
  auto reasons = Explain();
  for (const char* name : {"known", "read"}) {
    EXPECT_THAT(reasons[name], HasSubstr("only /job:ps/replica:0/task:1/device:"
                                         "CPU:0 fits; Var 'known' lives there "
                                         "already."));
  }
  EXPECT_THAT(reasons["new"], HasSubstr("device:CPU:0 fits."));
}

TEST_F(ExplanationTest, ResourceElsewhereIsNotMentioned) {
  graph_.Variable("known", "/job:ps/task:0");
  EXPECT_THAT(Explain()["known"], HasSubstr("device:CPU:0 fits."));
}

TEST_F(ExplanationTest, MissingKernelsOfOthersAreExplained) {
  graph_.Variable("v");
  graph_.Add({.name = "read", .op = "Op"}, {"&v"});
  EXPECT_THAT(Explain(false, {kPs0, kWorkerGpu})["v"],
              HasSubstr("kernels for CPU, GPU, with the others for CPU; "));
}

TEST_F(ExplanationTest, ConsumersAndInputsAreExplained) {
  graph_.Add({.name = "in", .op = "Const", .is_generator = true});
  graph_.Add({.name = "far", .op = "Op", .requested_device = "/job:ps/task:1"},
             {"in"});
  graph_.Add({.name = "shape", .op = "Shape", .is_metadata = true}, {"far"});
  auto reasons = Explain();
  EXPECT_THAT(reasons["in"],
              HasSubstr("task:1/device:CPU:0 was taken because all consumers "
                        "are there."));
  EXPECT_THAT(reasons["shape"], HasSubstr("because the input is there."));
}

TEST_F(ExplanationTest, LargeGroupIsExplainedByAFewNames) {
  graph_.Variable("v", "/job:ps/task:1");
  for (const char* name : {"a", "b", "c", "d"}) {
    graph_.Add({.name = name, .op = "Op"}, {"&v"});
  }
  EXPECT_THAT(Explain()["a"],
              HasSubstr("shares its device with v, b, c and 1 other, which "
                        "makes that /job:ps/task:1; "));
}

TEST_F(ExplanationTest, EarlierPlacementIsExplained) {
  graph_.Add({.name = "old", .op = "Op", .assigned_device = kPs1});
  graph_.Add({.name = "new", .op = "Op", .colocate_with = {"old"}});
  auto reasons = Explain();
  EXPECT_EQ(reasons["old"],
            "was placed on /job:ps/replica:0/task:1/device:CPU:0 before.");
  EXPECT_THAT(reasons["new"],
              HasSubstr("only /job:ps/replica:0/task:1/device:CPU:0 fits, "
                        "because old was placed there before."));
}

TEST_F(ExplanationTest, SoftPlacementIsExplained) {
  graph_.Add({.name = "a", .op = "Op", .requested_device = "/device:GPU:0"});
  EXPECT_THAT(Explain(true)["a"],
              HasSubstr("asks for /device:GPU:0; nothing fits that, so soft "
                        "placement seeks any device; "));
}

TEST_F(ExplanationTest, NoExplanationUnlessRequested) {
  graph_.Add({.name = "a", .op = "Op"});
  ASSERT_OK_AND_ASSIGN(
      const Placement placement,
      PlaceNodes(graph_.graph(), TestDevices({kPs0}), ExistsNowhere, {}));
  EXPECT_TRUE(placement.reasons.empty());
}

}  // namespace
}  // namespace weft
