#include "libs/master/missing_chief.h"

#include <gtest/gtest.h>

#include <string>

#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/protocol/testing/recording_coordinator.h"

namespace weft {
namespace {

using protocol::TaskState;

protocol::TaskStatus TaskIn(const std::string& task, TaskState state) {
  protocol::TaskStatus status;
  status.task = task;
  status.state = state;
  return status;
}

TEST(MissingChiefTest, IsTheFirstWorker) {
  protocol::ClusterStatus cluster;
  cluster.tasks = {TaskIn("/job:ps/replica:0/task:0", TaskState::kExpected),
                   TaskIn("/job:worker/replica:0/task:0", TaskState::kExpected),
                   TaskIn("/job:worker/replica:0/task:10", TaskState::kAlive)};
  EXPECT_EQ(
      DescribeMissingChief(cluster),
      "the chief, worker 0 (/job:worker/replica:0/task:0), has not joined");
  cluster.tasks[1].state = TaskState::kLost;
  EXPECT_EQ(DescribeMissingChief(cluster),
            "the chief, worker 0 (/job:worker/replica:0/task:0), is lost");
  cluster.tasks[1].state = TaskState::kLeft;
  EXPECT_EQ(DescribeMissingChief(cluster),
            "the chief, worker 0 (/job:worker/replica:0/task:0), has left");
  cluster.tasks[1].state = TaskState::kAlive;
  EXPECT_EQ(DescribeMissingChief(cluster), "");
}

TEST(MissingChiefTest, IsTheChiefJobIfThereIsOne) {
  protocol::ClusterStatus cluster;
  cluster.tasks = {TaskIn("/job:chief/replica:0/task:0", TaskState::kExpected),
                   TaskIn("/job:worker/replica:0/task:0", TaskState::kAlive)};
  EXPECT_EQ(DescribeMissingChief(cluster),
            "the chief, chief 0 (/job:chief/replica:0/task:0), has not joined");
}

// Each session that waits for variables asks.
TEST(MissingChiefTest, AsksOnlyForStates) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  protocol::RecordingCoordinator coordinator;
  coordinator.cluster.tasks = {
      TaskIn("/job:worker/replica:0/task:0", TaskState::kLost)};
  const MasterOptions options = {.scheduler = &scheduler,
                                 .coordinator = &coordinator};
  std::string missing;
  AskForMissingChief(options, [&](const std::string& text) { missing = text; });
  EXPECT_EQ(missing,
            "the chief, worker 0 (/job:worker/replica:0/task:0), is lost");
  EXPECT_TRUE(coordinator.last_query.only_states);
}

TEST(MissingChiefTest, IsAbsentWithoutWorkers) {
  protocol::ClusterStatus cluster;
  EXPECT_EQ(DescribeMissingChief(cluster), "");
  cluster.tasks = {TaskIn("/job:ps/replica:0/task:0", TaskState::kExpected)};
  EXPECT_EQ(DescribeMissingChief(cluster), "");
}

}  // namespace
}  // namespace weft
