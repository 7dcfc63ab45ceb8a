// What a step costs in messages and bytes: the design's cost model, counted.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

class CountedMessagesTest : public ::testing::Test {
 protected:
  CountedMessagesTest() {
    cluster_.network().set_hook([this](const bus::MessageInfo& message) {
      ++messages_;
      for (const bus::Blob& frame : *message.frames) {
        if (message.lane == bus::Lane::kBulk) bulk_bytes_ += frame.size();
      }
      return bus::Verdict{};
    });
  }

  void Connect(const std::string& job, int index) {
    auto session = Session::Connect(cluster_.target(job, index), root_,
                                    cluster_.session_options());
    ASSERT_OK(session);
    session_ = *std::move(session);
  }
  // Of the second run of the callable, when all connections are there.
  int MessagesOf(const std::vector<Output>& fetches,
                 const std::vector<Operation>& targets) {
    auto callable = session_->MakeCallable({}, fetches, targets);
    EXPECT_TRUE(callable.ok()) << callable.status();
    EXPECT_TRUE((*callable)->Run().ok());
    cluster_.scheduler().RunUntilIdle();
    messages_ = 0;
    bulk_bytes_ = 0;
    EXPECT_TRUE((*callable)->Run().ok());
    cluster_.scheduler().RunUntilIdle();
    return messages_;
  }

  size_t PeakBytes(const std::string& job) {
    return static_cast<size_t>(
        cluster_.process(job, 0).buffers().stats().peak_bytes_in_use);
  }

  TestCluster cluster_{
      {.kind = ClusterKind::kSimulated, .jobs = {{"ps", 1}, {"worker", 2}}}};
  int messages_ = 0;
  size_t bulk_bytes_ = 0;
  Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

TEST_F(CountedMessagesTest, ANullStepIsOneRoundTrip) {
  Operation noop = ops::NoOp(root_.WithDevice("/job:worker/task:0/cpu:0"));
  Connect("worker", 0);
  EXPECT_EQ(MessagesOf({}, {noop}), 2);
}

TEST_F(CountedMessagesTest, AStepOfThreeTasks) {
  ops::Variable a(root_.WithDevice("/job:ps/task:0/cpu:0").WithName("a"), 1.0f);
  Output b = ops::Add(root_.WithDevice("/job:worker/task:0/cpu:0"), a, 2.0f);
  Output c = ops::Add(root_.WithDevice("/job:worker/task:1/cpu:0"), a, b);
  Connect("worker", 0);
  ASSERT_OK(session_->Run(a.initializer()));
  // Client and master, master and two tasks, three edges.
  EXPECT_EQ(MessagesOf({c}, {}), 2 + 2 * 2 + 3);
  EXPECT_EQ(bulk_bytes_, 0u);
}

TEST_F(CountedMessagesTest, AValueThatTwoNodesTakeTravelsOnce) {
  ops::Variable a(root_.WithDevice("/job:ps/task:0/cpu:0").WithName("a"), 1.0f);
  const Scope worker = root_.WithDevice("/job:worker/task:0/cpu:0");
  Output b = ops::Add(worker, ops::Neg(worker, a), ops::Square(worker, a));
  Connect("worker", 0);
  ASSERT_OK(session_->Run(a.initializer()));
  EXPECT_EQ(MessagesOf({b}, {}), 2 + 2 + 1);
}

TEST_F(CountedMessagesTest, LargeValuesTravelOnceInChunks) {
  constexpr int kFloats = 3 << 20;
  ops::Variable a(
      root_.WithDevice("/job:ps/task:0/cpu:0").WithName("a"),
      ops::Fill(root_.WithDevice("/job:ps/task:0/cpu:0"),
                ops::Const(root_, {kFloats}), ops::Const(root_, 1.0f)));
  Output last =
      ops::Slice(root_.WithDevice("/job:worker/task:0/cpu:0"), a,
                 ops::Const(root_, {kFloats - 1}), ops::Const(root_, {1}));
  Connect("worker", 0);
  ASSERT_OK(session_->Run(a.initializer()));
  MessagesOf({last}, {});
  // 12 MiB in chunks of 1 MiB with their headers.
  constexpr size_t kBytes = size_t{kFloats} * 4;
  EXPECT_GE(bulk_bytes_, kBytes);
  EXPECT_LT(bulk_bytes_, kBytes + 13 * 64);
  // The sender sends the variable's own memory; the receiver computes on the
  // memory in which the value landed. Initialising took two of them.
  constexpr size_t kSmall = 1 << 20;
  EXPECT_LT(PeakBytes("ps"), 2 * kBytes + kSmall);
  EXPECT_GE(PeakBytes("worker"), kBytes);
  EXPECT_LT(PeakBytes("worker"), kBytes + kSmall);
}

}  // namespace
}  // namespace weft
