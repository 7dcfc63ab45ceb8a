// Occupies all threads of a task's pools with kernels or client functions.
// Heartbeats, the ends of sessions and steps, and graph extensions of other
// sessions must continue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/envelope.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/protocol/method.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class BusyPoolsTest : public ::testing::Test {
 protected:
  void TearDown() override { Release(); }

  // Occupies both threads of a pool until Release is called.
  void Hold(const std::string& job, int index, Pool pool) {
    ScheduleHold(job, index, pool);
    cluster_.scheduler().RunUntilIdle();
  }
  void ScheduleHold(const std::string& job, int index, Pool pool) {
    SimulatedScheduler::Part& threads = cluster_.pools(job, index);
    for (int i = 0; i < 2; ++i) {
      threads.Schedule(pool, [release = release_] { release->Wait(); });
    }
  }
  void Release() {
    release_->Set();
    cluster_.scheduler().RunUntilIdle();
  }
  void Pass(absl::Duration time) { cluster_.scheduler().AdvanceBy(time); }

  std::unique_ptr<Session> Connect(const Scope& scope) {
    auto session = Session::Connect(cluster_.target("worker", 0), scope,
                                    cluster_.session_options());
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  // Returns a sum computed on parameter server 1.
  static Output SumOnPs(const Scope& root) {
    return ops::Add(root.WithDevice("/job:ps/task:1"), 1.0f, 2.0f);
  }

  RecordingLogger logger_;
  TestCluster cluster_{
      {.kind = ClusterKind::kSimulated,
       .jobs = {{"ps", 2}, {"worker", 2}},
       .pools = {.compute = 2, .control = 1, .graph = 1, .blocking = 2},
       .lease = absl::Seconds(20),
       .heartbeat_interval = absl::Seconds(1),
       .heartbeat_timeout = absl::Seconds(5),
       .logger = &logger_,
       .transport = {.peer_timeout = absl::Seconds(2)}}};
  const std::shared_ptr<Event> release_ = cluster_.scheduler().NewEvent();
};

// All pools of three tasks are busy, including those of parameter server 0,
// which hosts the coordinator. No task may be considered lost.
TEST_F(BusyPoolsTest, BusyTasksAreNotLost) {
  const Scope root = Scope::Root();
  const Output sum = SumOnPs(root);
  const auto session = Connect(root);
  ASSERT_OK(session->Run(sum));
  for (const Pool pool : {Pool::kCompute, Pool::kBlocking, Pool::kGraph}) {
    Hold("ps", 0, pool);
    Hold("ps", 1, pool);
    Hold("worker", 1, pool);
  }
  Pass(absl::Minutes(1));
  EXPECT_THAT(logger_.lines(), Not(Contains(HasSubstr("lost"))));
  Release();
  EXPECT_OK(session->Run(sum));
}

// Kernels and graph extensions occupy all threads of the coordinator's task.
TEST_F(BusyPoolsTest, LostTaskJoinsAgainWhileThreadsAreBusy) {
  Pass(absl::Seconds(1));
  ASSERT_TRUE(cluster_.server("ps", 1).joined());
  Hold("ps", 0, Pool::kCompute);
  bool has_asked = false;
  cluster_.network().set_hook([&](const bus::MessageInfo& message) {
    const auto control = bus::DecodeControlMessage(*message.frames);
    const bool is_join =
        control.ok() &&
        control->envelope.method ==
            static_cast<uint8_t>(protocol::Method::kJoinCluster);
    if (is_join && !std::exchange(has_asked, true)) {
      ScheduleHold("ps", 1, Pool::kGraph);
    }
    return bus::HookResult();
  });
  cluster_.network().Cut("/job:ps/replica:0/task:0",
                         "/job:ps/replica:0/task:1");
  cluster_.scheduler().RunUntilIdle();
  EXPECT_FALSE(cluster_.server("ps", 1).joined());
  Pass(absl::Seconds(10));
  cluster_.network().set_hook(nullptr);
  EXPECT_TRUE(has_asked);
  EXPECT_TRUE(cluster_.server("ps", 1).joined());
}

TEST_F(BusyPoolsTest, SessionEndsOnABusyTask) {
  const Scope root = Scope::Root();
  const Output sum = SumOnPs(root);
  auto session = Connect(root);
  ASSERT_OK(session->Run(sum));
  ASSERT_EQ(cluster_.runtime("ps", 1)->num_sessions(), 1);
  Hold("ps", 1, Pool::kCompute);
  Hold("ps", 1, Pool::kBlocking);
  EXPECT_OK(session->Close());
  EXPECT_EQ(cluster_.runtime("ps", 1)->num_sessions(), 0);
}

TEST_F(BusyPoolsTest, StepEndsAtItsDeadlineOnBusyTasks) {
  const Scope root = Scope::Root();
  const Scope on_ps = root.WithDevice("/job:ps/task:1");
  const Output jobs = ops::FIFOQueue(on_ps, {DT_FLOAT});
  const Output taken = ops::QueueDequeue(on_ps, jobs, {DT_FLOAT})[0];
  const auto session = Connect(root);
  const auto run = [&] {
    return session->Run({}, {taken}, {.timeout = absl::Seconds(1)}).status();
  };
  EXPECT_THAT(run(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  for (const Pool pool : {Pool::kCompute, Pool::kBlocking}) {
    Hold("worker", 0, pool);
    Hold("ps", 1, pool);
  }
  const absl::Time begin = cluster_.scheduler().clock().Now();
  EXPECT_THAT(run(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LT(cluster_.scheduler().clock().Now() - begin, absl::Seconds(2));
  EXPECT_EQ(cluster_.runtime("ps", 1)->steps().running, 0);
}

TEST_F(BusyPoolsTest, StepsOfALostMasterEndOnABusyTask) {
  const Scope root = Scope::Root();
  const Scope on_ps = root.WithDevice("/job:ps/task:1");
  const Output jobs = ops::FIFOQueue(on_ps, {DT_FLOAT});
  const Output taken = ops::QueueDequeue(on_ps, jobs, {DT_FLOAT})[0];
  const auto session = Connect(root);
  std::unique_ptr<Event> ended = cluster_.scheduler().NewEvent();
  cluster_.scheduler().Schedule(Pool::kBlocking, [&] {
    EXPECT_FALSE(session->Run(taken).ok());
    ended->Set();
  });
  Pass(absl::Seconds(1));
  ASSERT_EQ(cluster_.runtime("ps", 1)->steps().running, 1);
  Hold("ps", 1, Pool::kCompute);
  Hold("ps", 1, Pool::kBlocking);
  cluster_.Crash("worker", 0);
  ended->Wait();
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(cluster_.runtime("ps", 1)->steps().running, 0);
  Pass(absl::Seconds(21));
  EXPECT_EQ(cluster_.runtime("ps", 1)->num_sessions(), 0)
      << "its lease is over";
}

TEST_F(BusyPoolsTest, BlockedClientFunctionsDoNotHoldUpExtensions) {
  Hold("worker", 0, Pool::kBlocking);
  const Scope root = Scope::Root();
  const Output sum = SumOnPs(root);
  const auto session = Connect(root);
  EXPECT_OK(session->Run(sum));
  const Output twice = ops::Add(root, sum, sum);
  ASSERT_OK_AND_ASSIGN(const Tensor value, session->Run(twice));
  EXPECT_EQ(value.scalar<float>(), 6);
}

TEST_F(BusyPoolsTest, BlockedClientFunctionsDoNotHoldUpATracedRun) {
  Hold("worker", 0, Pool::kBlocking);
  const Scope root = Scope::Root();
  const Output sum = SumOnPs(root);
  const auto session = Connect(root);
  RunMetadata metadata;
  EXPECT_OK(session->Run({}, {sum},
                         {.timeout = absl::Seconds(10),
                          .trace_level = TraceLevel::kFullTrace,
                          .output_partition_graphs = true},
                         &metadata));
  EXPECT_FALSE(metadata.partition_graphs.empty());
  EXPECT_FALSE(metadata.step_stats.dev_stats.empty());
}

TEST_F(BusyPoolsTest, BlockedClientFunctionsDoNotHoldUpAShutdown) {
  for (const auto& [job, tasks] : cluster_.spec().jobs()) {
    for (const auto& [index, address] : tasks)
      Hold(job, index, Pool::kBlocking);
  }
  absl::Status told = absl::UnknownError("did not answer");
  cluster_.process("ps", 0)
      .local_tasks()
      .FindCoordinator(cluster_.spec().ToString())
      ->Shutdown(absl::InfiniteFuture(),
                 [&told](const absl::Status& status) { told = status; });
  Pass(absl::Minutes(1));
  EXPECT_OK(told);
  const std::vector<std::string> lines = logger_.lines();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return absl::EndsWith(line, "Stopped");
                          }),
            4);
}

}  // namespace
}  // namespace weft
