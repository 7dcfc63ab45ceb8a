#include "libs/resource/barrier.h"

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Strings = std::vector<std::string>;
using Answer = absl::StatusOr<Strings>;

class BarrierTest : public testing::Test {
 protected:
  absl::Status Insert(size_t component, const Strings& keys) {
    std::vector<Tensor> values;
    for (const std::string& key : keys) values.push_back(Value(component, key));
    return barrier_->Insert(step_, keys, component, std::move(values));
  }
  // Starts a Take. The result is set to the keys of the taken elements when the
  // call completes.
  std::shared_ptr<std::optional<Answer>> Begin(Cancellation& step,
                                               int64_t count,
                                               bool or_fewer = false) {
    auto answer = std::make_shared<std::optional<Answer>>();
    barrier_->Take(step, count, or_fewer, [answer](auto elements) {
      ASSERT_FALSE(answer->has_value());
      *answer = Keys(elements);
    });
    return answer;
  }
  Answer Take(int64_t count, bool or_fewer = false) {
    const auto answer = Begin(step_, count, or_fewer);
    if (answer->has_value()) return **answer;
    return absl::DeadlineExceededError("it waits");
  }

  static Tensor Value(size_t component, const std::string& key) {
    return component == 0 ? Tensor::Scalar(static_cast<float>(key[0]))
                          : Tensor::Vector<std::string>({key, key});
  }
  static Answer Keys(
      const absl::StatusOr<std::vector<QueueElement>>& elements) {
    if (!elements.ok()) return elements.status();
    Strings keys;
    for (const QueueElement& element : *elements) {
      keys.push_back(element[1].scalar<std::string>());
      EXPECT_TRUE(SameBits(element[2], Value(0, keys.back())));
      EXPECT_TRUE(SameBits(element[3], Value(1, keys.back())));
    }
    return keys;
  }

  Cancellation step_;
  std::shared_ptr<Barrier> barrier_ = std::make_shared<Barrier>(
      "b", BarrierOptions{.types = {DT_FLOAT, DT_STRING},
                          .shapes = {PartialShape::Scalar(), {2}}});
};

TEST_F(BarrierTest, KeysLeaveInInsertionOrder) {
  ASSERT_OK(Insert(0, {"a", "b"}));
  ASSERT_OK(Insert(1, {"c", "b"}));
  EXPECT_EQ(barrier_->ready_size(), 1);
  EXPECT_EQ(barrier_->incomplete_size(), 2);
  ASSERT_OK(Insert(0, {"c"}));
  ASSERT_OK(Insert(1, {"a"}));
  // One call inserted "a" and "b" first. Of these two, "b" was completed first.
  EXPECT_THAT(*Take(3), ElementsAre("b", "a", "c"));
  EXPECT_EQ(barrier_->ready_size(), 0);
  EXPECT_THAT(*Take(0), IsEmpty());
}

TEST_F(BarrierTest, InsertionIsAtomic) {
  ASSERT_OK(Insert(0, {"b"}));
  EXPECT_THAT(
      Insert(0, {"a", "b"}),
      StatusIs(kInvalid,
               "Key b already has a value for component 0 in barrier b"));
  EXPECT_THAT(Insert(1, {"a", "a"}), StatusIs(kInvalid, "Key a already has"));
  EXPECT_THAT(barrier_->Insert(step_, Strings{"a", "c"}, 0,
                               {Value(0, "a"), Value(1, "c")}),
              StatusIs(kInvalid, "is of type float, not string"));
  EXPECT_THAT(barrier_->Insert(step_, Strings{"a"}, 1,
                               {Tensor::Vector<std::string>({"a"})}),
              StatusIs(kInvalid, "Expected [2], got [1]"));
  EXPECT_THAT(
      barrier_->Insert(step_, Strings{"a"}, 1, {Tensor(DT_STRING, {0})}),
      StatusIs(kInvalid, "no elements"));
  EXPECT_THAT(Insert(2, {"a"}), StatusIs(kInvalid, "out of range 2"));
  EXPECT_EQ(barrier_->incomplete_size(), 1);
  Cancellation cancelled;
  cancelled.Cancel(absl::AbortedError("over"));
  EXPECT_THAT(barrier_->Insert(cancelled, Strings{"z"}, 0, {Value(0, "z")}),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(barrier_->incomplete_size(), 1);
}

TEST_F(BarrierTest, CompletedKeyMayBeInsertedAgain) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(Insert(0, {"a"}));
    ASSERT_OK(Insert(1, {"a"}));
  }
  EXPECT_THAT(*Take(2), ElementsAre("a", "a"));
}

TEST_F(BarrierTest, TakeWaitsForElementsOrCancellation) {
  Cancellation step;
  const auto cancelled = Begin(step, 1);
  const auto waits = Begin(step_, 2);
  step.Cancel(absl::CancelledError("gone"));
  ASSERT_TRUE(cancelled->has_value());
  EXPECT_THAT(**cancelled, StatusIs(absl::StatusCode::kCancelled, "gone"));
  ASSERT_OK(Insert(0, {"a", "b"}));
  ASSERT_OK(Insert(1, {"a"}));
  EXPECT_FALSE(waits->has_value());
  ASSERT_OK(Insert(1, {"b"}));
  ASSERT_TRUE(waits->has_value());
  EXPECT_THAT(***waits, ElementsAre("a", "b"));
}

TEST_F(BarrierTest, ClosedBarrierAcceptsOnlyKnownKeys) {
  ASSERT_OK(Insert(0, {"a", "b"}));
  ASSERT_OK(barrier_->Close(step_, false));
  EXPECT_THAT(
      barrier_->Close(step_, false),
      StatusIs(absl::StatusCode::kCancelled, "Barrier 'b' is already closed."));
  EXPECT_THAT(Insert(1, {"a", "c"}),
              StatusIs(absl::StatusCode::kCancelled,
                       "a brand new key: c.  Pending enqueues cancelled: 0.  "
                       "Insertion index: 1.  Number of incomplete keys: 2."));
  EXPECT_THAT(Take(3), StatusIs(absl::StatusCode::kOutOfRange,
                                "(requested 3, total size 2)"));
  EXPECT_THAT(Take(2, true), StatusIs(absl::StatusCode::kOutOfRange,
                                      "(requested 0, total size 0)"));
  ASSERT_OK(Insert(1, {"a"}));
  EXPECT_THAT(*Take(2, true), ElementsAre("a"));
  const auto waits = Begin(step_, 1);
  ASSERT_OK(Insert(1, {"b"}));
  EXPECT_THAT(***waits, ElementsAre("b"));
  EXPECT_THAT(Insert(0, {"d"}), StatusIs(absl::StatusCode::kCancelled,
                                         "Number of new insertions: 1"));
}

// After Close, a waiting Take must end if the elements that it needs cannot
// arrive any more.
TEST_F(BarrierTest, CloseEndsWaitingTakes) {
  ASSERT_OK(Insert(0, {"a", "b"}));
  const auto two = Begin(step_, 3);
  ASSERT_OK(barrier_->Close(step_, false));
  EXPECT_FALSE(two->has_value());
  ASSERT_OK(Insert(1, {"a"}));
  EXPECT_FALSE(two->has_value());
  ASSERT_OK(Insert(1, {"b"}));
  ASSERT_TRUE(two->has_value()) << "there is nothing left that may come";
  EXPECT_THAT(**two, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(*Take(2), ElementsAre("a", "b"));
}

TEST_F(BarrierTest, CancellingCloseDropsIncompleteElements) {
  ASSERT_OK(Insert(0, {"a"}));
  ASSERT_OK(barrier_->Close(step_, false));
  const auto waits = Begin(step_, 1);
  ASSERT_OK(barrier_->Close(step_, true));
  EXPECT_EQ(barrier_->incomplete_size(), 0);
  ASSERT_TRUE(waits->has_value());
  EXPECT_THAT(**waits, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(Insert(1, {"a"}), StatusIs(absl::StatusCode::kCancelled,
                                         "Pending enqueues cancelled: 1"));
}

// Two threads insert components, and a third thread closes the barrier in
// between. Elements that were inserted can still be taken.
TEST_F(BarrierTest, ConcurrentCloseKeepsInsertedElements) {
  for (int round = 0; round < 200; ++round) {
    const auto barrier = std::make_shared<Barrier>("b", barrier_->options());
    const Strings keys = {"a", "b", "c"};
    ASSERT_OK(barrier->Insert(step_, keys, 0,
                              {Value(0, "a"), Value(0, "b"), Value(0, "c")}));
    std::thread inserts([&] {
      for (const std::string& key : keys) {
        EXPECT_OK(barrier->Insert(step_, Strings{key}, 1, {Value(1, key)}));
      }
    });
    std::thread closes([&] { EXPECT_OK(barrier->Close(step_, false)); });
    inserts.join();
    closes.join();
    std::optional<Answer> answer;
    barrier->Take(step_, 3, false,
                  [&](auto elements) { answer = Keys(elements); });
    ASSERT_TRUE(answer.has_value());
    EXPECT_THAT(**answer, ElementsAre("a", "b", "c"));
    barrier->Take(step_, 1, false,
                  [&](auto elements) { answer = Keys(elements); });
    EXPECT_THAT(*answer, StatusIs(absl::StatusCode::kOutOfRange));
  }
}

// Take is called while the last element of a closed barrier moves from the
// incomplete elements to the queue of complete ones.
TEST_F(BarrierTest, TakeWaitsForAnElementBeingCompleted) {
  for (int round = 0; round < 1000; ++round) {
    const auto barrier = std::make_shared<Barrier>("b", barrier_->options());
    ASSERT_OK(barrier->Insert(step_, Strings{"a"}, 0, {Value(0, "a")}));
    ASSERT_OK(barrier->Close(step_, false));
    std::atomic<bool> begun = false;
    std::thread inserts([&] {
      begun = true;
      EXPECT_OK(barrier->Insert(step_, Strings{"a"}, 1, {Value(1, "a")}));
    });
    while (!begun) std::this_thread::yield();
    std::optional<Answer> answer;
    barrier->Take(step_, 1, false,
                  [&](auto elements) { answer = Keys(elements); });
    inserts.join();
    ASSERT_TRUE(answer.has_value());
    ASSERT_OK(*answer);
  }
}

TEST_F(BarrierTest, SharedBarrierMustMatchTheRequest) {
  BarrierOptions wanted = barrier_->options();
  EXPECT_OK(barrier_->CheckShared(wanted));
  wanted.shapes[1] = {3};
  EXPECT_THAT(barrier_->CheckShared(wanted),
              StatusIs(kInvalid, "component shapes [],[2] but requested"));
  wanted.types[0] = DT_INT32;
  EXPECT_THAT(barrier_->CheckShared(wanted),
              StatusIs(kInvalid, "component types float, string but"));
}

}  // namespace
}  // namespace weft
