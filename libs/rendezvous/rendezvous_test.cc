#include "libs/rendezvous/rendezvous.h"

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/exceptions.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"

namespace weft {
namespace {

struct Received {
  absl::Status status;
  Tensor tensor;
  bool is_dead = false;
};

Rendezvous::Receiver Into(std::optional<Received>& received) {
  return [&received](absl::Status status, Tensor tensor, bool is_dead) {
    EXPECT_FALSE(received.has_value()) << "received twice";
    received = {std::move(status), std::move(tensor), is_dead};
  };
}

TEST(LocalRendezvousTest, SendAndReceiveMatchInEitherOrder) {
  for (bool send_first : {true, false}) {
    LocalRendezvous rendezvous;
    std::optional<Received> received;
    if (!send_first) rendezvous.Receive({.edge = 1}, Into(received));
    EXPECT_FALSE(received.has_value());
    ASSERT_OK(rendezvous.Send({.edge = 1}, Tensor::Scalar(5.0f), false));
    if (send_first) rendezvous.Receive({.edge = 1}, Into(received));
    ASSERT_TRUE(received.has_value());
    EXPECT_OK(received->status);
    EXPECT_EQ(received->tensor.scalar<float>(), 5);
    EXPECT_TRUE(received->tensor.RefCountIsOne());
    EXPECT_FALSE(received->is_dead);
  }
}

TEST(LocalRendezvousTest, DeadTensorsAreDelivered) {
  LocalRendezvous rendezvous;
  std::optional<Received> received;
  ASSERT_OK(rendezvous.Send({.edge = 1}, Tensor(), true));
  rendezvous.Receive({.edge = 1}, Into(received));
  EXPECT_TRUE(received->is_dead);
}

TEST(LocalRendezvousTest, KeysAreDistinctInAllParts) {
  LocalRendezvous rendezvous;
  const RendezvousKey keys[] = {{1, 0, 0}, {2, 0, 0}, {1, 3, 0}, {1, 3, 1}};
  for (float i = 0; const RendezvousKey& key : keys) {
    ASSERT_OK(rendezvous.Send(key, Tensor::Scalar(i++), false));
  }
  for (float i = 0; const RendezvousKey& key : keys) {
    std::optional<Received> received;
    rendezvous.Receive(key, Into(received));
    EXPECT_EQ(received->tensor.scalar<float>(), i++);
  }
}

TEST(LocalRendezvousTest, ASecondSendOrReceiveIsRefused) {
  for (bool received_between : {false, true}) {
    LocalRendezvous rendezvous;
    std::optional<Received> first, second;
    ASSERT_OK(rendezvous.Send({.edge = 1}, Tensor::Scalar(1.0f), false));
    if (received_between) rendezvous.Receive({.edge = 1}, Into(first));
    EXPECT_THAT(rendezvous.Send({.edge = 1}, Tensor::Scalar(2.0f), false),
                StatusIs(absl::StatusCode::kInternal, "edge 1"));
    if (!received_between) rendezvous.Receive({.edge = 1}, Into(first));
    EXPECT_EQ(first->tensor.scalar<float>(), 1);
    rendezvous.Receive({.edge = 1}, Into(second));
    EXPECT_THAT(second->status,
                StatusIs(absl::StatusCode::kInternal, "received twice"));
  }
}

// Each allocation fails once.
TEST(LocalRendezvousTest, SendWithoutMemoryLeavesNoMeeting) {
  LocalRendezvous rendezvous;
  int failures = 0;
  for (uint64_t edge = 0; edge < 100; ++edge) {
    const Tensor tensor = Tensor::Scalar(1.0f);
    absl::Status sent = absl::UnknownError("nothing was sent");
    for (int64_t nth = 1; !sent.ok(); ++nth) {
      const FailingMemory failing(nth);
      sent = CatchExceptions(
          [&] { return rendezvous.Send({.edge = edge}, tensor, false); });
      if (sent.ok()) break;
      ++failures;
      ASSERT_THAT(sent, StatusIs(absl::StatusCode::kResourceExhausted));
      ASSERT_EQ(rendezvous.num_meetings(), edge);
    }
    ASSERT_EQ(rendezvous.num_meetings(), edge + 1);
  }
  EXPECT_GT(failures, 1);
}

TEST(LocalRendezvousTest, ReceiverWithoutMemoryGetsTheError) {
  LocalRendezvous rendezvous;
  std::vector<std::optional<Received>> received(100);
  int failures = 0;
  for (uint64_t edge = 0; edge < received.size(); ++edge) {
    std::optional<Received>& one = received[edge];
    for (int64_t nth = 1;; ++nth) {
      auto receiver = Into(one);
      {
        const FailingMemory failing(nth);
        rendezvous.Receive({.edge = edge}, std::move(receiver));
      }
      if (!one.has_value()) break;
      ++failures;
      ASSERT_THAT(one->status, StatusIs(absl::StatusCode::kResourceExhausted));
      one.reset();
    }
  }
  EXPECT_GT(failures, 1);
  rendezvous.Abort(absl::CancelledError("the end"));
  for (const auto& one : received) EXPECT_TRUE(one.has_value());
}

// Regardless of the number of iterations and of inner loops.
TEST(LocalRendezvousTest, DeliveredLoopKeysAreForgotten) {
  LocalRendezvous rendezvous;
  constexpr uint64_t kIterations = 10'000;
  for (uint64_t i = 0; i < kIterations; ++i) {
    const RendezvousKey outer = {.edge = 1, .frame = 7, .iteration = i};
    const RendezvousKey inner = {.edge = 2, .frame = 100 + i};
    std::optional<Received> first, second;
    ASSERT_OK(rendezvous.Send(outer, Tensor::Scalar(1.0f), false));
    rendezvous.Receive(outer, Into(first));
    rendezvous.Receive(inner, Into(second));
    ASSERT_OK(rendezvous.Send(inner, Tensor::Scalar(1.0f), false));
    ASSERT_TRUE(first && second);
  }
  EXPECT_EQ(rendezvous.num_meetings(), 0u);
}

// A late second value for a key of a loop finds no receiver: it stays until the
// step ends. A second value while the first is still there is detected.
TEST(LocalRendezvousTest, SecondValueOfALoopKeyIsNotDelivered) {
  LocalRendezvous rendezvous;
  const RendezvousKey key = {.edge = 1, .frame = 7, .iteration = 3};
  std::optional<Received> first;
  ASSERT_OK(rendezvous.Send(key, Tensor::Scalar(1.0f), false));
  EXPECT_THAT(rendezvous.Send(key, Tensor::Scalar(2.0f), false),
              StatusIs(absl::StatusCode::kInternal, "iteration 3"));
  rendezvous.Receive(key, Into(first));
  EXPECT_EQ(first->tensor.scalar<float>(), 1);
  ASSERT_OK(rendezvous.Send(key, Tensor::Scalar(3.0f), false));
  EXPECT_EQ(rendezvous.num_meetings(), 1u);
  EXPECT_EQ(first->tensor.scalar<float>(), 1);
}

// Freeing large values takes long; the aborting thread must not be held up.
TEST(LocalRendezvousTest, AbortKeepsValuesUntilItsEnd) {
  const Tensor value = Tensor::Scalar(1.0f);
  {
    LocalRendezvous rendezvous;
    ASSERT_OK(rendezvous.Send({.edge = 1}, value, false));
    rendezvous.Abort(absl::AbortedError("enough"));
    EXPECT_FALSE(value.RefCountIsOne());
  }
  EXPECT_TRUE(value.RefCountIsOne());
}

TEST(LocalRendezvousTest, RefusedSendLeavesTheTensorToItsCaller) {
  LocalRendezvous rendezvous;
  Tensor first = Tensor::Scalar(1.0f);
  Tensor second = Tensor::Scalar(2.0f);
  EXPECT_EQ(rendezvous.SendOrKeep({.edge = 1}, first, false),
            LocalRendezvous::Sent::kYes);
  EXPECT_EQ(rendezvous.SendOrKeep({.edge = 1}, second, false),
            LocalRendezvous::Sent::kTwice);
  EXPECT_EQ(second.scalar<float>(), 2);
  rendezvous.Abort(absl::AbortedError("enough"));
  EXPECT_EQ(rendezvous.SendOrKeep({.edge = 2}, second, false),
            LocalRendezvous::Sent::kAborted);
  EXPECT_EQ(second.scalar<float>(), 2);
}

TEST(LocalRendezvousTest, AbortFailsPendingAndLaterCalls) {
  LocalRendezvous rendezvous;
  std::optional<Received> waiting, late;
  rendezvous.Receive({.edge = 1}, Into(waiting));
  ASSERT_OK(rendezvous.Send({.edge = 2}, Tensor::Scalar(1.0f), false));
  rendezvous.Abort(absl::AbortedError("first"));
  rendezvous.Abort(absl::CancelledError("second"));
  EXPECT_EQ(waiting->status, absl::AbortedError("first"));
  rendezvous.Receive({.edge = 2}, Into(late));
  EXPECT_EQ(late->status, absl::AbortedError("first"));
  EXPECT_EQ(rendezvous.Send({.edge = 3}, Tensor(), false),
            absl::AbortedError("first"));
}

TEST(LocalRendezvousTest, DestructorCancelsPendingReceives) {
  std::optional<Received> received;
  {
    LocalRendezvous rendezvous;
    rendezvous.Receive({.edge = 1}, Into(received));
  }
  EXPECT_EQ(received->status.code(), absl::StatusCode::kCancelled);
}

TEST(LocalRendezvousTest, ReceiverMayCallTheRendezvous) {
  LocalRendezvous rendezvous;
  std::optional<Received> received;
  rendezvous.Receive({.edge = 1}, [&](absl::Status, Tensor tensor, bool) {
    EXPECT_OK(rendezvous.Send({.edge = 2}, std::move(tensor), false));
  });
  rendezvous.Receive({.edge = 2}, Into(received));
  ASSERT_OK(rendezvous.Send({.edge = 1}, Tensor::Scalar(4.0f), false));
  EXPECT_EQ(received->tensor.scalar<float>(), 4);
}

// Senders, receivers and an abort at once: each receiver runs exactly once.
TEST(LocalRendezvousTest, EachReceiverRunsOnceInAnyOrder) {
  constexpr int kEdges = 200;
  for (int round = 0; round < 20; ++round) {
    LocalRendezvous rendezvous;
    std::vector<std::atomic<int>> runs(kEdges);
    std::thread sender([&] {
      for (uint64_t edge = 0; edge < kEdges; ++edge) {
        rendezvous.Send({.edge = edge}, Tensor::Scalar(1.0f), false)
            .IgnoreError();
      }
    });
    std::thread receiver([&] {
      for (uint64_t edge = 0; edge < kEdges; ++edge) {
        rendezvous.Receive({.edge = edge}, [&runs, edge](absl::Status status,
                                                         Tensor tensor, bool) {
          EXPECT_EQ(status.ok(), tensor.IsInitialized());
          ++runs[edge];
        });
      }
    });
    std::thread aborter([&] { rendezvous.Abort(absl::AbortedError("now")); });
    sender.join();
    receiver.join();
    aborter.join();
    for (auto& count : runs) EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace weft
