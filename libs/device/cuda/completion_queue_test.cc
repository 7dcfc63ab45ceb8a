#include "libs/device/cuda/completion_queue.h"

#include <memory>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"

namespace weft {
namespace {

using testing::ElementsAre;

absl::Status Passes() { return absl::OkStatus(); }

class CompletionQueueTest : public testing::Test {
 protected:
  SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
};

TEST_F(CompletionQueueTest, CallbacksRunInOrderWithTheirStatus) {
  std::vector<absl::StatusCode> codes;
  {
    CompletionQueue queue(*scheduler_);
    const auto keep = [&](absl::Status s) { codes.push_back(s.code()); };
    queue.Add(Passes, keep);
    queue.Add([] { return absl::InternalError("lost"); }, keep);
    queue.Add(Passes, keep);
  }
  EXPECT_THAT(codes,
              ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kInternal,
                          absl::StatusCode::kOk));
}

TEST_F(CompletionQueueTest, DrainRunsEntriesAddedByCallbacks) {
  int done = 0;
  CompletionQueue queue(*scheduler_);
  queue.Add(Passes, [&](absl::Status) {
    queue.Add(Passes, [&](absl::Status) { ++done; });
  });
  while (queue.Drain()) {
  }
  EXPECT_EQ(done, 1);
  EXPECT_FALSE(queue.Drain());
}

TEST_F(CompletionQueueTest, CallbackIsReleasedBeforeTheNextWait) {
  auto kept = std::make_shared<int>(7);
  const std::weak_ptr<int> seen = kept;
  std::optional<bool> is_gone;
  {
    CompletionQueue queue(*scheduler_);
    queue.Add(Passes, [kept = std::move(kept)](absl::Status) {});
    queue.Add(
        [&] {
          is_gone = seen.expired();
          return absl::OkStatus();
        },
        [](absl::Status) {});
  }
  EXPECT_EQ(is_gone, true);
}

}  // namespace
}  // namespace weft
