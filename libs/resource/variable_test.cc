#include "libs/resource/variable.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

template <typename T>
absl::Status AddOneTo(const Tensor& from, Tensor& to) {
  const absl::Span<const T> before = from.flat<T>();
  const absl::Span<T> after = to.mutable_flat<T>();
  for (size_t i = 0; i < before.size(); ++i) after[i] = before[i] + 1;
  return absl::OkStatus();
}

class VariableTest : public ::testing::Test {
 protected:
  absl::Status AddOne() {
    return variable_.Update(step_, HeapAllocator(), AddOneTo<float>);
  }
  absl::Status AddOneToRow(int64_t row) {
    return variable_.UpdateRows(
        step_, HeapAllocator(), [&](Variable::RowVisitor visit) { visit(row); },
        [&](Tensor& value) {
          value.mutable_flat<float>()[row] += 1;
          return absl::OkStatus();
        });
  }
  static const void* MemoryOf(const Variable& variable) {
    const void* memory = nullptr;
    EXPECT_OK(variable.ReadPart([&](const Tensor& value) {
      memory = value.data();
      return absl::OkStatus();
    }));
    return memory;
  }

  Cancellation step_;
  Variable variable_{"v", DT_FLOAT, {3}};
};

TEST_F(VariableTest, IsUninitializedUntilAssigned) {
  EXPECT_FALSE(variable_.IsInitialized());
  const auto uninitialized =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "Attempting to use uninitialized value v. Run its initializer "
               "first (ops::GlobalVariablesInitializer");
  EXPECT_THAT(variable_.Read(), uninitialized);
  EXPECT_THAT(variable_.Read(WhenLocked::kGiveUp), uninitialized);
  EXPECT_THAT(AddOne(), uninitialized);
  EXPECT_THAT(variable_.ReadPart([](const Tensor&) {
    ADD_FAILURE();
    return absl::OkStatus();
  }),
              uninitialized);
  EXPECT_EQ(variable_.version(), 0u);
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  EXPECT_TRUE(variable_.IsInitialized());
  EXPECT_EQ(variable_.version(), 1u);
}

TEST_F(VariableTest, MismatchedTypeIsRejected) {
  EXPECT_THAT(variable_.Assign(step_, Tensor::Scalar<int32_t>(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, "float and int32"));
}

TEST_F(VariableTest, UpdateIsInPlaceUnlessAReaderHoldsTheValue) {
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  const void* const first = MemoryOf(variable_);
  ASSERT_OK(AddOne());
  EXPECT_EQ(MemoryOf(variable_), first);
  ASSERT_OK_AND_ASSIGN(Tensor held, variable_.Read());
  ASSERT_OK(AddOne());
  const void* const second = MemoryOf(variable_);
  EXPECT_NE(second, first);
  EXPECT_EQ(held.flat<float>()[0], 2);
  ASSERT_OK(AddOne());
  EXPECT_EQ(MemoryOf(variable_), second);
  EXPECT_EQ(variable_.bytes_copied_on_write(), 0u);
  ASSERT_OK_AND_ASSIGN(Tensor now, variable_.Read());
  EXPECT_EQ(now.flat<float>()[0], 4);
  EXPECT_EQ(variable_.version(), 4u);
}

TEST_F(VariableTest, RowUpdateCopiesAHeldValue) {
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  ASSERT_OK(AddOneToRow(1));
  EXPECT_EQ(variable_.bytes_copied_on_write(), 0u);
  ASSERT_OK_AND_ASSIGN(Tensor held, variable_.Read());
  ASSERT_OK(AddOneToRow(1));
  ASSERT_OK(AddOneToRow(1));
  EXPECT_EQ(variable_.bytes_copied_on_write(), 12u);
  EXPECT_EQ(held.flat<float>()[1], 3);
  EXPECT_EQ(variable_.Read()->flat<float>()[1], 5);
}

// TellingAllocator calls a function when memory is allocated, which is when a
// copy starts.
class TellingAllocator : public Allocator {
 public:
  BufferPtr Allocate(size_t bytes) override {
    if (tell) std::exchange(tell, nullptr)();
    return HeapAllocator().Allocate(bytes);
  }
  std::function<void()> tell;
};

// The fixture has a table whose value is also held by a reader while one of its
// rows is updated.
class HeldTableTest : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 3, kRow = 1 << 18;  // 1 MiB each
  static constexpr uint64_t kBytes = 4 * kRows * kRow;

  void SetUp() override {
    ASSERT_OK(table_->Assign(step_, Full(1)));
    ASSERT_OK_AND_ASSIGN(held_, table_->Read());
  }
  static Tensor Full(float value) {
    Tensor full(DT_FLOAT, {kRows, kRow});
    auto elements = full.mutable_flat<float>();
    std::fill(elements.begin(), elements.end(), value);
    return full;
  }
  absl::Status AddOneToRow(int64_t row, Allocator& allocator,
                           WhenLocked when = WhenLocked::kWait) {
    Variable* const alone[] = {table_.get()};
    return Variable::UpdateAllRows(
        step_, allocator, alone,
        [&](Variable::RowVisitor visit) { visit(row); },
        [&](absl::Span<Tensor* const> values) {
          values[0]->mutable_flat<float>()[row * kRow] += 1;
          return absl::OkStatus();
        },
        when);
  }
  float First(int64_t row) const {
    return table_->Read()->flat<float>()[row * kRow];
  }

  Cancellation step_;
  TellingAllocator telling_;
  std::shared_ptr<Variable> table_ = std::make_shared<Variable>(
      "table", DT_FLOAT, PartialShape({kRows, kRow}));
  Tensor held_;
};

TEST_F(HeldTableTest, HeldValueIsCopiedWithoutTheLock) {
  bool was_told = false;
  telling_.tell = [&] {
    was_told = true;
    EXPECT_OK(table_->Read(WhenLocked::kGiveUp).status());
    EXPECT_OK(table_->Update(step_, HeapAllocator(), AddOneTo<float>,
                             WhenLocked::kGiveUp));
  };
  ASSERT_OK(AddOneToRow(1, telling_));
  EXPECT_TRUE(was_told);
  // The value was replaced during the copy, and nobody else holds the new
  // value. So the copy was dropped.
  EXPECT_EQ(table_->bytes_copied_on_write(), 0u);
  EXPECT_EQ(First(0), 2);
  EXPECT_EQ(First(1), 3);
  EXPECT_EQ(held_.flat<float>()[kRow], 1);
}

TEST_F(HeldTableTest, HeldValueIsCopiedOnceForManyRowWriters) {
  std::thread other;
  telling_.tell = [&] {
    other = std::thread([&] { EXPECT_OK(AddOneToRow(2, HeapAllocator())); });
  };
  ASSERT_OK(AddOneToRow(1, telling_));
  other.join();
  EXPECT_EQ(table_->bytes_copied_on_write(), kBytes);
  EXPECT_EQ(First(1), 2);
  EXPECT_EQ(First(2), 2);
  EXPECT_EQ(held_.flat<float>()[2 * kRow], 1);
}

// During each copy, another value is assigned, and a reader holds that one as
// well. This happens three times.
TEST_F(HeldTableTest, RowUpdateEndsDespiteConcurrentWrites) {
  std::vector<Tensor> held;
  std::function<void()> again = [&] {
    EXPECT_OK(table_->Assign(step_, Full(static_cast<float>(held.size() + 5))));
    held.push_back(*table_->Read());
    if (held.size() < 3) telling_.tell = again;
  };
  telling_.tell = again;
  ASSERT_OK(AddOneToRow(1, telling_));
  EXPECT_EQ(held.size(), 3u);
  EXPECT_EQ(table_->bytes_copied_on_write(), kBytes);  // of the last value
  EXPECT_EQ(First(0), 7);
  EXPECT_EQ(First(1), 8);
}

TEST_F(HeldTableTest, NonBlockingUpdateCopiesNoValue) {
  telling_.tell = [] { ADD_FAILURE(); };
  EXPECT_TRUE(IsGivenUp(AddOneToRow(1, telling_, WhenLocked::kGiveUp)));
  EXPECT_EQ(table_->version(), 1u);
  step_.Cancel(absl::AbortedError("enough"));
  EXPECT_THAT(AddOneToRow(1, telling_),
              StatusIs(absl::StatusCode::kAborted, "enough"));
}

TEST_F(HeldTableTest, OutOfMemoryKeepsTheValue) {
  class NoMemory : public Allocator {
    BufferPtr Allocate(size_t) override { return BufferPtr(); }
  };
  NoMemory none;
  EXPECT_THAT(AddOneToRow(1, none),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_OK(AddOneToRow(1, HeapAllocator()));  // the lock is free again
  EXPECT_EQ(First(1), 2);
}

// If an update of a held value fails, its new value is dropped, and the old
// value is unchanged.
TEST_F(VariableTest, FailedUpdateKeepsAHeldValue) {
  Variable other("w", DT_FLOAT, {1});
  ASSERT_OK(other.Assign(step_, Tensor::Vector<float>({7})));
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  ASSERT_OK_AND_ASSIGN(Tensor held, variable_.Read());
  ASSERT_OK_AND_ASSIGN(Tensor other_held, other.Read());
  const auto fail = [](const Tensor& from, Tensor& to) {
    AddOneTo<float>(from, to).IgnoreError();
    return absl::OutOfRangeError("too far");
  };
  const auto out_of_range = StatusIs(absl::StatusCode::kOutOfRange, "too far");
  EXPECT_THAT(variable_.Update(step_, HeapAllocator(), fail), out_of_range);
  Variable* const both[] = {&variable_, &other};
  EXPECT_THAT(Variable::UpdateAll(
                  step_, HeapAllocator(), both,
                  [&](absl::Span<const Variable::FromTo> values) {
                    EXPECT_OK(AddOneTo<float>(*values[0].from, *values[0].to));
                    return fail(*values[1].from, *values[1].to);
                  }),
              out_of_range);
  EXPECT_EQ(variable_.Read()->flat<float>()[0], 1);
  EXPECT_EQ(other.Read()->flat<float>()[0], 7);
}

// Only variables whose value is held by others get new memory.
TEST_F(VariableTest, UpdateAllWritesHeldValuesToNewMemory) {
  Variable other("w", DT_FLOAT, {1});
  ASSERT_OK(other.Assign(step_, Tensor::Vector<float>({7})));
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  ASSERT_OK_AND_ASSIGN(Tensor held, other.Read());
  const void* const memory = MemoryOf(variable_);
  Variable* const both[] = {&variable_, &other};
  ASSERT_OK(Variable::UpdateAll(
      step_, HeapAllocator(), both,
      [&](absl::Span<const Variable::FromTo> values) {
        EXPECT_EQ(values[0].from, values[0].to);
        EXPECT_NE(values[1].from->data(), values[1].to->data());
        EXPECT_EQ(values[1].to->shape(), TensorShape({1}));
        for (const auto& [from, to] : values) {
          EXPECT_OK(AddOneTo<float>(*from, *to));
        }
        return absl::OkStatus();
      }));
  EXPECT_EQ(MemoryOf(variable_), memory);
  EXPECT_EQ(variable_.Read()->flat<float>()[2], 4);
  EXPECT_EQ(other.Read()->flat<float>()[0], 8);
  EXPECT_EQ(held.flat<float>()[0], 7);
}

TEST_F(VariableTest, ReadersOfAPartForceNoCopy) {
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  float second = 0;
  ASSERT_OK(variable_.ReadPart([&](const Tensor& value) {
    second = value.flat<float>()[1];
    return absl::OkStatus();
  }));
  EXPECT_EQ(second, 2);
  ASSERT_OK(AddOne());
  EXPECT_EQ(variable_.bytes_copied_on_write(), 0u);
}

TEST_F(VariableTest, AbortedStepChangesNoState) {
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  step_.Cancel(absl::AbortedError("peer is gone"));
  const auto aborted = StatusIs(absl::StatusCode::kAborted, "peer is gone");
  EXPECT_THAT(variable_.Assign(step_, Tensor::Vector<float>({0, 0, 0})),
              aborted);
  EXPECT_THAT(AddOne(), aborted);
  Variable* all[] = {&variable_};
  const auto must_not_run = [](auto&&) {
    ADD_FAILURE();
    return absl::OkStatus();
  };
  EXPECT_THAT(Variable::UpdateAll(step_, HeapAllocator(), all, must_not_run),
              aborted);
  EXPECT_THAT(AddOneToRow(1), aborted);
  EXPECT_THAT(Variable::UpdateAllRows(
                  step_, HeapAllocator(), all, [](Variable::RowVisitor) {},
                  must_not_run),
              aborted);
  ASSERT_OK_AND_ASSIGN(Tensor value, variable_.Read());
  EXPECT_EQ(value.flat<float>()[0], 1);
  EXPECT_EQ(variable_.version(), 1u);
}

// The calls run on another thread, because this thread holds the lock.
TEST_F(VariableTest, NonBlockingCallsGiveUpOnALockedVariable) {
  constexpr auto kGiveUp = WhenLocked::kGiveUp;
  Variable other("w", DT_FLOAT, {1});
  ASSERT_OK(other.Assign(step_, Tensor::Vector<float>({7})));
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  const auto must_not_run = [](auto&&...) {
    ADD_FAILURE() << "without the lock";
    return absl::OkStatus();
  };
  const auto try_all = [&] {
    EXPECT_TRUE(variable_.IsInitialized());
    EXPECT_TRUE(IsGivenUp(variable_.Read(kGiveUp).status()));
    EXPECT_TRUE(IsGivenUp(variable_.ReadPart(must_not_run, kGiveUp)));
    Tensor value = Tensor::Vector<float>({4});
    EXPECT_TRUE(IsGivenUp(variable_.Assign(step_, &value, kGiveUp)));
    EXPECT_EQ(value.flat<float>()[0], 4);
    EXPECT_TRUE(IsGivenUp(
        variable_.Update(step_, HeapAllocator(), must_not_run, kGiveUp)));
    for (const bool first : {true, false}) {
      Variable* const both[] = {first ? &variable_ : &other,
                                first ? &other : &variable_};
      const absl::Status status = Variable::UpdateAll(
          step_, HeapAllocator(), both, must_not_run, kGiveUp);
      EXPECT_TRUE(IsGivenUp(status));
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, "v"));
      EXPECT_TRUE(IsGivenUp(Variable::UpdateAllRows(
          step_, HeapAllocator(), both, [](Variable::RowVisitor) {},
          must_not_run, kGiveUp)));
    }
    EXPECT_OK(other.Read(kGiveUp));  // it is not locked any more
  };
  ASSERT_OK(
      variable_.Update(step_, HeapAllocator(), [&](const Tensor&, Tensor&) {
        std::thread(try_all).join();
        return absl::OkStatus();
      }));
  EXPECT_EQ(variable_.version(), 2u);
  ASSERT_OK_AND_ASSIGN(Tensor value, variable_.Read(kGiveUp));
  EXPECT_EQ(value.flat<float>()[0], 1);
  EXPECT_FALSE(IsGivenUp(absl::UnavailableError("the peer is gone")));
}

TEST_F(VariableTest, UpdateAllKeepsTheRequestedOrder) {
  Variable other("w", DT_FLOAT, {1});
  ASSERT_OK(variable_.Assign(step_, Tensor::Vector<float>({1, 2, 3})));
  ASSERT_OK(other.Assign(step_, Tensor::Vector<float>({7})));
  for (bool swapped : {false, true}) {
    std::vector<Variable*> all = {&variable_, &other};
    if (swapped) std::swap(all[0], all[1]);
    ASSERT_OK(Variable::UpdateAll(
        step_, HeapAllocator(), all,
        [&](absl::Span<const Variable::FromTo> values) {
          EXPECT_EQ(values[0].from->num_elements(), swapped ? 1 : 3);
          return absl::OkStatus();
        }));
    ASSERT_OK(Variable::UpdateAllRows(
        step_, HeapAllocator(), all, [](Variable::RowVisitor) {},
        [&](absl::Span<Tensor* const> values) {
          EXPECT_EQ(values[0]->num_elements(), swapped ? 1 : 3);
          return absl::OkStatus();
        }));
  }
  Variable* twice[] = {&variable_, &variable_};
  const auto nothing = [](auto&&) { return absl::OkStatus(); };
  const auto given_twice =
      StatusIs(absl::StatusCode::kInvalidArgument, "twice");
  EXPECT_THAT(Variable::UpdateAll(step_, HeapAllocator(), twice, nothing),
              given_twice);
  EXPECT_THAT(
      Variable::UpdateAllRows(
          step_, HeapAllocator(), twice, [](Variable::RowVisitor) {}, nothing),
      given_twice);
}

// All elements of a value are equal, even when it is read during concurrent
// writes.
TEST(VariableStressTest, ReadsAreNeverTorn) {
  constexpr int kElements = 2000;
  constexpr int kRounds = 400;
  Cancellation step;
  Variable variable("v", DT_INT32, {kElements});
  ASSERT_OK(variable.Assign(step, Tensor(DT_INT32, {kElements})));
  auto check = [](const Tensor& value) {
    for (int32_t element : value.flat<int32_t>()) {
      if (element != value.flat<int32_t>()[0]) return false;
    }
    return true;
  };
  std::atomic<int> torn{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_OK(variable.Update(step, HeapAllocator(), AddOneTo<int32_t>));
      }
    });
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        if (!check(*variable.Read())) ++torn;
        auto tried = variable.Read(WhenLocked::kGiveUp);
        if (tried.ok() && !check(*tried)) ++torn;
      }
    });
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_OK(variable.ReadPart([&](const Tensor& value) {
          if (!check(value)) ++torn;
          return absl::OkStatus();
        }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  ASSERT_OK_AND_ASSIGN(Tensor value, variable.Read());
  EXPECT_EQ(value.flat<int32_t>()[0], 2 * kRounds);
}

// Writers of rows and of all elements run concurrently with readers that keep
// their values. No update may be lost and no value torn.
TEST(VariableStressTest, RowUpdatesOfHeldTablesAreNotLost) {
  constexpr int64_t kElements = 400'000;  // more than is copied under the lock
  constexpr int kRounds = 50;
  Cancellation step;
  Variable a("a", DT_INT32, {kElements}), b("b", DT_INT32, {kElements});
  for (Variable* v : {&a, &b}) {
    ASSERT_OK(v->Assign(step, Tensor(DT_INT32, {kElements})));
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers, writers;
  for (Variable* v : {&a, &b}) {
    readers.emplace_back([&, v] {
      while (!stop) {
        const Tensor held = *v->Read();
        const auto values = held.flat<int32_t>();
        EXPECT_EQ(values[0], values[kElements - 1]);
      }
    });
  }
  for (const bool swapped : {false, true}) {
    writers.emplace_back([&, swapped] {
      Variable* const both[] = {swapped ? &b : &a, swapped ? &a : &b};
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_OK(Variable::UpdateAllRows(
            step, HeapAllocator(), both, [](Variable::RowVisitor) {},
            [](absl::Span<Tensor* const> values) {
              for (Tensor* value : values) {
                EXPECT_OK(AddOneTo<int32_t>(*value, *value));
              }
              return absl::OkStatus();
            }));
      }
    });
  }
  writers.emplace_back([&] {
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_OK(a.Update(step, HeapAllocator(), AddOneTo<int32_t>));
    }
  });
  for (std::thread& writer : writers) writer.join();
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(a.Read()->flat<int32_t>()[0], 3 * kRounds);
  EXPECT_EQ(b.Read()->flat<int32_t>()[0], 2 * kRounds);
}

// Locks of several variables are always taken in order of address, so calls
// with different orders do not deadlock.
TEST(VariableStressTest, UpdatesOfSeveralVariablesDoNotDeadlock) {
  Cancellation step;
  Variable a("a", DT_INT32, {}), b("b", DT_INT32, {}), c("c", DT_INT32, {});
  for (Variable* v : {&a, &b, &c}) {
    ASSERT_OK(v->Assign(step, Tensor::Scalar<int32_t>(0)));
  }
  const std::vector<std::vector<Variable*>> orders = {
      {&a, &b, &c}, {&c, &b, &a}, {&b, &a, &c}, {&c, &a, &b}};
  std::vector<std::thread> threads;
  for (const auto& order : orders) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        EXPECT_OK(
            Variable::UpdateAll(step, HeapAllocator(), order,
                                [](absl::Span<const Variable::FromTo> values) {
                                  for (const auto& [from, to] : values)
                                    EXPECT_OK(AddOneTo<int32_t>(*from, *to));
                                  return absl::OkStatus();
                                }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Variable* v : {&a, &b, &c})
    EXPECT_EQ(v->Read()->scalar<int32_t>(), 2000);
}

// The fixture records the results of several waits, in order.
class VariableWaitTest : public ::testing::Test {
 protected:
  Waiters::Done Record(int number) {
    return [this, number](const absl::Status& status) {
      told_.emplace_back(number, status.code());
    };
  }
  using Told = std::vector<std::pair<int, absl::StatusCode>>;

  Told told_;
  Cancellation step_;
};

TEST_F(VariableWaitTest, FirstValueEndsAllWaits) {
  Variable variable("v", DT_FLOAT, PartialShape());
  variable.WhenInitialized(step_, Record(1));
  variable.WhenInitialized(step_, Record(2));
  EXPECT_EQ(told_, Told());
  ASSERT_OK(variable.Assign(step_, Tensor::Scalar(1.0f)));
  const Told both = {{1, absl::StatusCode::kOk}, {2, absl::StatusCode::kOk}};
  EXPECT_EQ(told_, both);
  ASSERT_OK(variable.Assign(step_, Tensor::Scalar(2.0f)));
  EXPECT_EQ(told_, both);
  variable.WhenInitialized(step_, Record(3));
  EXPECT_EQ(told_.size(), 3u);
  EXPECT_EQ(told_.back(), Told::value_type(3, absl::StatusCode::kOk));
}

TEST_F(VariableWaitTest, CancelledStepEndsOnlyItsWait) {
  Variable variable("v", DT_FLOAT, PartialShape());
  Cancellation cancelled;
  variable.WhenInitialized(cancelled, Record(1));
  variable.WhenInitialized(step_, Record(2));
  cancelled.Cancel(absl::CancelledError("enough"));
  EXPECT_EQ(told_, (Told{{1, absl::StatusCode::kCancelled}}));
  // A wait whose step is already cancelled ends at once.
  variable.WhenInitialized(cancelled, Record(3));
  EXPECT_EQ(told_.size(), 2u);
  ASSERT_OK(variable.Assign(step_, Tensor::Scalar(1.0f)));
  EXPECT_EQ(told_, (Told{{1, absl::StatusCode::kCancelled},
                         {3, absl::StatusCode::kCancelled},
                         {2, absl::StatusCode::kOk}}));
}

// The assignment by an aborted step sets no value, so waits continue.
TEST_F(VariableWaitTest, AbortedAssignmentEndsNoWait) {
  Variable variable("v", DT_FLOAT, PartialShape());
  variable.WhenInitialized(step_, Record(1));
  Cancellation aborted;
  aborted.Cancel(absl::AbortedError("gone"));
  EXPECT_FALSE(variable.Assign(aborted, Tensor::Scalar(1.0f)).ok());
  EXPECT_EQ(told_, Told());
}

TEST_F(VariableWaitTest, DestroyedVariableEndsItsWaits) {
  {
    Variable variable("v", DT_FLOAT, PartialShape());
    variable.WhenInitialized(step_, Record(1));
  }
  EXPECT_EQ(told_, (Told{{1, absl::StatusCode::kAborted}}));
  step_.Cancel(absl::CancelledError("later"));  // its wait is over
  EXPECT_EQ(told_.size(), 1u);
}

// Several threads wait while another thread assigns the first value. Every wait
// must be notified.
TEST_F(VariableWaitTest, ConcurrentWaitsAreAllNotified) {
  for (int round = 0; round < 200; ++round) {
    Variable variable("v", DT_FLOAT, PartialShape());
    std::atomic<int> told{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        variable.WhenInitialized(step_, [&](const absl::Status&) { ++told; });
      });
    }
    ASSERT_OK(variable.Assign(step_, Tensor::Scalar(1.0f)));
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(told.load(), 2);
  }
}

}  // namespace
}  // namespace weft
