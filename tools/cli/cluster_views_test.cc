#include "tools/cli/cluster_views.h"

#include <limits>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "nlohmann/json.hpp"

namespace weft::tools {
namespace {

using protocol::ClusterStatus;
using protocol::PlacedResource;
using protocol::TaskState;
using Json = nlohmann::json;

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kPsCpu[] = "/job:ps/replica:0/task:0/device:CPU:0";

PlacedResource Resource(const std::string& container, const std::string& name,
                        const std::string& kind, int64_t num_bytes) {
  return {
      .resource = {container, name, kind, DT_FLOAT, PartialShape({784, 10})},
      .device = kPsCpu,
      .num_bytes = num_bytes};
}

// Returns a cluster with a parameter server that has variables, a worker that
// has not joined, and a lost worker whose variables must not be shown.
ClusterStatus SampleCluster() {
  ClusterStatus cluster;
  cluster.cluster_uuid = "c0ffee";
  cluster.coordinator = kPs;
  cluster.tasks.resize(3);
  cluster.tasks[0].task = kPs;
  cluster.tasks[0].state = TaskState::kAlive;
  cluster.tasks[0].incarnation = 11;
  cluster.tasks[0].target = "zmq://localhost:2222";
  cluster.tasks[0].devices = {
      {kPsCpu, "CPU", 1 << 28, 77, "a CPU"},
      {"/job:ps/replica:0/task:0/device:GPU:0", "GPU", 0, 78, ""}};
  cluster.tasks[0].resources = {Resource("ps", "w", "Var", 31360),
                                Resource("ps", "queue", "Queue", 100),
                                Resource("model_1", "b", "Var", 40)};
  cluster.tasks[0].num_sessions = 2;
  cluster.tasks[0].memory = {
      {"/job:ps/replica:0/task:0/device:GPU:0", int64_t{80} << 30, 3 << 20}};
  cluster.tasks[1].task = "/job:worker/replica:0/task:0";
  cluster.tasks[2].task = "/job:worker/replica:0/task:1";
  cluster.tasks[2].state = TaskState::kLost;
  cluster.tasks[2].target = "zmq://localhost:2224";
  cluster.tasks[2].resources = {Resource("gone", "x", "Var", 8)};
  return cluster;
}

TEST(ClusterViewsTest, StatusIsATable) {
  EXPECT_EQ(
      StatusView(SampleCluster(), Format::kTable),
      "cluster c0ffee, coordinator /job:ps/replica:0/task:0: 1 of 3 tasks "
      "alive\n"
      "TASK                          STATE     TARGET                "
      "DEVICES       SESSIONS    MEMORY\n"
      "/job:ps/replica:0/task:0      alive     zmq://localhost:2222  "
      "1 CPU, 1 GPU         2  30.8 KiB\n"
      "/job:worker/replica:0/task:0  expected\n"
      "/job:worker/replica:0/task:1  lost      zmq://localhost:2224\n");
}

TEST(ClusterViewsTest, StatusIsJson) {
  const Json json = Json::parse(StatusView(SampleCluster(), Format::kJson));
  EXPECT_EQ(json["cluster_uuid"], "c0ffee");
  EXPECT_EQ(json["coordinator"], kPs);
  ASSERT_EQ(json["tasks"].size(), 3u);
  const Json& ps = json["tasks"][0];
  EXPECT_EQ(ps["task"], kPs);
  EXPECT_EQ(ps["state"], "alive");
  EXPECT_EQ(ps["incarnation"], 11);
  EXPECT_EQ(ps["devices"][0], kPsCpu);
  EXPECT_EQ(ps["num_sessions"], 2);
  EXPECT_EQ(ps["num_resources"], 3);
  EXPECT_EQ(ps["num_bytes"], 31500);
  EXPECT_EQ(json["tasks"][1]["state"], "expected");
  EXPECT_EQ(json["tasks"][2]["state"], "lost");
  EXPECT_EQ(json["tasks"][2]["num_bytes"], 0);
}

TEST(ClusterViewsTest, DevicesAreShown) {
  EXPECT_EQ(DevicesView(SampleCluster(), Format::kTable),
            "DEVICE                                 TYPE     MEMORY   "
            "IN USE     TOTAL  DESCRIPTION\n"
            "/job:ps/replica:0/task:0/device:CPU:0  CPU   256.0 MiB"
            "                     a CPU\n"
            "/job:ps/replica:0/task:0/device:GPU:0  GPU              "
            "3.0 MiB  80.0 GiB\n");
  const Json json = Json::parse(DevicesView(SampleCluster(), Format::kJson));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["device"], kPsCpu);
  EXPECT_EQ(json[0]["task"], kPs);
  EXPECT_EQ(json[0]["memory_limit"], 1 << 28);
  EXPECT_TRUE(json[0]["memory_in_use"].is_null());
  EXPECT_EQ(json[1]["memory_in_use"], 3 << 20);
  EXPECT_EQ(json[1]["memory_total"], int64_t{80} << 30);
}

TEST(ClusterViewsTest, VariablesAreShown) {
  EXPECT_EQ(VariablesView(SampleCluster(), "", Format::kTable),
            "NAME  CONTAINER  DEVICE                                 DTYPE  "
            "SHAPE        BYTES\n"
            "b     model_1    /job:ps/replica:0/task:0/device:CPU:0  float  "
            "[784,10]      40 B\n"
            "w     ps         /job:ps/replica:0/task:0/device:CPU:0  float  "
            "[784,10]  30.6 KiB\n");
  const Json json =
      Json::parse(VariablesView(SampleCluster(), "ps", Format::kJson));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["name"], "w");
  EXPECT_EQ(json[0]["dtype"], "float");
  EXPECT_EQ(json[0]["shape"], Json({784, 10}));
  EXPECT_EQ(json[0]["has_value"], true);
  EXPECT_EQ(json[0]["num_bytes"], 31360);
}

TEST(ClusterViewsTest, UninitializedVariablesAreMarked) {
  ClusterStatus cluster = SampleCluster();
  PlacedResource& made = cluster.tasks[0].resources[0];
  made.num_bytes = 0;
  made.description = "float uninitialized";
  PlacedResource& declared = cluster.tasks[0].resources[2];
  declared.num_bytes = 0;
  EXPECT_EQ(VariablesView(cluster, "", Format::kTable),
            "NAME  CONTAINER  DEVICE                                 DTYPE  "
            "SHAPE        BYTES\n"
            "b     model_1    /job:ps/replica:0/task:0/device:CPU:0  float  "
            "[784,10]  no value\n"
            "w     ps         /job:ps/replica:0/task:0/device:CPU:0  float  "
            "[784,10]  no value\n");
  const Json json = Json::parse(VariablesView(cluster, "ps", Format::kJson));
  EXPECT_EQ(json[0]["has_value"], false);
  // Resources that are only declared are not in a container yet.
  EXPECT_EQ(ContainersOf(cluster).size(), 1u);
  const Json status = Json::parse(StatusView(cluster, Format::kJson));
  EXPECT_EQ(status["tasks"][0]["num_resources"], 2);
}

TEST(ClusterViewsTest, UnknownVariableFieldsAreEmpty) {
  ClusterStatus cluster = SampleCluster();
  NamedResource& unknown = cluster.tasks[0].resources[0].resource;
  unknown.dtype = DT_INVALID;
  unknown.shape = PartialShape();
  cluster.tasks[0].resources[2].resource.shape = PartialShape({-1, 10});
  const Json json = Json::parse(VariablesView(cluster, "", Format::kJson));
  EXPECT_EQ(json[0]["shape"], Json({nullptr, 10}));
  EXPECT_EQ(json[1]["shape"], nullptr);
  EXPECT_EQ(json[1]["dtype"], "");
}

TEST(ClusterViewsTest, ContainersAreShown) {
  EXPECT_EQ(ContainersView(SampleCluster(), Format::kTable),
            "CONTAINER  TASKS  RESOURCES     BYTES\n"
            "model_1        1          1      40 B\n"
            "ps             1          2  30.7 KiB\n");
  const Json json = Json::parse(ContainersView(SampleCluster(), Format::kJson));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["container"], "ps");
  EXPECT_EQ(json[1]["num_resources"], 2);
  EXPECT_EQ(json[1]["num_bytes"], 31460);
}

TEST(ClusterViewsTest, UnknownContainerErrorListsContainers) {
  EXPECT_OK(CheckContainer(SampleCluster(), "model_1"));
  EXPECT_THAT(
      CheckContainer(SampleCluster(), "gone"),
      StatusIs(absl::StatusCode::kNotFound, "there are \"model_1\", \"ps\""));
  EXPECT_THAT(CheckContainer({}, "ps"),
              StatusIs(absl::StatusCode::kNotFound, "there is none"));
}

TEST(ClusterViewsTest, NonUtf8NamesAndHugeSizesAreHarmless) {
  ClusterStatus cluster = SampleCluster();
  cluster.tasks[0].resources[0].resource.name = "\xff\x1b";
  cluster.tasks[0].resources[0].num_bytes = std::numeric_limits<int64_t>::max();
  const Json json = Json::parse(VariablesView(cluster, "ps", Format::kJson));
  EXPECT_EQ(json.size(), 1u);
  EXPECT_EQ(ContainersOf(cluster)[1].num_bytes,
            std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace weft::tools
