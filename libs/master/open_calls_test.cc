#include "libs/master/open_calls.h"

#include <memory>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

const absl::Status kClosed = absl::CancelledError("the session is closed");

TEST(OpenCallsTest, CloseCancelsCallsAndWaitsForTheirOwners) {
  OpenCalls calls;
  ASSERT_OK_AND_ASSIGN(OpenCalls::CallPtr first, calls.Begin(nullptr, nullptr));
  ASSERT_OK_AND_ASSIGN(OpenCalls::CallPtr second,
                       calls.Begin(nullptr, nullptr));
  bool ended = false;
  calls.Close(kClosed, [&] { ended = true; });
  EXPECT_EQ(first->cancellation()->status(), kClosed);
  EXPECT_EQ(second->cancellation()->status(), kClosed);
  EXPECT_THAT(calls.Begin(nullptr, nullptr),
              StatusIs(absl::StatusCode::kCancelled, "is closed"));
  first.reset();
  EXPECT_FALSE(ended);
  second.reset();
  EXPECT_TRUE(ended);
}

TEST(OpenCallsTest, CloseWithoutCallsEndsAtOnce) {
  OpenCalls calls;
  calls.Begin(nullptr, nullptr).IgnoreError();
  int ends = 0;
  calls.Close(kClosed, [&] { ++ends; });
  calls.Close(kClosed, [&] { ++ends; });
  EXPECT_EQ(ends, 2);
}

TEST(OpenCallsTest, ClientCancelsOnlyItsOwnCall) {
  OpenCalls calls;
  Cancellation client;
  ASSERT_OK_AND_ASSIGN(OpenCalls::CallPtr call, calls.Begin(nullptr, &client));
  ASSERT_OK_AND_ASSIGN(OpenCalls::CallPtr other, calls.Begin(nullptr, nullptr));
  client.Cancel(absl::UnavailableError("the connection was lost"));
  EXPECT_THAT(call->cancellation()->status(),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_OK(other->cancellation()->status());
}

TEST(OpenCallsTest, AnsweredCallReleasesItsClient) {
  OpenCalls calls;
  auto client = std::make_unique<Cancellation>();
  ASSERT_OK_AND_ASSIGN(OpenCalls::CallPtr call,
                       calls.Begin(nullptr, client.get()));
  call->ReleaseClient();
  client->Cancel(absl::UnavailableError("the connection was lost"));
  client.reset();
  EXPECT_OK(call->cancellation()->status());
}

TEST(OpenCallsTest, ACallKeepsItsOwner) {
  OpenCalls calls;
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = owner;
  ASSERT_OK_AND_ASSIGN(OpenCalls::CallPtr call,
                       calls.Begin(std::move(owner), nullptr));
  EXPECT_FALSE(watched.expired());
  call.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace weft
