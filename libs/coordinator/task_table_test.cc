// Tests what the table returns about tasks. Which tasks may join is tested by
// coordinator_test.
#include "libs/coordinator/task_table.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kPs0[] = "/job:ps/replica:0/task:0";
constexpr char kPs3[] = "/job:ps/replica:0/task:3";
constexpr char kWorker0[] = "/job:worker/replica:0/task:0";

class TaskTableTest : public testing::Test {
 protected:
  TaskTableTest() {
    EXPECT_OK(cluster_.AddTask("ps", 3, "b:1"));  // the job has no task 0..2
    table_.emplace(cluster_, kPs0, absl::Seconds(5));
  }

  absl::Status Join(const std::string& task,
                    const std::vector<std::string>& devices) {
    protocol::JoinRequest request;
    request.task = task;
    request.incarnation = 1;
    request.cluster = cluster_.ToString();
    for (const std::string& device : devices) {
      request.devices.emplace_back();
      request.devices.back().name = task + device;
    }
    return table_->Join(request, absl::UnixEpoch());
  }

  std::vector<std::string> Devices(const std::vector<std::string>& filters,
                                   const std::string& own) const {
    absl::StatusOr<DeviceFilters> parsed = DeviceFilters::Parse(filters);
    EXPECT_OK(parsed);
    std::set<std::string> tasks = table_->Passing(*parsed);
    if (!own.empty()) tasks.insert(own);
    std::vector<std::string> names;
    for (const auto& device : table_->Devices(tasks, *parsed, own)) {
      names.push_back(device.name);
    }
    return names;
  }

  ClusterSpec cluster_{{"ps", {"a:1"}},
                       {"worker", {"c:1"}},
                       {"coordinator", {"d:1"}},
                       {"checkpoint_writer", {"e:1"}}};
  std::optional<TaskTable> table_;
};

TEST_F(TaskTableTest, TasksWithMatchingDevicesAreListed) {
  ASSERT_OK_AND_ASSIGN(const DeviceFilters ps,
                       DeviceFilters::Parse({"/job:ps"}));
  EXPECT_THAT(table_->Passing({}), ElementsAre(kPs0, kPs3, kWorker0));
  EXPECT_THAT(table_->Passing(ps), ElementsAre(kPs0, kPs3));
  EXPECT_OK(Join(kPs3, {"/device:CPU:0"}));
  EXPECT_THAT(table_->Missing({kPs0, kPs3}, ""), ElementsAre(kPs0));
  EXPECT_EQ(table_->AliveIncarnation(kPs3), 1u);
  EXPECT_EQ(table_->AliveIncarnation(kPs0), 0u);
  EXPECT_EQ(table_->AliveIncarnation("nobody"), 0u);
  EXPECT_EQ(table_->Find("nobody"), nullptr);
}

TEST_F(TaskTableTest, FiltersApplyPerDeviceExceptOwnTask) {
  EXPECT_OK(Join(kPs0, {"/device:CPU:0", "/device:GPU:0"}));
  EXPECT_OK(Join(kWorker0, {"/device:CPU:0", "/device:GPU:0"}));
  EXPECT_THAT(Devices({"/job:ps/cpu:0"}, ""),
              ElementsAre(std::string(kPs0) + "/device:CPU:0"));
  EXPECT_THAT(Devices({"/job:ps/cpu:0"}, kWorker0),
              ElementsAre(std::string(kPs0) + "/device:CPU:0",
                          std::string(kWorker0) + "/device:CPU:0",
                          std::string(kWorker0) + "/device:GPU:0"));
  EXPECT_THAT(Devices({"/job:ps/task:7"}, ""), IsEmpty());
}

TEST_F(TaskTableTest, ClearedResourcesAreNotShown) {
  EXPECT_OK(Join(kPs0, {"/device:CPU:0"}));
  for (const char* container : {"ps", "a"}) {
    protocol::PlacedResource resource;
    resource.resource.container = container;
    resource.device = std::string(kPs0) + "/device:CPU:0";
    table_->Find(kPs0)->resources.push_back(resource);
  }
  ASSERT_OK_AND_ASSIGN(const ContainerFilter others,
                       ContainerFilter::Create({"a"}, {"/job:worker"}));
  table_->Forget(others);
  EXPECT_EQ(table_->Find(kPs0)->resources.size(), 2u);
  ASSERT_OK_AND_ASSIGN(const ContainerFilter a,
                       ContainerFilter::Create({"a"}, {}));
  table_->Forget(a);
  const auto statuses =
      table_->Statuses({{kPs0, 3}}, {{kPs0, {{"a", 1}, {"ps", 3}}}});
  ASSERT_EQ(statuses.size(), 5u);
  EXPECT_EQ(statuses[2].task, kPs0);
  EXPECT_EQ(statuses[2].num_sessions, 3);
  EXPECT_EQ(statuses[2].sessions_by_container,
            (std::map<std::string, int>{{"a", 1}, {"ps", 3}}));
  EXPECT_TRUE(statuses[3].sessions_by_container.empty());
  ASSERT_EQ(statuses[2].resources.size(), 1u);
  EXPECT_EQ(statuses[2].resources[0].resource.container, "ps");
  EXPECT_EQ(statuses[3].num_sessions, 0);
}

}  // namespace
}  // namespace weft
