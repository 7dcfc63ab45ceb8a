// Tests servers that stop while steps are running, in one process and over
// sockets. A stopping server drains: it rejects new steps and waits for running
// ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

// Runs a step, `hold_`, that increments a counter on the ps and then waits for
// an element of a queue there. `open_` enqueues the element.
class DrainTest : public ::testing::TestWithParam<ClusterKind> {
 protected:
  void SetUp() override {
    const Scope ps = root_.WithDevice("/job:ps/task:0");
    begun_ = ops::Variable(ps.WithName("begun"), 0.0f);
    Output queue = ops::FIFOQueue(
        ps, {DT_FLOAT},
        {.shapes = {PartialShape::Scalar()}, .shared_name = "gate"});
    Output begin = ops::AssignAdd(ps, begun_, 1.0f);
    Output passed = ops::QueueDequeue(ps.WithControlDependencies({begin}),
                                      queue, {DT_FLOAT})[0];
    hold_ = ops::Neg(root_.WithDevice("/job:worker/task:0"), passed);
    size_ = ops::QueueSize(ps, queue);
    open_ = ops::QueueEnqueue(ps, queue, {1.0f});
    nothing_ = ops::NoOp(root_.WithDevice("/job:worker/task:0"));
    driver_ = Connect("worker", 0);
    observer_ = Connect("worker", 1);
    ASSERT_OK(observer_->Run(begun_.initializer()));
    ASSERT_OK(observer_->Run(open_));
    // the task now knows the callable of the step
    ASSERT_OK(driver_->Run(hold_).status());
    ASSERT_OK(driver_->Run(nothing_));
    holding_ = std::thread([this] { held_ = driver_->Run(hold_).status(); });
    float begun = 1;
    while (begun < 2) {
      auto value = observer_->Run(begun_);
      ASSERT_OK(value);
      begun = value->scalar<float>();
    }
  }

  ~DrainTest() override {
    if (holding_.joinable()) holding_.join();
  }

  // Waits until the step `hold_` has ended. Returns its status.
  absl::Status Held() {
    holding_.join();
    return held_;
  }

  std::unique_ptr<Session> Connect(const std::string& job, int index) {
    auto session = Session::Connect(cluster_.target(job, index), root_,
                                    cluster_.session_options());
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  std::thread Stop(const std::string& job, absl::Duration drain) {
    return std::thread(
        [this, job, drain] { EXPECT_OK(cluster_.server(job, 0).Stop(drain)); });
  }

  // Runs `what` repeatedly until the stopping server rejects it. Returns the
  // error.
  template <typename What>
  absl::Status UntilRefused(const What& what) {
    while (true) {
      const absl::Status status = internal::ToStatus(driver_->Run(what));
      if (!status.ok()) return status;
    }
  }

  TestCluster cluster_{
      {.kind = GetParam(), .jobs = {{"ps", 1}, {"worker", 2}}}};
  Scope root_ = Scope::Root();
  ops::Variable begun_;
  Output hold_, size_;
  Operation open_, nothing_;
  std::unique_ptr<Session> driver_, observer_;
  std::thread holding_;
  absl::Status held_;  // valid once the step has ended
};

TEST_P(DrainTest, MasterRejectsNewStepsAndFinishesRunning) {
  std::thread stop = Stop("worker", absl::Minutes(1));
  EXPECT_THAT(UntilRefused(nothing_),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  ASSERT_OK(observer_->Run(open_));
  EXPECT_OK(Held());
  stop.join();
}

TEST_P(DrainTest, TaskRejectsNewStepsFromOtherMasters) {
  std::thread stop = Stop("ps", absl::Seconds(1));
  EXPECT_THAT(UntilRefused(begun_.initializer()),
              StatusIs(absl::StatusCode::kUnavailable, "/job:ps"));
  EXPECT_THAT(Held(), StatusIs(absl::StatusCode::kUnavailable, "/job:ps"));
  stop.join();
  EXPECT_OK(driver_->Run(nothing_));
  // Restarts the ps, because closing a session would wait for the stopped task
  // for a while.
  cluster_.Stop("ps", 0);
  cluster_.Start("ps", 0);
}

// A stopping task waits for the steps of other masters. These masters tell the
// task when a step ends.
TEST_P(DrainTest, TaskLearnsOfCancelledStep) {
  std::thread stop = Stop("ps", absl::Hours(1));
  EXPECT_THAT(UntilRefused(begun_.initializer()),
              StatusIs(absl::StatusCode::kUnavailable, "/job:ps"));
  ASSERT_OK(driver_->Close());
  EXPECT_THAT(Held(), StatusIs(absl::StatusCode::kCancelled));
  stop.join();
  // Restarts the ps, because closing a session would wait for the stopped task
  // for a while.
  cluster_.Stop("ps", 0);
  cluster_.Start("ps", 0);
}

TEST_P(DrainTest, StepBeyondDrainTimeoutIsUnavailable) {
  std::thread stop = Stop("worker", absl::ZeroDuration());
  EXPECT_THAT(Held(), StatusIs(absl::StatusCode::kUnavailable));
  stop.join();
  // The ps has abandoned the step, so the element stays in the queue.
  ASSERT_OK(observer_->Run(open_));
  ASSERT_OK_AND_ASSIGN(Tensor size, observer_->Run(size_));
  EXPECT_EQ(size.scalar<int32_t>(), 1);
}

// Opens a monitored and an unmonitored session. Their master task and the ps
// stop at the same time.
class MonitoredDrainTest : public ::testing::TestWithParam<ClusterKind> {
 protected:
  void SetUp() override {
    plain_ = Connect(/*is_monitored=*/false);
    monitored_ = Connect(/*is_monitored=*/true);
    for (Session* session : {plain_.get(), monitored_.get()}) {
      ASSERT_OK(session->Run(weights_.initializer()));
    }
  }
  std::unique_ptr<Session> Connect(bool is_monitored) {
    SessionOptions options = cluster_.session_options();
    options.is_monitored = is_monitored;
    auto session =
        Session::Connect(cluster_.target("worker", 0), root_, options);
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }
  std::thread Stop(const std::string& job) {
    return std::thread([this, job] {
      EXPECT_OK(cluster_.server(job, 0).Stop(absl::Hours(1)));
    });
  }
  void UntilRefused(const Output& what) {
    absl::Status status;
    while (status.ok()) status = plain_->Run(what).status();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  }

  TestCluster cluster_{
      {.kind = GetParam(), .jobs = {{"ps", 1}, {"worker", 1}}}};
  const Scope root_ = Scope::Root();
  const ops::Variable weights_{
      root_.WithDevice("/job:ps/task:0").WithName("weights"), 1.0f};
  const Output negated_ = ops::Neg(root_, weights_);
  const Output one_ = ops::Const(root_.WithDevice("/job:worker/task:0"), 1.0f);
  std::unique_ptr<Session> plain_, monitored_;
};

TEST_P(MonitoredDrainTest, AllTasksServeTheSessionUntilItCloses) {
  std::thread stop_ps = Stop("ps");
  UntilRefused(weights_.value());
  std::thread stop_worker = Stop("worker");
  UntilRefused(one_);
  EXPECT_OK(monitored_->Run(weights_.initializer()));
  // this step is new to the stopping tasks
  EXPECT_OK(monitored_->Run(negated_).status());
  EXPECT_OK(monitored_->Close());
  stop_worker.join();
  stop_ps.join();
}

// Stops a cluster while a client has a monitored session.
class LostClientDrainTest : public testing::Test {
 protected:
  void StopBesideClient(const std::string& name) {
    client_ = cluster_.NewProcess(name);
    SessionOptions options = cluster_.session_options();
    options.process = client_.get();
    options.is_monitored = true;
    ASSERT_OK_AND_ASSIGN(
        session_,
        Session::Connect(cluster_.target("worker", 0), root_, options));
    ASSERT_OK(session_->Run(weights_.initializer()));
    for (const char* job : {"ps", "worker"}) {
      cluster_.scheduler().Schedule(Pool::kBlocking, [this, job] {
        EXPECT_OK(cluster_.server(job, 0).Stop(absl::Hours(1)));
        ++num_stopped_;
      });
    }
    cluster_.scheduler().AdvanceBy(absl::Seconds(5));
  }

  TestCluster cluster_{
      {.kind = ClusterKind::kSimulated, .jobs = {{"ps", 1}, {"worker", 1}}}};
  const Scope root_ = Scope::Root();
  const ops::Variable weights_{root_.WithDevice("/job:ps/task:0"), 1.0f};
  std::unique_ptr<Process> client_;
  std::unique_ptr<Session> session_;
  int num_stopped_ = 0;
};

TEST_F(LostClientDrainTest, SessionOfLostClientDelaysDrainBriefly) {
  ASSERT_NO_FATAL_FAILURE(StopBesideClient("client that dies"));
  EXPECT_EQ(num_stopped_, 0);
  cluster_.network().Kill("client that dies");
  cluster_.scheduler().AdvanceBy(absl::Seconds(5));
  EXPECT_EQ(num_stopped_, 2);
  cluster_.network().Reap("client that dies");
  session_.reset();
  client_.reset();
}

// If the client of a monitored session loses its connection during the drain,
// it must be served after reconnecting. Otherwise a chief could not save its
// last checkpoint.
TEST_F(LostClientDrainTest, ClientWithCutConnectionIsServed) {
  constexpr char kWorker[] = "/job:worker/replica:0/task:0";
  ASSERT_NO_FATAL_FAILURE(StopBesideClient("client that saves"));
  cluster_.network().Cut("client that saves", kWorker);
  cluster_.network().Cut(kWorker, "/job:ps/replica:0/task:0");
  cluster_.scheduler().AdvanceBy(absl::Seconds(5));
  EXPECT_EQ(num_stopped_, 0);
  EXPECT_OK(session_->Run(weights_.initializer()));
  // While the tasks drain, new clients are rejected.
  auto other = cluster_.NewProcess("other client");
  SessionOptions late = cluster_.session_options();
  late.process = other.get();
  late.operation_timeout = absl::Seconds(5);
  EXPECT_FALSE(
      Session::Connect(cluster_.target("worker", 0), root_, late).ok());
  EXPECT_OK(session_->Close());
  cluster_.scheduler().AdvanceBy(absl::Seconds(5));
  EXPECT_EQ(num_stopped_, 2);
}

INSTANTIATE_TEST_SUITE_P(All, MonitoredDrainTest,
                         ::testing::Values(ClusterKind::kOneProcess,
                                           ClusterKind::kSockets),
                         [](const auto& kind) {
                           return ClusterKindName(kind.param);
                         });

INSTANTIATE_TEST_SUITE_P(All, DrainTest,
                         ::testing::Values(ClusterKind::kOneProcess,
                                           ClusterKind::kSockets),
                         [](const auto& kind) {
                           return ClusterKindName(kind.param);
                         });

}  // namespace
}  // namespace weft
