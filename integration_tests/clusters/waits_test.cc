// Tests the log lines about slow steps, with a simulated clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/train/sessions/report_uninitialized.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kWorker0[] = "/job:worker/replica:0/task:0";
constexpr char kWorker1[] = "/job:worker/replica:0/task:1";

class WaitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Scope on_ps = root_.WithDevice("/job:ps/task:0");
    Output jobs = ops::FIFOQueue(
        on_ps, {DT_FLOAT},
        {.shapes = {PartialShape::Scalar()}, .shared_name = "jobs"});
    put_ = ops::QueueEnqueue(on_ps, jobs, {1.0f});
    Output taken =
        ops::QueueDequeue(on_ps.WithName("take"), jobs, {DT_FLOAT})[0];
    use_ = ops::Neg(root_.WithDevice("/job:worker/task:1"), taken);
    auto session = Session::Connect(cluster_.target("worker", 0), root_,
                                    cluster_.session_options());
    ASSERT_OK(session);
    session_ = *std::move(session);
  }

  // Returns the log lines that describe what a step waits for.
  std::vector<std::string> Lines() const {
    std::vector<std::string> result;
    for (const std::string& line : logger_.lines()) {
      if (line.find("wait") != std::string::npos) result.push_back(line);
    }
    return result;
  }

  absl::Status UseWithin(absl::Duration timeout) {
    return session_->Run({}, use_, {.timeout = timeout}).status();
  }

  RecordingLogger logger_;
  TestCluster cluster_{{.kind = ClusterKind::kSimulated,
                        .jobs = {{"ps", 1}, {"worker", 2}},
                        .log_waits_after = absl::Seconds(5),
                        .logger = &logger_}};
  Scope root_ = Scope::Root();
  Operation put_;
  Output use_;
  std::unique_ptr<Session> session_;
};

TEST_F(WaitsTest, LogNamesQueueAndEdge) {
  EXPECT_THAT(UseWithin(absl::Milliseconds(4900)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(Lines(), IsEmpty());
  EXPECT_THAT(UseWithin(absl::Seconds(17)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(Lines(), ElementsAre(HasSubstr("has waited more than 5s for"),
                                   HasSubstr("has waited more than 10s for")));
  EXPECT_THAT(
      Lines(),
      Each(AllOf(HasSubstr("fetches [Neg:0], targets []"),
                 HasSubstr(absl::StrCat(kPs,
                                        " waits for node take (QueueDequeueV2) "
                                        "on jobs (FIFOQueueV2)")),
                 HasSubstr(absl::StrCat(kWorker1,
                                        " waits for tensor take:0 "
                                        "from ",
                                        kPs)))));
}

TEST_F(WaitsTest, StepThatEndsInTimeIsNotLogged) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(session_->Run(put_));
    ASSERT_OK(UseWithin(absl::Seconds(30)));
    cluster_.scheduler().AdvanceBy(absl::Seconds(2));
  }
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(WaitsTest, UnresponsiveTaskIsNamed) {
  ASSERT_OK(session_->Run(put_));
  ASSERT_OK(UseWithin(absl::Seconds(30)));
  cluster_.network().Partition(kWorker0, kWorker1);
  // For nine seconds the worker sends no reply, not even to the abort of the
  // step.
  SimulatedScheduler& scheduler = cluster_.scheduler();
  scheduler.ScheduleAt(scheduler.clock().Now() + absl::Seconds(9),
                       [this] { cluster_.network().Heal(kWorker0, kWorker1); });
  EXPECT_THAT(UseWithin(absl::Seconds(8)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_THAT(Lines()[0],
              HasSubstr(absl::StrCat(kWorker1, " does not answer")));
  EXPECT_THAT(Lines()[0], HasSubstr(absl::StrCat(kPs, " waits for node take")));
}

// Workers wait for the chief with such steps, which are expected to be slow.
TEST_F(WaitsTest, WaitForVariablesIsNotLogged) {
  const ops::Variable v(root_.WithDevice("/job:ps/task:0").WithName("v"), 0.0f);
  const Operation wait = train::WaitForVariables(root_, {v});
  EXPECT_THAT(session_->Run({}, wait, {.timeout = absl::Seconds(17)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST(MissingChiefTest, MissingChiefIsLoggedByWaitingWorker) {
  RecordingLogger logger;
  TestCluster cluster({.kind = ClusterKind::kSimulated,
                       .jobs = {{"ps", 1}, {"worker", 2}},
                       .log_waits_after = absl::Seconds(5),
                       .logger = &logger});
  cluster.scheduler().AdvanceBy(absl::Seconds(1));
  cluster.Crash("worker", 0);
  const Scope root = Scope::Root();
  const ops::Variable v(root.WithDevice("/job:ps/task:0").WithName("v"), 0.0f);
  const Operation wait = train::WaitForVariables(root, {v});
  SessionOptions options = cluster.session_options();
  options.device_filters = {"/job:ps", "/job:worker/task:1"};
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      Session::Connect(cluster.target("worker", 1), root, options));
  EXPECT_THAT(session->Run({}, wait, {.timeout = absl::Seconds(8)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(
      logger.lines(),
      Contains(HasSubstr(absl::StrCat("until its variables have values: the "
                                      "chief, worker 0 (",
                                      kWorker0, "), is lost"))));
  EXPECT_THAT(logger.lines(), Not(Contains(HasSubstr("for step"))));
}

}  // namespace
}  // namespace weft
