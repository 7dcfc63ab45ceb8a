// Runs commands on a task that listens on a socket. Tests which requests the
// commands send, what they print, and how they fail.
#include "tools/cli/cluster_commands.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/transport.h"
#include "libs/protocol/coordinator/coordinator_service.h"
#include "libs/protocol/master/master_service.h"
#include "libs/protocol/testing/recording_coordinator.h"
#include "libs/protocol/testing/recording_master.h"
#include "nlohmann/json.hpp"

namespace weft::tools {
namespace {

using protocol::CoordinatorService;
using protocol::MasterService;
using protocol::TaskState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kPsCpu[] = "/job:ps/replica:0/task:0/device:CPU:0";

// A lock that orders the test before a command and the test after it. The
// messages have this effect, too, but ThreadSanitizer does not see it.
using Order = absl::Mutex;

// A task that replies as the coordinator and as the master of sessions.
class Task : private bus::Handler {
 public:
  Task(Process& process, const std::string& name, Order& order)
      : order_(order),
        coordinator_service_(
            {.coordinator = &coordinator, .scheduler = &process.scheduler()}),
        master_service_({.master = &master,
                         .scheduler = &process.scheduler(),
                         .allocator = &process.buffers()}) {
    auto listening = process.transport().Listen(
        {"127.0.0.1", 0}, {.task = name, .incarnation = 22},
        static_cast<bus::Handler&>(*this));
    EXPECT_OK(listening);
    endpoint_ = *std::move(listening);
  }

  std::string target() const { return endpoint_->address().ToTarget(); }

  protocol::RecordingCoordinator coordinator;
  protocol::RecordingMaster master;

 private:
  bool IsFast(uint8_t method) const override {
    return MasterService::Handles(method) && MasterService::IsFast(method);
  }
  absl::Status OnConnect(const bus::Peer& peer) override {
    coordinator_service_.OnConnect(peer);
    master_service_.OnConnect(peer);
    return absl::OkStatus();
  }
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why) override {
    coordinator_service_.OnDisconnect(peer, why);
    master_service_.OnDisconnect(peer, why);
  }
  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message request) override {
    absl::MutexLock lock(&order_);
    if (CoordinatorService::Handles(request.method)) {
      return coordinator_service_.OnRequest(std::move(call),
                                            std::move(request));
    }
    master_service_.OnRequest(std::move(call), std::move(request));
  }
  void OnOneWay(const bus::Peer&, bus::Message, const absl::Status&) override {}

  Order& order_;
  CoordinatorService coordinator_service_;
  MasterService master_service_;
  std::unique_ptr<bus::Endpoint> endpoint_;
};

class ClusterCommandsTest : public testing::Test {
 protected:
  ClusterCommandsTest() {
    protocol::ClusterStatus& cluster = task_.coordinator.cluster;
    cluster.cluster_uuid = "c0ffee";
    cluster.coordinator = kPs;
    cluster.tasks.resize(2);
    cluster.tasks[0].task = kPs;
    cluster.tasks[0].state = TaskState::kAlive;
    cluster.tasks[0].target = task_.target();
    cluster.tasks[0].devices = {{kPsCpu, "CPU", 1 << 28, 77, ""}};
    cluster.tasks[0].resources = {Variable("ps", "w"),
                                  Variable("model_1", "w")};
    cluster.tasks[1].task = "/job:worker/replica:0/task:0";
  }

  static protocol::PlacedResource Variable(const std::string& container,
                                           const std::string& name) {
    return {.resource = {container, name, "Var", DT_FLOAT, PartialShape({10})},
            .device = kPsCpu,
            .num_bytes = 40};
  }

  absl::StatusOr<std::string> Run(std::vector<std::string> words,
                                  const Ask& ask = nullptr) {
    auto invocation =
        ParseInvocation(words, {.target = task_.target(), .is_terminal = true});
    if (!invocation.ok()) return invocation.status();
    PutInOrder();
    auto printed = RunClusterCommand(client_, *invocation, ask);
    PutInOrder();
    return printed;
  }
  void PutInOrder() { absl::MutexLock lock(&order_); }
  // Returns a function that records each question and answers it with `yes`.
  Ask Saying(bool yes) {
    return [this, yes](const std::string& question) {
      questions_.push_back(question);
      return yes;
    };
  }

  Process server_{{.compute_threads = 1}};
  Process client_{{.compute_threads = 1}};
  Order order_;
  Task task_{server_, kPs, order_};
  std::vector<std::string> questions_;
};

TEST_F(ClusterCommandsTest, StatusDevicesAndVariablesArePrinted) {
  ASSERT_OK_AND_ASSIGN(std::string text, Run({"status"}));
  EXPECT_THAT(text, HasSubstr("cluster c0ffee, coordinator /job:ps"));
  EXPECT_THAT(text, HasSubstr("1 of 2 tasks alive"));
  ASSERT_OK_AND_ASSIGN(text, Run({"devices"}));
  EXPECT_THAT(text, HasSubstr(kPsCpu));
  ASSERT_OK_AND_ASSIGN(text, Run({"variables", "--container=model_1"}));
  EXPECT_THAT(text, HasSubstr("\nw     model_1    "));
  ASSERT_OK_AND_ASSIGN(text, Run({"containers", "--json"}));
  EXPECT_EQ(Json::parse(text).size(), 2u);
}

TEST_F(ClusterCommandsTest, UnknownContainerIsNotFound) {
  EXPECT_THAT(Run({"variables", "--container=other"}),
              StatusIs(absl::StatusCode::kNotFound, "\"model_1\", \"ps\""));
  EXPECT_THAT(Run({"reset", "ps", "other"}, Saying(true)),
              StatusIs(absl::StatusCode::kNotFound, "\"other\""));
  EXPECT_THAT(task_.master.resets, IsEmpty());
  EXPECT_THAT(questions_, IsEmpty());
}

TEST_F(ClusterCommandsTest, ResetConfirmsAndClears) {
  ASSERT_OK_AND_ASSIGN(std::string text, Run({"reset", "ps"}, Saying(true)));
  EXPECT_EQ(text, "Cleared container \"ps\".\n");
  EXPECT_THAT(questions_,
              ElementsAre("Clear container \"ps\" on all devices, and end the "
                          "sessions of /job:ps/replica:0/task:0?"));
  EXPECT_THAT(task_.master.resets, ElementsAre(ElementsAre("ps"), IsEmpty()));
}

TEST_F(ClusterCommandsTest, ResetListsSessionsUsingTheContainer) {
  task_.coordinator.cluster.tasks[0].sessions_by_container = {{"model_1", 1},
                                                              {"ps", 2}};
  EXPECT_OK(Run({"reset", "ps"}, Saying(true)));
  EXPECT_OK(Run({"reset"}, Saying(true)));
  EXPECT_THAT(
      questions_,
      ElementsAre("Sessions with resources there: 2 of "
                  "/job:ps/replica:0/task:0 in \"ps\". Clear container \"ps\" "
                  "on all devices, and end these sessions and the sessions of "
                  "/job:ps/replica:0/task:0?",
                  "Sessions with resources there: 2 of "
                  "/job:ps/replica:0/task:0 in \"ps\". Clear each device's "
                  "default container on all devices, and end these sessions "
                  "and the sessions of /job:ps/replica:0/task:0?"));
}

TEST_F(ClusterCommandsTest, DeclinedCommandsAreNotExecuted) {
  EXPECT_THAT(Run({"reset", "ps"}, Saying(false)),
              StatusIs(absl::StatusCode::kCancelled, "nothing was done"));
  EXPECT_THAT(Run({"shutdown"}, Saying(false)),
              StatusIs(absl::StatusCode::kCancelled, "nothing was done"));
  EXPECT_EQ(questions_.size(), 2u);
  EXPECT_THAT(task_.master.resets, IsEmpty());
  EXPECT_EQ(task_.coordinator.num_shutdowns, 0);
}

TEST_F(ClusterCommandsTest, YesFlagOrNoTerminalSkipsQuestion) {
  EXPECT_OK(Run({"reset", "ps", "--yes"}, Saying(false)));
  EXPECT_OK(Run({"reset", "ps"}));
  EXPECT_OK(Run({"shutdown", "--yes"}, Saying(false)));
  EXPECT_THAT(questions_, IsEmpty());
  EXPECT_EQ(task_.master.resets.size(), 4u);
  EXPECT_EQ(task_.coordinator.num_shutdowns, 1);
}

TEST_F(ClusterCommandsTest, AllOrDefaultContainersAreReset) {
  ASSERT_OK_AND_ASSIGN(std::string text, Run({"reset", "--all", "--json"}));
  EXPECT_EQ(Json::parse(text)["containers"], Json({"model_1", "ps"}));
  ASSERT_OK_AND_ASSIGN(text, Run({"reset"}));
  EXPECT_EQ(text, "Cleared each device's default container.\n");
  EXPECT_THAT(task_.master.resets,
              ElementsAre(ElementsAre("model_1", "ps"), IsEmpty(), IsEmpty(),
                          IsEmpty()));
}

// If there are no containers, --all clears none, and not the default containers
// either.
TEST_F(ClusterCommandsTest, ResetOfAllWithoutContainersIsANoOp) {
  task_.coordinator.cluster.tasks[0].resources.clear();
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       Run({"reset", "--all"}, Saying(true)));
  EXPECT_EQ(text, "There is no container to clear.\n");
  EXPECT_THAT(task_.master.resets, IsEmpty());
  EXPECT_THAT(questions_, IsEmpty());
}

// A coordinator without devices cannot be a master, so the request is sent to a
// task with devices.
TEST_F(ClusterCommandsTest, ResetIsSentToTaskWithSessions) {
  Task coordinator(server_, "/job:coordinator/replica:0/task:0", order_);
  coordinator.coordinator.cluster = task_.coordinator.cluster;
  EXPECT_OK(Run({"reset", "ps", "--target", coordinator.target()}));
  EXPECT_THAT(coordinator.master.resets, IsEmpty());
  EXPECT_EQ(task_.master.resets.size(), 2u);
  coordinator.coordinator.cluster.tasks[0].state = TaskState::kLost;
  EXPECT_THAT(Run({"reset", "--target", coordinator.target()}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no live task"));
}

TEST_F(ClusterCommandsTest, ShutdownReportsTheTasks) {
  ASSERT_OK_AND_ASSIGN(std::string text, Run({"shutdown"}, Saying(true)));
  EXPECT_EQ(text, "Asked 1 task to stop.\n");
  EXPECT_THAT(questions_, ElementsAre("Stop the cluster of 1 task?"));
  ASSERT_OK_AND_ASSIGN(text, Run({"shutdown", "--json"}));
  EXPECT_EQ(Json::parse(text)["tasks"], Json({kPs}));
}

TEST_F(ClusterCommandsTest, MissingTargetIsReported) {
  EXPECT_THAT(Run({"status", "--target="}),
              StatusIs(absl::StatusCode::kInvalidArgument, "set WEFT_TARGET"));
  EXPECT_THAT(Run({"status", "--target=zmq://nowhere"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "--target"));
}

TEST_F(ClusterCommandsTest, UnreachableTargetTimesOut) {
  std::string target;
  {
    Task gone(server_, kPs, order_);
    target = gone.target();
  }
  EXPECT_THAT(Run({"status", "--timeout=200ms", "--target", target}),
              StatusIs(absl::StatusCode::kUnavailable, target));
}

TEST_F(ClusterCommandsTest, CoordinatorErrorIsReportedUnchanged) {
  task_.coordinator.answer = absl::UnavailableError("the coordinator is gone");
  EXPECT_THAT(Run({"status"}), StatusIs(absl::StatusCode::kUnavailable,
                                        "the coordinator is gone"));
}

}  // namespace
}  // namespace weft::tools
