#include "libs/runtime/step_exchange.h"

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/testing/recording_worker.h"

namespace weft {
namespace {

constexpr int64_t kStreamFloats = 16 << 10;
constexpr int64_t kLargeFloats = 2000;
constexpr int64_t kSmallFloats = 1000;

// A Worker that counts the deliveries that it receives.
class CountingWorker : public protocol::RecordingWorker {
 public:
  void Deliver(std::vector<protocol::Push> delivered) override {
    ++deliveries;
    RecordingWorker::Deliver(std::move(delivered));
  }
  int deliveries = 0;
};

class StepExchangeTest : public testing::Test {
 protected:
  StepExchangeTest() { exchange_.BeginSending(&edges_); }

  void Send(uint64_t edge, int64_t floats) {
    ASSERT_OK(exchange_.Send({.edge = edge},
                             Tensor(DT_FLOAT, TensorShape({floats})),
                             /*is_dead=*/false));
  }

  CountingWorker ps_;
  CountingWorker worker_;
  const RemoteEdges edges_ = {{1, &ps_}, {2, &ps_}, {3, &worker_}};
  StepExchange exchange_{{.master_incarnation = 11, .session = 7}, /*step=*/30};
};

TEST_F(StepExchangeTest, SmallValuesForOneTaskAreBatched) {
  Send(1, 1);
  Send(3, 1);
  ASSERT_OK(exchange_.Send({.edge = 2, .frame = 77, .iteration = 3}, Tensor(),
                           /*is_dead=*/true));
  EXPECT_EQ(ps_.deliveries, 0);
  exchange_.Flush();
  EXPECT_EQ(ps_.deliveries, 1);
  EXPECT_EQ(worker_.deliveries, 1);
  ASSERT_EQ(ps_.pushes.size(), 2u);
  EXPECT_EQ(ps_.pushes[0].edge, 1u);
  EXPECT_EQ(ps_.pushes[0].step, 30u);
  EXPECT_EQ(ps_.pushes[1].frame, 77u);
  EXPECT_EQ(ps_.pushes[1].iteration, 3u);
  EXPECT_TRUE(ps_.pushes[1].is_dead);
  exchange_.Flush();
  EXPECT_EQ(ps_.deliveries, 1);  // nothing was left to send
}

TEST_F(StepExchangeTest, FailedStepAbandonsItsSentValues) {
  Send(1, kStreamFloats);
  exchange_.Flush();
  exchange_.AbandonSent();
  for (const CountingWorker* receiver : {&ps_, &worker_}) {
    ASSERT_EQ(receiver->abandoned.size(), 1u);
    EXPECT_EQ(receiver->abandoned[0], (protocol::StepId{11, 30}));
  }
}

TEST_F(StepExchangeTest, LargeValueIsUrgentUntilSent) {
  Send(1, kSmallFloats);
  EXPECT_FALSE(exchange_.IsUrgent());
  Send(2, kLargeFloats);
  EXPECT_TRUE(exchange_.IsUrgent());
  EXPECT_EQ(ps_.deliveries, 0);
  exchange_.Flush();
  EXPECT_FALSE(exchange_.IsUrgent());
  EXPECT_EQ(ps_.deliveries, 1);
}

TEST_F(StepExchangeTest, LargeValueFlushesSmallValuesForItsTask) {
  Send(1, 1);
  Send(3, 1);
  Send(2, kLargeFloats);
  exchange_.Flush();
  EXPECT_EQ(ps_.deliveries, 1);
  ASSERT_EQ(ps_.pushes.size(), 2u);
  EXPECT_EQ(ps_.pushes[0].edge, 1u);
  EXPECT_EQ(ps_.pushes[1].edge, 2u);
  EXPECT_EQ(worker_.deliveries, 1);
}

// The bytes of a large value are sent separately, in chunks, and may take long.
TEST_F(StepExchangeTest, SmallValuesDoNotWaitForALargeValue) {
  Send(2, kStreamFloats);
  Send(1, 1);
  Send(2, kStreamFloats);
  exchange_.Flush();
  EXPECT_EQ(ps_.deliveries, 3);
  ASSERT_EQ(ps_.pushes.size(), 3u);
  EXPECT_EQ(ps_.pushes[0].edge, 1u);
}

TEST_F(StepExchangeTest, TakenValuesNoLongerCount) {
  for (int i = 0; i < 16; ++i) Send(1, kSmallFloats);
  EXPECT_EQ(exchange_.TakeHeldFor(ps_).size(), 16u);
  for (int i = 0; i < 16; ++i) Send(1, kSmallFloats);
  EXPECT_EQ(ps_.deliveries, 0);
}

TEST_F(StepExchangeTest, ManySmallValuesAreFlushed) {
  // Up to 64 KB of small values may be held back.
  for (int i = 0; i < 16; ++i) Send(1, kSmallFloats);
  EXPECT_EQ(ps_.deliveries, 0);
  Send(1, kSmallFloats);
  EXPECT_EQ(ps_.deliveries, 1);
  EXPECT_EQ(ps_.pushes.size(), 17u);
}

// A loop may send one value in each iteration, while its thread always has more
// work.
TEST_F(StepExchangeTest, ManyEmptyValuesAreFlushed) {
  constexpr uint64_t kIterations = 10'000;
  for (uint64_t i = 0; i < kIterations; ++i) {
    ASSERT_OK(exchange_.Send({.edge = 1, .frame = 77, .iteration = i}, Tensor(),
                             /*is_dead=*/true));
  }
  EXPECT_EQ(ps_.deliveries, 2);
  exchange_.Flush();
  EXPECT_EQ(ps_.pushes.size(), kIterations);
}

TEST_F(StepExchangeTest, ValuesForOneTaskCanBeTaken) {
  Send(1, 1);
  Send(3, 1);
  const std::vector<protocol::Push> taken = exchange_.TakeHeldFor(ps_);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].edge, 1u);
  EXPECT_TRUE(exchange_.TakeHeldFor(ps_).empty());
  exchange_.Flush();
  EXPECT_TRUE(ps_.pushes.empty());
  EXPECT_EQ(worker_.pushes.size(), 1u);
}

}  // namespace
}  // namespace weft
