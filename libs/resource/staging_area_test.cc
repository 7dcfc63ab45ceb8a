#include "libs/resource/staging_area.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

constexpr auto kCancelled = absl::StatusCode::kCancelled;

// The result of a call; empty until the call has completed.
template <typename T>
using Pending = std::shared_ptr<std::optional<T>>;

template <typename T>
Pending<T> NewPending() {
  return std::make_shared<std::optional<T>>();
}

StagedTuple Numbers(std::initializer_list<int> values) {
  StagedTuple tuple;
  for (const int value : values) tuple.push_back(Tensor::Scalar(value));
  return tuple;
}

absl::StatusOr<std::vector<int>> ToInts(
    const absl::StatusOr<StagedTuple>& tuple) {
  if (!tuple.ok()) return tuple.status();
  std::vector<int> values;
  for (const Tensor& tensor : *tuple)
    values.push_back(tensor.scalar<int32_t>());
  return values;
}

using Ints = absl::StatusOr<std::vector<int>>;

class StagingAreaTest : public testing::Test {
 protected:
  void Make(const StagingLimits& limits) {
    area_ = std::make_shared<StagingArea>(limits);
  }
  Pending<absl::Status> Put(Cancellation& step,
                            std::initializer_list<int> values) {
    auto answer = NewPending<absl::Status>();
    area_->Put(step, Numbers(values),
               [answer](const absl::Status& status) { *answer = status; });
    return answer;
  }
  Pending<absl::Status> Put(std::initializer_list<int> values) {
    return Put(step_, values);
  }
  Pending<Ints> Take(Cancellation& step, size_t count) {
    auto answer = NewPending<Ints>();
    area_->Take(step, DataTypeVector(count, DT_INT32),
                [answer](auto tuple) { *answer = ToInts(tuple); });
    return answer;
  }
  Pending<Ints> Take(size_t count = 1) { return Take(step_, count); }
  Pending<Ints> Peek(int64_t index) {
    auto answer = NewPending<Ints>();
    area_->Peek(step_, index, {DT_INT32},
                [answer](auto tuple) { *answer = ToInts(tuple); });
    return answer;
  }

  Cancellation step_;
  std::shared_ptr<StagingArea> area_ =
      std::make_shared<StagingArea>(StagingLimits{});
};

TEST_F(StagingAreaTest, TuplesLeaveInInsertionOrder) {
  EXPECT_OK(**Put({1}));
  EXPECT_OK(**Put({2}));
  EXPECT_THAT(***Peek(1), ElementsAre(2));
  EXPECT_EQ(area_->size(), 2);
  EXPECT_THAT(***Take(), ElementsAre(1));
  EXPECT_THAT(***Take(), ElementsAre(2));
}

TEST_F(StagingAreaTest, TakeAndPeekWaitForATuple) {
  const auto third = Peek(1);
  const auto first = Take();
  Cancellation gone;
  const auto cancelled = Take(gone, 1);
  const auto second = Take();
  gone.Cancel(absl::CancelledError("gone"));
  EXPECT_THAT(**cancelled, StatusIs(kCancelled, "gone"));
  EXPECT_OK(**Put({1}));
  EXPECT_THAT(***first, ElementsAre(1));
  EXPECT_FALSE(second->has_value());
  EXPECT_OK(**Put({2}));
  EXPECT_THAT(***second, ElementsAre(2));
  EXPECT_OK(**Put({3}));
  EXPECT_FALSE(third->has_value());
  EXPECT_OK(**Put({4}));
  EXPECT_THAT(***third, ElementsAre(4));
}

TEST_F(StagingAreaTest, PutsWaitForCapacityInOrder) {
  Make({.capacity = 2});
  Put({1});
  Put({2});
  Cancellation gone;
  const auto cancelled = Put(gone, {3});
  const auto fourth = Put({4});
  const auto fifth = Put({5});
  gone.Cancel(absl::CancelledError("gone"));
  EXPECT_THAT(**cancelled, StatusIs(kCancelled));
  EXPECT_THAT(***Take(), ElementsAre(1));
  EXPECT_OK(**fourth);
  EXPECT_FALSE(fifth->has_value());
  EXPECT_THAT(***Take(), ElementsAre(2));
  EXPECT_OK(**fifth);
  EXPECT_THAT(***Take(), ElementsAre(4));
  EXPECT_THAT(***Take(), ElementsAre(5));
}

TEST_F(StagingAreaTest, BytesAreBounded) {
  Make({.memory_limit = 12});
  EXPECT_THAT(**Put({1, 2, 3, 4}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "combined size of '16' bytes into Staging Area with a "
                       "memory limit of '12'."));
  EXPECT_OK(**Put({1, 2}));
  const auto waits = Put({3, 4});
  EXPECT_FALSE(waits->has_value());
  EXPECT_OK(**Take(2));
  EXPECT_OK(**waits);
  auto cleared = NewPending<absl::Status>();
  area_->Clear(step_, [=](const absl::Status& status) { *cleared = status; });
  EXPECT_OK(**cleared);
  EXPECT_EQ(area_->size(), 0);
  EXPECT_OK(**Put({1, 2, 3}));
}

// The memory limit also counts the contents of strings.
TEST_F(StagingAreaTest, StringBytesAreBounded) {
  Make({.memory_limit = 1000});
  const auto put = [&](size_t size) {
    auto answer = NewPending<absl::Status>();
    area_->Put(step_, {Tensor::Scalar(std::string(size, 'x'))},
               [answer](const absl::Status& status) { *answer = status; });
    return answer;
  };
  EXPECT_THAT(**put(2000), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(**put(500));
  const auto waits = put(600);
  EXPECT_FALSE(waits->has_value());
  area_->Take(step_, {DT_STRING}, [](const auto&) {});
  ASSERT_TRUE(waits->has_value());
  EXPECT_OK(**waits);
}

TEST_F(StagingAreaTest, MismatchedTakeKeepsTheTuple) {
  Put({1, 2});
  EXPECT_THAT(**Take(1), StatusIs(kInvalid, "Mismatch stage/unstage: 2 vs. 1"));
  auto answer = NewPending<absl::Status>();
  area_->Take(step_, {DT_INT32, DT_FLOAT},
              [=](auto tuple) { *answer = tuple.status(); });
  EXPECT_THAT(**answer, StatusIs(kInvalid, "tensor 1 is of type int32"));
  EXPECT_THAT(***Take(2), ElementsAre(1, 2));
}

// Many threads call the area, and half of the calls are cancelled at random
// times. No tuple may be lost or taken twice.
TEST(StagingAreaThreadsTest, CancellationLosesNoTuple) {
  constexpr int kEach = 500;
  constexpr int kThreads = 3;
  const auto area = std::make_shared<StagingArea>(
      StagingLimits{.capacity = 3, .memory_limit = 12});
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  // Repeats a call until it succeeds.
  const auto insist = [&](uint32_t& random, const auto& call) {
    absl::Status status;
    do {
      random = random * 1664525 + 1013904223;
      Cancellation step;
      const auto over = scheduler->NewEvent();
      call(step, [&](const absl::Status& result) {
        status = result;
        over->Set();
      });
      if ((random >> 30) % 2 == 0) step.Cancel(absl::CancelledError("gone"));
      over->Wait();
    } while (absl::IsCancelled(status));
    EXPECT_OK(status);
  };
  std::vector<std::thread> threads;
  std::vector<std::vector<int>> taken(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      auto random = static_cast<uint32_t>(i);
      for (int j = 0; j < kEach; ++j) {
        insist(random, [&](Cancellation& step, const auto& done) {
          area->Put(step, Numbers({i * kEach + j}), done);
        });
      }
    });
    threads.emplace_back([&, i] {
      auto random = static_cast<uint32_t>(i + 100);
      for (int j = 0; j < kEach; ++j) {
        insist(random, [&](Cancellation& step, const auto& done) {
          area->Take(step, {DT_INT32}, [&taken, i, done](auto tuple) {
            if (tuple.ok()) {
              taken[i].push_back((*tuple)[0].template scalar<int32_t>());
            }
            done(tuple.status());
          });
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> all;
  for (const auto& some : taken)
    all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  std::vector<int> wanted(kThreads * kEach);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(all, wanted);
  EXPECT_EQ(area->size(), 0);
}

class StagingMapTest : public testing::Test {
 protected:
  void Make(const StagingLimits& limits) {
    map_ = std::make_shared<StagingMap>(DataTypeVector{DT_INT32, DT_INT32},
                                        limits);
  }
  Pending<absl::Status> Put(int64_t key, StagingMap::Indices indices,
                            std::initializer_list<int> values) {
    auto answer = NewPending<absl::Status>();
    map_->Put(step_, key, std::move(indices), Numbers(values),
              [answer](const absl::Status& status) { *answer = status; });
    return answer;
  }
  Pending<Ints> Take(int64_t key, StagingMap::Indices indices) {
    auto answer = NewPending<Ints>();
    const DataTypeVector types(indices.size(), DT_INT32);
    map_->Take(step_, key, std::move(indices), types, Reporting(answer));
    return answer;
  }
  Pending<Ints> Peek(int64_t key, StagingMap::Indices indices) {
    auto answer = NewPending<Ints>();
    const DataTypeVector types(indices.size(), DT_INT32);
    map_->Peek(step_, key, std::move(indices), types, Reporting(answer));
    return answer;
  }
  // Starts TakeAny, which sets the result to the key followed by the values.
  Pending<Ints> TakeAny() {
    auto answer = NewPending<Ints>();
    map_->TakeAny(step_, {0, 1}, {DT_INT32, DT_INT32}, [answer](auto item) {
      if (!item.ok()) {
        *answer = item.status();
        return;
      }
      std::vector<int> values = *ToInts(item->values);
      values.insert(values.begin(), static_cast<int>(item->key));
      *answer = values;
    });
    return answer;
  }
  static StagingMap::Taken Reporting(const Pending<Ints>& answer) {
    return [answer](auto item) {
      *answer = item.ok() ? ToInts(item->values) : item.status();
    };
  }

  Cancellation step_;
  std::shared_ptr<StagingMap> map_ = std::make_shared<StagingMap>(
      DataTypeVector{DT_INT32, DT_INT32}, StagingLimits{});
};

TEST_F(StagingMapTest, TakeGetsTheGivenOrTheSmallestKey) {
  EXPECT_OK(**Put(5, {0, 1}, {50, 51}));
  EXPECT_OK(**Put(-2, {0, 1}, {20, 21}));
  EXPECT_OK(**Put(3, {0, 1}, {30, 31}));
  EXPECT_THAT(***Peek(5, {1}), ElementsAre(51));
  EXPECT_THAT(***Take(3, {0, 1}), ElementsAre(30, 31));
  EXPECT_THAT(***TakeAny(), ElementsAre(-2, 20, 21));
  EXPECT_THAT(***TakeAny(), ElementsAre(5, 50, 51));
  const auto waits = TakeAny();
  const auto by_key = Take(8, {0, 1});
  EXPECT_OK(**Put(8, {0, 1}, {80, 81}));
  EXPECT_THAT(***waits, ElementsAre(8, 80, 81));
  EXPECT_FALSE(by_key->has_value());
}

TEST_F(StagingMapTest, ValuesArePutAndTakenSeparately) {
  EXPECT_OK(**Put(1, {1}, {11}));
  EXPECT_EQ(map_->incomplete_size(), 1);
  EXPECT_THAT(**Put(1, {1}, {12}),
              StatusIs(kInvalid,
                       "The tensor for index '1' for key '1' was "
                       "already initialized '2'."));
  const auto waits = Peek(1, {0, 1});
  EXPECT_FALSE(waits->has_value());
  EXPECT_OK(**Put(1, {0}, {10}));
  EXPECT_THAT(***waits, ElementsAre(10, 11));
  EXPECT_EQ(map_->incomplete_size(), 0);
  EXPECT_THAT(***Take(1, {1}), ElementsAre(11));
  EXPECT_EQ(map_->size(), 1);
  EXPECT_THAT(**Take(1, {0, 1}),
              StatusIs(kInvalid,
                       "Tensor at index '1' for key '1' has already "
                       "been removed."));
  EXPECT_THAT(***Take(1, {0}), ElementsAre(10));
  EXPECT_EQ(map_->size(), 0);
}

TEST_F(StagingMapTest, CompleteKeyKeepsItsValues) {
  Make({.memory_limit = 16});
  EXPECT_OK(**Put(1, {0, 1}, {10, 11}));
  EXPECT_OK(**Put(1, {0, 1}, {90, 91}));
  EXPECT_EQ(map_->size(), 1);
  // The dropped values use no memory either, so another key fits.
  EXPECT_OK(**Put(2, {0, 1}, {20, 21}));
  EXPECT_THAT(***Take(1, {0, 1}), ElementsAre(10, 11));
}

TEST_F(StagingMapTest, KeyBeyondTheMemoryLimitIsRejected) {
  Make({.memory_limit = 7});
  EXPECT_OK(**Put(1, {0}, {10}));
  const auto put = Put(1, {1}, {11});
  ASSERT_TRUE(put->has_value());
  EXPECT_THAT(**put, StatusIs(absl::StatusCode::kResourceExhausted,
                              "size of '8' bytes"));
  EXPECT_EQ(map_->incomplete_size(), 1);
  EXPECT_FALSE(Put(2, {0}, {20})->has_value()) << "another may be taken before";
}

TEST_F(StagingMapTest, CapacityCountsNewKeysOnly) {
  Make({.capacity = 1});
  EXPECT_OK(**Put(1, {0, 1}, {10, 11}));
  const auto waits = Put(2, {0, 1}, {20, 21});
  EXPECT_FALSE(waits->has_value());
  EXPECT_OK(**Put(3, {0}, {30}));
  EXPECT_OK(**Put(3, {1}, {31}));
  EXPECT_THAT(***Take(3, {0, 1}), ElementsAre(30, 31));
  EXPECT_FALSE(waits->has_value());
  EXPECT_THAT(***Take(1, {0, 1}), ElementsAre(10, 11));
  EXPECT_OK(**waits);
}

TEST_F(StagingMapTest, BadIndicesAndTypesAreRefused) {
  EXPECT_THAT(**Put(1, {1, 0}, {1, 2}), StatusIs(kInvalid, "strictly ordered"));
  EXPECT_THAT(
      **Put(1, {0, 2}, {1, 2}),
      StatusIs(kInvalid, "Index '2' for key '1' was out of bounds '2'."));
  EXPECT_THAT(**Put(1, {-1}, {1}), StatusIs(kInvalid, "Index '-1'"));
  EXPECT_THAT(**Put(1, {0}, {1, 2}), StatusIs(kInvalid, "1 indices, but 2"));
  EXPECT_THAT(**Put(1, {}, {}), StatusIs(kInvalid, "Indices are empty"));
  EXPECT_THAT(**Take(1, {7}), StatusIs(kInvalid, "out of bounds"));
  auto put = NewPending<absl::Status>();
  map_->Put(step_, 1, {0}, {Tensor::Scalar(1.0f)},
            [=](const absl::Status& status) { *put = status; });
  EXPECT_THAT(**put, StatusIs(kInvalid, "is of type float, not int32"));
  EXPECT_EQ(map_->incomplete_size(), 0);
}

TEST_F(StagingMapTest, ClearFreesCapacity) {
  Make({.capacity = 1, .memory_limit = 12});
  EXPECT_OK(**Put(1, {0, 1}, {10, 11}));
  EXPECT_OK(**Put(2, {0}, {20}));
  const auto waits = Put(3, {0, 1}, {30, 31});
  EXPECT_FALSE(waits->has_value());
  auto cleared = NewPending<absl::Status>();
  map_->Clear(step_, [=](const absl::Status& status) { *cleared = status; });
  EXPECT_OK(**cleared);
  EXPECT_OK(**waits);
  EXPECT_EQ(map_->incomplete_size(), 0);
  EXPECT_THAT(***TakeAny(), ElementsAre(3, 30, 31));
}

}  // namespace
}  // namespace weft
