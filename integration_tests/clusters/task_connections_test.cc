// Tests which steps end when one of several connections of a task is lost.
// Worker 0 runs a step on parameter server 1, which waits for an element of a
// queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/address.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/transport.h"

namespace weft {
namespace {

constexpr char kPs[] = "/job:ps/replica:0/task:1";
constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr absl::Duration kPeerTimeout = absl::Seconds(2);

class TaskConnectionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(session_,
                         Session::Connect(cluster_.target("worker", 0), root_,
                                          cluster_.session_options()));
    ASSERT_OK_AND_ASSIGN(callable_, session_->MakeCallable({}, {taken_}));
    callable_->RunAsync({},
                        [this](const auto& taken) { ended_ = taken.status(); });
    Pass(absl::Seconds(1));
    ASSERT_EQ(NumRunning(), 1);
  }
  void TearDown() override {
    // The result of Close is irrelevant, because the worker may have crashed.
    (void)session_->Close();
    Pass(absl::Minutes(5));
  }

  void Pass(absl::Duration time) { cluster_.scheduler().AdvanceBy(time); }
  int NumRunning() { return cluster_.runtime("ps", 1)->steps().running; }
  // Connects to a task from a separate process that claims the identity `self`.
  std::unique_ptr<bus::Channel> Dial(const std::string& job, int index,
                                     const bus::Identity& self) {
    auto address = bus::Address::Parse(cluster_.target(job, index));
    EXPECT_OK(address);
    auto channel = stranger_->transport().Dial(*address, self, "", nullptr);
    Pass(absl::Seconds(1));
    EXPECT_TRUE(channel->peer().has_value());
    return channel;
  }
  // Returns the identity that the worker sends in its HELLO message.
  bus::Identity WorkerIdentity() {
    return *Dial("worker", 0, {.incarnation = 5})->peer();
  }

  TestCluster cluster_{{.kind = ClusterKind::kSimulated,
                        .jobs = {{"ps", 2}, {"worker", 1}},
                        .transport = {.peer_timeout = kPeerTimeout}}};
  const std::unique_ptr<Process> stranger_ = cluster_.NewProcess("stranger");
  const Scope root_ = Scope::Root();
  const Scope on_ps_ = root_.WithDevice("/job:ps/task:1");
  const Output queue_ = ops::FIFOQueue(on_ps_, {DT_FLOAT});
  const Output taken_ = ops::QueueDequeue(on_ps_, queue_, {DT_FLOAT})[0];
  const Operation enqueue_ = ops::QueueEnqueue(on_ps_, queue_, {1.0f});
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> callable_;
  std::optional<absl::Status> ended_;
};

TEST_F(TaskConnectionsTest, UnusedConnectionLost_StepsContinue) {
  auto stranger = Dial("ps", 1, WorkerIdentity());
  stranger.reset();
  Pass(absl::Seconds(1));
  EXPECT_EQ(NumRunning(), 1);
  ASSERT_OK(session_->Run(enqueue_));
  Pass(absl::Seconds(1));
  EXPECT_EQ(ended_, absl::OkStatus());
}

TEST_F(TaskConnectionsTest, TaskLostFirst_StepsEndWithUnusedConnection) {
  auto stranger = Dial("ps", 1, WorkerIdentity());
  cluster_.Crash("worker", 0);
  Pass(absl::Seconds(1));
  EXPECT_EQ(NumRunning(), 0);
  stranger.reset();
  Pass(absl::Seconds(1));
  EXPECT_EQ(NumRunning(), 0);
}

// The partition cuts the worker off without closing its connection, so only the
// heartbeat timeout detects the loss.
TEST_F(TaskConnectionsTest, UnusedConnectionLostFirst_StepsEndWithTask) {
  auto stranger = Dial("ps", 1, WorkerIdentity());
  cluster_.network().Partition(kWorker, kPs);
  stranger.reset();
  Pass(kPeerTimeout / 4);
  EXPECT_EQ(NumRunning(), 1);
  Pass(3 * kPeerTimeout);
  EXPECT_EQ(NumRunning(), 0);
}

}  // namespace
}  // namespace weft
