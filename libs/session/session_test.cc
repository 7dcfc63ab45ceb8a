// A session of several threads, whose master takes its time.
#include "libs/session/session.h"

#include <memory>
#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/protocol/testing/recording_master.h"

namespace weft {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Nobody owns it but the test.
    ASSERT_OK_AND_ASSIGN(session_,
                         Session::Create({std::shared_ptr<void>(), &master_},
                                         scheduler_, root_, {}));
    EXPECT_OK(Run(x_, y_));
  }
  void TearDown() override {
    master_.hold = false;
    while (master_.num_held() > 0) Release();
    session_.reset();
  }

  absl::Status Run(const Output& feed, const Output& fetch) {
    return session_->Run({{feed, Tensor::Scalar(2.0f)}}, fetch).status();
  }
  // On a thread of its own; as far as that goes now.
  void RunElsewhere(const Output& feed, const Output& fetch,
                    std::optional<absl::Status>* result) {
    scheduler_.Schedule(Pool::kBlocking,
                        [=, this] { *result = Run(feed, fetch); });
    scheduler_.RunUntilIdle();
  }
  void Release() {
    master_.Release();
    scheduler_.RunUntilIdle();
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  protocol::RecordingMaster master_;
  Scope root_ = Scope::Root();
  Output x_ = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  Output y_ = ops::Identity(root_.WithName("y"), x_);
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, RunsThatAreReadyGoOnWhileAnotherThreadExtends) {
  const Output z = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> extending;
  master_.hold = true;
  RunElsewhere(x_, z, &extending);
  ASSERT_EQ(master_.num_held(), 1u);
  EXPECT_OK(Run(x_, y_));
  EXPECT_FALSE(extending.has_value());
  master_.hold = false;
  Release();
  ASSERT_TRUE(extending.has_value());
  EXPECT_OK(*extending);
}

TEST_F(SessionTest, WhoNeedsNewNodesWaitsForTheThreadThatSendsThem) {
  const Output z = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> first, second;
  master_.hold = true;
  RunElsewhere(x_, z, &first);
  RunElsewhere(x_, z, &second);
  EXPECT_EQ(master_.num_held(), 1u);
  master_.hold = false;
  Release();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_OK(*first);
  EXPECT_OK(*second);
  EXPECT_EQ(master_.extensions.size(), 2u);  // the first run's, and this one
}

TEST_F(SessionTest, ARefusedExtensionIsSentAgainByWhoWaitedForIt) {
  const Output z = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> first, second;
  master_.hold = true;
  RunElsewhere(x_, z, &first);
  RunElsewhere(x_, z, &second);
  master_.hold = false;
  master_.answer_extension = absl::UnavailableError("the connection was lost");
  Release();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_THAT(*first, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_OK(*second);
  EXPECT_EQ(master_.extensions.size(), 3u);
}

TEST_F(SessionTest, CloseDoesNotWaitForAnExtension) {
  const Output z = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> first, second, closed;
  master_.hold = true;
  RunElsewhere(x_, z, &first);
  RunElsewhere(x_, z, &second);
  scheduler_.Schedule(Pool::kBlocking, [&] { closed = session_->Close(); });
  scheduler_.RunUntilIdle();
  EXPECT_EQ(master_.closed.size(), 1u);
  ASSERT_TRUE(second.has_value());
  EXPECT_THAT(*second, StatusIs(absl::StatusCode::kFailedPrecondition,
                                "has been closed"));
  EXPECT_FALSE(first.has_value());
  // The master ends the extension with its session.
  master_.answer_extension = absl::CancelledError("Session::Close()");
  Release();
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(*first, StatusIs(absl::StatusCode::kCancelled));
  Release();
  ASSERT_TRUE(closed.has_value());
  EXPECT_OK(*closed);
}

}  // namespace
}  // namespace weft
