#include "libs/resource/queue.h"

#include <optional>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr auto kCancelled = absl::StatusCode::kCancelled;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;

QueueElement Number(int value) { return {Tensor::Scalar(value)}; }

std::vector<QueueElement> Numbers(std::initializer_list<int> values) {
  std::vector<QueueElement> elements;
  for (int value : values) elements.push_back(Number(value));
  return elements;
}

// The result of a call; empty until the call has completed.
using Answer = std::optional<absl::StatusOr<std::vector<int>>>;

class QueueTest : public testing::Test {
 protected:
  void Make(int64_t capacity, int64_t min_after_dequeue = 0,
            std::unique_ptr<QueueStore> store = NewFifoStore()) {
    queue_ = std::make_shared<Queue>(
        "q",
        QueueOptions{.kind = "FIFOQueue",
                     .types = {DT_INT32},
                     .shapes = {PartialShape::Scalar()},
                     .capacity = capacity,
                     .min_after_dequeue = min_after_dequeue},
        std::move(store));
  }

  Answer* Enqueue(std::initializer_list<int> values) {
    return Enqueue(step_, values);
  }
  Answer* Enqueue(Cancellation& step, std::initializer_list<int> values) {
    Answer* answer = NewAnswer();
    queue_->Enqueue(step, Numbers(values), Reporting(answer));
    return answer;
  }
  Answer* Dequeue(int64_t count, bool or_fewer = false) {
    return Dequeue(step_, count, or_fewer);
  }
  Answer* Dequeue(Cancellation& step, int64_t count, bool or_fewer = false) {
    Answer* answer = NewAnswer();
    queue_->Dequeue(step, count, or_fewer,
                    [answer](absl::StatusOr<std::vector<QueueElement>> got) {
                      ASSERT_FALSE(answer->has_value());
                      *answer = ToInts(got);
                    });
    return answer;
  }
  Answer* Close(bool cancel_pending_enqueues = false) {
    Answer* answer = NewAnswer();
    queue_->Close(step_, cancel_pending_enqueues, Reporting(answer));
    return answer;
  }

  static absl::StatusOr<std::vector<int>> ToInts(
      const absl::StatusOr<std::vector<QueueElement>>& elements) {
    if (!elements.ok()) return elements.status();
    std::vector<int> values;
    for (const auto& element : *elements) {
      values.push_back(element[0].scalar<int32_t>());
    }
    return values;
  }
  static Queue::Done Reporting(Answer* answer) {
    return [answer](const absl::Status& status) {
      ASSERT_FALSE(answer->has_value());
      *answer = status.ok()
                    ? absl::StatusOr<std::vector<int>>(std::vector<int>())
                    : status;
    };
  }
  Answer* NewAnswer() {
    answers_.push_back(std::make_unique<Answer>());
    return answers_.back().get();
  }

  std::shared_ptr<Queue> queue_;
  Cancellation step_;
  std::vector<std::unique_ptr<Answer>> answers_;
};

using Ints = std::vector<int>;

void ExpectGot(const Answer* answer, const Ints& values) {
  ASSERT_TRUE(answer->has_value()) << "still waits";
  ASSERT_OK(answer->value());
  EXPECT_EQ(*answer->value(), values);
}

void ExpectError(const Answer* answer, absl::StatusCode code,
                 const std::string& text) {
  ASSERT_TRUE(answer->has_value()) << "still waits";
  EXPECT_THAT(answer->value().status(), StatusIs(code, text));
}

TEST_F(QueueTest, ElementsLeaveInInsertionOrder) {
  Make(10);
  ExpectGot(Enqueue({1}), {});
  ExpectGot(Enqueue({2, 3}), {});
  EXPECT_EQ(queue_->size(), 3);
  ExpectGot(Dequeue(1), {1});
  ExpectGot(Dequeue(2), {2, 3});
  EXPECT_EQ(queue_->size(), 0);
}

TEST_F(QueueTest, WaitersAreServedInFifoOrder) {
  Make(10);
  Answer* first = Dequeue(2);
  Answer* second = Dequeue(1);
  Enqueue({1});
  EXPECT_FALSE(first->has_value());
  EXPECT_FALSE(second->has_value()) << "overtook";
  Enqueue({2, 3});
  ExpectGot(first, {1, 2});
  ExpectGot(second, {3});
}

TEST_F(QueueTest, LargeEnqueueContinuesAsSpaceFrees) {
  Make(2);
  Answer* added = Enqueue({1, 2, 3, 4, 5});
  EXPECT_FALSE(added->has_value());
  EXPECT_EQ(queue_->size(), 2);
  ExpectGot(Dequeue(1), {1});
  // This dequeue takes more elements than the queue can hold at once.
  ExpectGot(Dequeue(4), {2, 3, 4, 5});
  ExpectGot(added, {});
}

TEST_F(QueueTest, CancelledDequeueKeepsTheElements) {
  Make(10);
  Cancellation other;
  Answer* cancelled = Dequeue(other, 3);
  Answer* next = Dequeue(2);
  Enqueue({1, 2});
  EXPECT_FALSE(cancelled->has_value());
  other.Cancel(absl::DeadlineExceededError("late"));
  ExpectError(cancelled, absl::StatusCode::kDeadlineExceeded, "late");
  ExpectGot(next, {1, 2});
  Enqueue({3});
  ExpectError(Dequeue(other, 1), absl::StatusCode::kDeadlineExceeded, "late");
  EXPECT_EQ(queue_->size(), 1);
}

TEST_F(QueueTest, CancelledEnqueueAddsNoFurtherElements) {
  Make(1);
  Enqueue({1});
  Cancellation other;
  Answer* cancelled = Enqueue(other, {2});
  Answer* next = Enqueue({3});
  other.Cancel(absl::AbortedError("gone"));
  ExpectError(cancelled, absl::StatusCode::kAborted, "gone");
  ExpectGot(Dequeue(1), {1});
  ExpectGot(next, {});
  ExpectGot(Dequeue(1), {3});
}

TEST_F(QueueTest, ClosedQueueReturnsItsElements) {
  Make(10);
  Enqueue({1, 2, 3});
  ExpectGot(Close(), {});
  EXPECT_TRUE(queue_->is_closed());
  ExpectError(Enqueue({4}), kCancelled, "FIFOQueue 'q' is closed.");
  ExpectError(Close(), kCancelled, "Queue 'q' is already closed.");
  ExpectGot(Dequeue(1), {1});
  ExpectError(Dequeue(3), kOutOfRange,
              "FIFOQueue 'q' is closed and has insufficient elements "
              "(requested 3, current size 2)");
  ExpectGot(Dequeue(3, /*or_fewer=*/true), {2, 3});
  ExpectError(Dequeue(1, /*or_fewer=*/true), kOutOfRange,
              "FIFOQueue 'q' is closed and has insufficient elements "
              "(requested 1, current size 0)");
}

TEST_F(QueueTest, CloseEndsWaitingDequeues) {
  Make(10);
  Answer* many = Dequeue(3);
  Answer* fewer = Dequeue(3, /*or_fewer=*/true);
  Enqueue({1});
  Close();
  ExpectError(many, kOutOfRange,
              "FIFOQueue 'q' is closed and has insufficient elements "
              "(requested 3, current size 1)");
  ExpectGot(fewer, {1});
}

TEST_F(QueueTest, CloseWaitsForEnqueuesUnlessCancelling) {
  Make(1);
  Enqueue({1});
  Answer* pending = Enqueue({2});
  Answer* close = Close();
  EXPECT_FALSE(close->has_value());
  ExpectGot(Dequeue(1), {1});
  ExpectGot(pending, {});
  ExpectGot(close, {});

  Make(1);
  Enqueue({1});
  pending = Enqueue({2});
  ExpectGot(Close(/*cancel_pending_enqueues=*/true), {});
  ExpectError(pending, kCancelled, "Enqueue operation was cancelled");
  ExpectGot(Dequeue(1), {1});
}

TEST_F(QueueTest, MinAfterDequeueAppliesUntilClosed) {
  Make(10, /*min_after_dequeue=*/2);
  Enqueue({1, 2, 3});
  ExpectGot(Dequeue(1), {1});
  Answer* waits = Dequeue(1);
  EXPECT_FALSE(waits->has_value());
  Close();
  ExpectGot(waits, {2});
}

TEST_F(QueueTest, RandomStoreDrawsAnyElement) {
  uint32_t drawn[] = {1, 0, 0};
  int next = 0;
  Make(10, 0, NewRandomStore([&] { return drawn[next++]; }));
  Enqueue({1, 2, 3});
  ExpectGot(Dequeue(3), {2, 1, 3});
}

TEST_F(QueueTest, SmallestPriorityFirstAndTiesInOrder) {
  auto store = NewPriorityStore();
  const std::pair<int64_t, int> added[] = {{3, 1}, {-1, 2}, {3, 3}, {0, 4}};
  for (const auto& [priority, value] : added) {
    store->Add({Tensor::Scalar(priority), Tensor::Scalar(value)});
  }
  std::vector<QueueElement> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(store->Take());
  store->GiveBack(std::move(taken));
  std::vector<int> values;
  while (store->size() > 0) {
    values.push_back(store->Take()[1].scalar<int32_t>());
  }
  EXPECT_EQ(values, Ints({2, 4, 1, 3}));
}

TEST_F(QueueTest, RejectsMismatchedTuples) {
  Make(10);
  const Tensor number = Tensor::Scalar(1);
  EXPECT_THAT(queue_->Check({number, number}, false),
              StatusIs(kInvalid,
                       "Wrong number of components in tuple. "
                       "Expected 1, got 2"));
  EXPECT_THAT(queue_->Check({Tensor::Scalar(1.0f)}, false),
              StatusIs(kInvalid,
                       "Type mismatch in tuple component 0. "
                       "Expected int32, got float"));
  EXPECT_THAT(queue_->Check({Tensor::Vector({1})}, false),
              StatusIs(kInvalid,
                       "Shape mismatch in tuple component 0. "
                       "Expected [], got [1]"));
  EXPECT_OK(queue_->Check({Tensor::Vector({1, 2})}, true));
  EXPECT_THAT(queue_->Check({number}, true), StatusIs(kInvalid));
  QueueOptions wanted = queue_->options();
  EXPECT_OK(queue_->CheckShared(wanted));
  wanted.capacity = 5;
  EXPECT_THAT(queue_->CheckShared(wanted),
              StatusIs(kInvalid,
                       "Shared queue 'q' has capacity 10 but "
                       "requested capacity was 5."));
}

// Every element is dequeued exactly once, even if calls are cancelled
// concurrently.
TEST_F(QueueTest, ConcurrentCallsLoseNoElement) {
  Make(3);
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  constexpr int kElements = 2000;
  std::thread producer([&] {
    for (int i = 0; i < kElements; ++i) {
      queue_->Enqueue(step_, {Number(i)}, [](const absl::Status&) {});
    }
  });
  absl::Mutex mutex;
  std::vector<int> counts(kElements);
  int total = 0;
  const auto count = [&](absl::StatusOr<std::vector<QueueElement>> got) {
    if (!got.ok()) return;
    absl::MutexLock lock(&mutex);
    for (const auto& element : *got) {
      ++counts[element[0].scalar<int32_t>()];
      ++total;
    }
  };
  std::vector<std::thread> consumers;
  for (int t = 0; t < 4; ++t) {
    consumers.emplace_back([&] {
      bool more = true;
      while (more) {
        Cancellation step;
        std::unique_ptr<Event> done = scheduler->NewEvent();
        queue_->Dequeue(step, 3, false, [&](auto got) {
          count(std::move(got));
          done->Set();
        });
        step.Cancel(absl::CancelledError("enough"));
        EXPECT_TRUE(done->WaitUntil(clock.Now() + absl::Minutes(1)));
        absl::MutexLock lock(&mutex);
        more = total < kElements - 3;
      }
    });
  }
  producer.join();
  for (std::thread& consumer : consumers) consumer.join();
  Close();
  queue_->Dequeue(step_, 10, true, count);
  EXPECT_EQ(total, kElements);
  EXPECT_EQ(counts, std::vector<int>(kElements, 1));
}

// The container of the queue is reset or its node is destroyed, so that nobody
// can add elements any more. The cancellation of the step can still end the
// waiting call.
TEST_F(QueueTest, WaitingCallKeepsItsQueue) {
  Make(1);
  Answer* dequeue = Dequeue(2);
  const std::weak_ptr<Queue> queue = queue_;
  queue_.reset();
  EXPECT_FALSE(queue.expired());
  step_.Cancel(absl::CancelledError("the step is over"));
  ASSERT_TRUE(dequeue->has_value());
  EXPECT_EQ((*dequeue)->status(), absl::CancelledError("the step is over"));
  EXPECT_TRUE(queue.expired());
}

}  // namespace
}  // namespace weft
