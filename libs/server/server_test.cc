#include "libs/server/server.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::absl::StatusCode;

class ServerTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Server>> Create(const ClusterSpec& cluster,
                                                 ServerOptions options) {
    options.process = &process_;
    options.logger = &logger_;
    return Server::Create(cluster, options);
  }

  RecordingLogger logger_;
  Process process_{{.compute_threads = 1}};
};

TEST_F(ServerTest, ListensAtAPortThatWasFree) {
  ASSERT_OK_AND_ASSIGN(
      auto server, Create({{"local", {"localhost:0"}}}, {.job_name = "local"}));
  EXPECT_EQ(server->target().rfind("zmq://localhost:", 0), 0u);
  EXPECT_NE(server->target(), "zmq://localhost:0");
  EXPECT_EQ(logger_.lines().front(),
            "I Started server with target: " + server->target());
}

TEST_F(ServerTest, TheTaskMustBeInTheSpec) {
  const ClusterSpec cluster{{"ps", {"localhost:0"}}};
  EXPECT_THAT(Create(cluster, {.job_name = "worker"}),
              StatusIs(StatusCode::kInvalidArgument, "worker"));
  EXPECT_THAT(Create(cluster, {.job_name = "ps", .task_index = 1}),
              StatusIs(StatusCode::kInvalidArgument, "Task 1"));
  EXPECT_THAT(Create({}, {.job_name = "ps"}),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(ServerTest, AddressesAreChecked) {
  EXPECT_THAT(Create({{"ps", {"localhost"}}}, {.job_name = "ps"}),
              StatusIs(StatusCode::kInvalidArgument, "localhost"));
  EXPECT_THAT(Create({{"ps", {"localhost:0"}}, {"worker", {"nonsense"}}},
                     {.job_name = "ps"}),
              StatusIs(StatusCode::kInvalidArgument, "nonsense"));
}

TEST_F(ServerTest, PortZeroIsForClustersOfOneProcess) {
  EXPECT_THAT(
      Create({{"ps", {"localhost:0"}}, {"worker", {"localhost:4000"}}},
             {.job_name = "ps"}),
      StatusIs(StatusCode::kInvalidArgument, "/job:worker/replica:0/task:0"));
}

TEST_F(ServerTest, OffLoopbackItRefusesUnlessTold) {
  const ClusterSpec cluster{{"ps", {"localhost:0"}}};
  EXPECT_THAT(Create(cluster, {.job_name = "ps", .bind = "0.0.0.0"}),
              StatusIs(StatusCode::kFailedPrecondition, "--insecure"));
  ASSERT_OK(
      Create(cluster, {.job_name = "ps", .bind = "0.0.0.0", .insecure = true}));
}

TEST_F(ServerTest, LoopbackIsNoAddressForTasksElsewhere) {
  EXPECT_THAT(
      Create({{"ps", {"localhost:4000"}}, {"worker", {"10.0.0.7:4000"}}},
             {.job_name = "ps"}),
      StatusIs(StatusCode::kFailedPrecondition, "10.0.0.7:4000"));
}

TEST_F(ServerTest, OneTaskHasOneServerInAProcess) {
  const ClusterSpec cluster{{"ps", {"localhost:0"}}};
  ASSERT_OK_AND_ASSIGN(auto first, Create(cluster, {.job_name = "ps"}));
  EXPECT_THAT(Create(cluster, {.job_name = "ps"}),
              StatusIs(StatusCode::kAlreadyExists, "/job:ps"));
  ASSERT_OK(first->Stop());
  ASSERT_OK(Create(cluster, {.job_name = "ps"}));
}

TEST_F(ServerTest, JoinWaitsForStop) {
  ASSERT_OK_AND_ASSIGN(auto server,
                       Create({{"ps", {"localhost:0"}}}, {.job_name = "ps"}));
  const auto joined = process_.scheduler().NewEvent();
  process_.scheduler().Schedule(Pool::kBlocking, [&] {
    EXPECT_TRUE(server->Join().ok());
    joined->Set();
  });
  EXPECT_FALSE(joined->IsSet());
  ASSERT_OK(server->Stop());
  joined->Wait();
  ASSERT_OK(server->Stop());  // once more does nothing
}

TEST_F(ServerTest, DevicesAreCountedAndNamed) {
  EXPECT_THAT(Create({{"ps", {"localhost:0"}}}, {.job_name = "ps", .cpus = 0}),
              StatusIs(StatusCode::kInvalidArgument, "CPU"));
  ASSERT_OK_AND_ASSIGN(auto server,
                       Create({{"ps", {"localhost:0"}}},
                              {.job_name = "ps", .cpus = 2, .host_gpus = 1}));
  std::vector<std::string> names;
  server->runtime().GetStatus(
      absl::InfiniteFuture(),
      [&](const absl::StatusOr<std::vector<DeviceAttributes>>& devices) {
        for (const auto& device : *devices) names.push_back(device.name);
      });
  EXPECT_EQ(names, (std::vector<std::string>{
                       "/job:ps/replica:0/task:0/device:CPU:0",
                       "/job:ps/replica:0/task:0/device:CPU:1",
                       "/job:ps/replica:0/task:0/device:GPU:0"}));
}

}  // namespace
}  // namespace weft
