#include "libs/master/writer_hold.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/testing/recording_worker.h"

namespace weft {
namespace {

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:1";
using Action = protocol::StepHold::Action;

// A ps whose variables a worker's master writes.
class WriterHoldTest : public testing::Test, public protocol::WorkerDirectory {
 protected:
  WriterHoldTest() { ps_.writers = {{kWorker, {12, 8}, 4}}; }

  protocol::Worker* Find(const std::string& task) override {
    if (task == kPs) return &ps_;
    return task == kWorker && knows_worker_ ? &worker_ : nullptr;
  }
  std::vector<std::string> Tasks() const override { return {kPs, kWorker}; }

  std::shared_ptr<WriterHold> NewHold(Cancellation* client = nullptr) {
    return std::make_shared<WriterHold>(
        WriterHoldOptions{.scheduler = &scheduler_,
                          .directory = this,
                          .call = *calls_.Begin(nullptr, client),
                          .session = {7, 3},
                          .registration = 5,
                          .step = 30,
                          .parts = {{kPs, &ps_}},
                          .max_wait = absl::Seconds(2)});
  }
  absl::Status Begin(WriterHold& hold) {
    absl::Status result = absl::UnknownError("not answered yet");
    hold.Begin([&](absl::Status status) { result = std::move(status); });
    return result;
  }
  static std::vector<Action> Asked(const protocol::RecordingWorker& worker) {
    std::vector<Action> actions;
    for (const protocol::StepHold& hold : worker.step_holds) {
      EXPECT_EQ(hold.holder, (protocol::StepId{7, 30}));
      actions.push_back(hold.action);
    }
    return actions;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  protocol::RecordingWorker ps_;
  protocol::RecordingWorker worker_;
  bool knows_worker_ = true;
  OpenCalls calls_;
};

TEST_F(WriterHoldTest, MastersOfWritersHoldTheirSteps) {
  const auto hold = NewHold();
  ASSERT_OK(Begin(*hold));
  ASSERT_EQ(ps_.step_holds.size(), 1u);
  EXPECT_EQ(ps_.step_holds[0].session, 3u);
  EXPECT_EQ(ps_.step_holds[0].registration, 5u);
  ASSERT_EQ(worker_.step_holds.size(), 1u);
  EXPECT_EQ(worker_.step_holds[0].writers, ps_.writers);
  EXPECT_EQ(worker_.step_holds[0].max_wait, absl::Seconds(2));
  EXPECT_GT(worker_.step_holds[0].lease, absl::Seconds(2));
  absl::Status ended = absl::UnknownError("not answered yet");
  hold->End([&](absl::Status status) { ended = std::move(status); });
  EXPECT_OK(ended);
  EXPECT_EQ(Asked(ps_),
            (std::vector{Action::kHoldVariables, Action::kReleaseVariables}));
  EXPECT_EQ(Asked(worker_),
            (std::vector{Action::kHoldSteps, Action::kReleaseSteps}));
}

// A callable that writes on many tasks is named by each of them.
TEST_F(WriterHoldTest, EachWriterIsHeldOnce) {
  ps_.writers = {{kWorker, {12, 8}, 4}, {kWorker, {12, 8}, 4}};
  ASSERT_OK(Begin(*NewHold()));
  ASSERT_EQ(worker_.step_holds.size(), 1u);
  EXPECT_EQ(worker_.step_holds[0].writers,
            (std::vector<protocol::VariableWriter>{{kWorker, {12, 8}, 4}}));
}

TEST_F(WriterHoldTest, TooManyWritersAreRefused) {
  ps_.writers.clear();
  for (uint64_t i = 0; i <= protocol::Worker::kMaxWriters; ++i) {
    ps_.writers.push_back({kWorker, {12, 8}, i});
  }
  EXPECT_THAT(Begin(*NewHold()),
              StatusIs(absl::StatusCode::kResourceExhausted, kWorker));
  EXPECT_TRUE(worker_.step_holds.empty());
}

// Waiting for the end of all calls does not wait for it.
TEST_F(WriterHoldTest, ATaskThatNeverAnswersKeepsNoCall) {
  ps_.hold_step_holds = true;
  auto hold = NewHold();
  absl::Status begun = absl::UnknownError("not answered yet");
  hold->Begin([&](absl::Status status) { begun = std::move(status); });
  bool closed = false;
  calls_.Close(absl::CancelledError("closed"), [&] { closed = true; });
  EXPECT_THAT(begun, StatusIs(absl::StatusCode::kCancelled));
  hold.reset();
  EXPECT_TRUE(closed);
}

TEST_F(WriterHoldTest, FailedHoldFailsTheStep) {
  const auto hold = NewHold();
  ASSERT_OK(Begin(*hold));
  worker_.answer = absl::FailedPreconditionError("not any more");
  absl::Status ended;
  hold->End([&](absl::Status status) { ended = std::move(status); });
  EXPECT_THAT(
      ended, StatusIs(absl::StatusCode::kFailedPrecondition,
                      "The step may have seen partial updates of other steps"));
}

TEST_F(WriterHoldTest, AllTasksAreToldOfTheFailure) {
  worker_.answer = absl::DeadlineExceededError("step 4 did not end");
  const auto hold = NewHold();
  EXPECT_THAT(Begin(*hold), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                     "step 4 did not end"));
  hold->Abandon();
  EXPECT_EQ(Asked(ps_).back(), Action::kReleaseVariables);
}

TEST_F(WriterHoldTest, WritersOfAnotherClusterAreNamed) {
  knows_worker_ = false;
  EXPECT_THAT(Begin(*NewHold()),
              StatusIs(absl::StatusCode::kFailedPrecondition, kWorker));
}

TEST_F(WriterHoldTest, HoldEndsWithItsClient) {
  worker_.hold = true;  // it does not answer
  Cancellation client;
  const auto hold = NewHold(&client);
  absl::Status begun = absl::UnknownError("not answered yet");
  hold->Begin([&](absl::Status status) { begun = std::move(status); });
  EXPECT_THAT(begun, StatusIs(absl::StatusCode::kUnknown));
  client.Cancel(absl::CancelledError("gone"));
  EXPECT_THAT(begun, StatusIs(absl::StatusCode::kCancelled, "gone"));
  hold->ReleaseClient();
  hold->Abandon();
  // The late answer has no receiver: steps are not held for it.
  ASSERT_EQ(worker_.held.size(), 1u);
  worker_.held.front()();
  EXPECT_EQ(Asked(worker_), std::vector{Action::kReleaseSteps});
}

}  // namespace
}  // namespace weft
