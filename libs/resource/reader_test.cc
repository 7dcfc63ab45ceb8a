#include "libs/resource/reader.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

constexpr auto kCancelled = absl::StatusCode::kCancelled;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

// After one letter was read, this many letters are available without reading.
constexpr size_t kBlock = 50;

// Letters is a RecordSource whose units are words: "abc" has one record for
// each letter. Some words fail, and "." is not a record.
class Letters : public RecordSource {
 public:
  absl::Status Start(const Place&, const std::string& work) override {
    const auto fails = start_errors.find(work);
    if (fails != start_errors.end()) return fails->second;
    work_ = work;
    next_ = 0;
    is_open = true;
    return absl::OkStatus();
  }
  absl::StatusOr<Outcome> Read(ReaderRecord& record,
                               const Cancellation&) override {
    EXPECT_TRUE(is_open);
    if (before_read) before_read();
    if (!HasNext()) ++num_file_reads;
    if (next_ == work_.size()) return Outcome::kEnd;
    if (work_[next_] == '!') return read_error;
    if (work_[next_] == '.') {
      ++next_;
      return Outcome::kNotYet;
    }
    record.value = work_.substr(next_, 1);
    record.key = absl::StrCat(work_, ":", next_++);
    return Outcome::kRecord;
  }
  bool HasNext() const override {
    return next_ % kBlock > 0 && next_ < work_.size() && work_[next_] != '!' &&
           work_[next_] != '.';
  }
  void Stop() override { is_open = false; }

  std::map<std::string, absl::Status> start_errors;
  absl::Status read_error = absl::DataLossError("damaged");
  std::function<void()> before_read;
  bool is_open = false;
  int num_file_reads = 0;

 private:
  std::string work_;
  size_t next_ = 0;
};

using Answer = absl::StatusOr<std::vector<std::string>>;

class ReaderTest : public testing::Test {
 protected:
  ReaderTest() {
    auto letters = std::make_unique<Letters>();
    letters_ = letters.get();
    reader_ = std::make_shared<Reader>("LetterReader 'node'",
                                       std::move(letters), false);
    queue_ = std::make_shared<Queue>(
        "q",
        QueueOptions{.kind = "FIFOQueue",
                     .types = {DT_STRING},
                     .shapes = {PartialShape::Scalar()}},
        NewFifoStore());
  }
  ~ReaderTest() override { scheduler_.RunUntilIdle(); }

  void Add(std::initializer_list<std::string> units) {
    std::vector<QueueElement> elements;
    for (const std::string& unit : units) {
      elements.push_back({Tensor::Scalar(unit)});
    }
    queue_->Enqueue(step_, std::move(elements), [](const absl::Status&) {});
  }
  void Close() {
    queue_->Close(step_, false, [](const absl::Status&) {});
  }

  Reader::Context Context(Cancellation& step) {
    return {step, scheduler_, files_, HeapAllocator()};
  }
  // Starts a read. The result is set when the call has completed.
  std::shared_ptr<std::optional<Answer>> Begin(Cancellation& step, int count) {
    auto answer = std::make_shared<std::optional<Answer>>();
    reader_->ReadUpTo(Context(step), queue_, count, [answer](auto records) {
      ASSERT_FALSE(answer->has_value());
      if (!records.ok()) {
        *answer = records.status();
        return;
      }
      std::vector<std::string> values;
      for (const ReaderRecord& record : *records) {
        values.push_back(record.value);
      }
      *answer = values;
    });
    return answer;
  }
  Answer Read(int count = 1) { return Read(step_, count); }
  Answer Read(Cancellation& step, int count) {
    const auto answer = Begin(step, count);
    scheduler_.RunUntilIdle();
    if (answer->has_value()) return **answer;
    return absl::DeadlineExceededError("it waits");
  }
  absl::Status Reset() {
    std::optional<absl::Status> answer;
    reader_->Reset(Context(step_),
                   [&answer](const absl::Status& status) { answer = status; });
    scheduler_.RunUntilIdle();
    return answer.value_or(absl::DeadlineExceededError("it waits"));
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  MemoryFileSystem files_;
  Cancellation step_;
  Letters* letters_;  // owned by the reader
  std::shared_ptr<Reader> reader_;
  std::shared_ptr<Queue> queue_;
};

TEST_F(ReaderTest, ReadsOneUnitAfterTheOther) {
  Add({"ab", "", "c"});
  Close();
  for (const char* wanted : {"a", "b", "c"}) {
    const Answer answer = Read();
    ASSERT_OK(answer);
    EXPECT_THAT(*answer, ElementsAre(wanted));
  }
  EXPECT_EQ(reader_->num_work_units_completed(), 2);
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kOutOfRange, "'q' is closed"));
  EXPECT_EQ(reader_->num_records_produced(), 3);
  EXPECT_EQ(reader_->num_work_units_completed(), 3);
  EXPECT_FALSE(letters_->is_open);
}

TEST_F(ReaderTest, ReadUpToStaysInOneUnit) {
  Add({"abcd", "ef"});
  EXPECT_THAT(*Read(0), ElementsAre());
  EXPECT_EQ(queue_->size(), 2) << "none is asked for";
  EXPECT_THAT(*Read(3), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*Read(3), ElementsAre("d"));
  EXPECT_THAT(*Read(2), ElementsAre("e", "f"));
}

TEST_F(ReaderTest, RepeatedUnitsWithoutARecordFail) {
  for (int i = 0; i < 499; ++i) Add({"", "."});
  Add({"", "a"});
  EXPECT_THAT(*Read(), ElementsAre("a")) << "after many without a record";
  for (int i = 0; i < 500; ++i) Add({"", "."});
  EXPECT_THAT(Read(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "LetterReader 'node' found no record in the last 1000 "
                       "files that its queue named: 2 different ones"));
  Add({"b"});
  EXPECT_THAT(*Read(), ElementsAre("b"));
}

// Many units without a record may come before a unit with a record.
TEST_F(ReaderTest, ManyDifferentUnitsWithoutARecordDoNotFail) {
  Add({".."});
  for (int i = 0; i < 600; ++i) Add({"", "."});
  Add({"a"});
  EXPECT_THAT(*Read(), ElementsAre("a"));
}

TEST_F(ReaderTest, CallsAreServedInFifoOrder) {
  const auto first = Begin(step_, 2);
  const auto second = Begin(step_, 1);
  scheduler_.RunUntilIdle();
  EXPECT_FALSE(first->has_value());
  Add({"abc"});
  scheduler_.RunUntilIdle();
  EXPECT_THAT(***first, ElementsAre("a", "b"));
  EXPECT_THAT(***second, ElementsAre("c"));
}

TEST_F(ReaderTest, CancelledCallLetsOthersContinue) {
  Cancellation waits, waits_for_it;
  const auto first = Begin(waits, 1);
  const auto second = Begin(waits_for_it, 1);
  const auto third = Begin(step_, 1);
  waits_for_it.Cancel(absl::CancelledError("second"));
  ASSERT_TRUE(second->has_value());
  EXPECT_THAT(**second, StatusIs(kCancelled, "second"));
  waits.Cancel(absl::CancelledError("first"));
  scheduler_.RunUntilIdle();
  ASSERT_TRUE(first->has_value());
  EXPECT_THAT(**first, StatusIs(kCancelled, "first"));
  Add({"a"});
  scheduler_.RunUntilIdle();
  EXPECT_THAT(***third, ElementsAre("a"));
}

TEST_F(ReaderTest, NameTakenByACancelledCallIsReadNext) {
  Cancellation step;
  const auto answer = Begin(step, 1);
  Add({"ab"});
  EXPECT_EQ(queue_->size(), 0) << "taken, and not yet read";
  step.Cancel(absl::CancelledError("gone"));
  scheduler_.RunUntilIdle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_THAT(**answer, StatusIs(kCancelled, "gone"));
  EXPECT_THAT(*Read(2), ElementsAre("a", "b"));
}

TEST_F(ReaderTest, RecordsReadByCancelledCallAreReturnedNext) {
  Add({"abcd", "e"});
  Cancellation step;
  int reads = 0;
  letters_->before_read = [&] {
    if (++reads == 3) step.Cancel(absl::CancelledError("gone"));
  };
  EXPECT_THAT(Read(step, 4), StatusIs(kCancelled, "gone"));
  letters_->before_read = nullptr;
  EXPECT_THAT(*Read(2), ElementsAre("a", "b"));
  EXPECT_THAT(*Read(9), ElementsAre("c", "d"));
  EXPECT_THAT(*Read(9), ElementsAre("e"));
  EXPECT_EQ(reader_->num_records_produced(), 5);
}

TEST_F(ReaderTest, CancelledCallStopsSkippingRecords) {
  Add({"..a"});
  Cancellation step;
  letters_->before_read = [&] { step.Cancel(absl::CancelledError("gone")); };
  EXPECT_THAT(Read(step, 1), StatusIs(kCancelled, "gone"));
  int reads = 0;
  letters_->before_read = [&] { ++reads; };
  EXPECT_THAT(*Read(), ElementsAre("a"));
  EXPECT_EQ(reads, 2) << "of one more to be passed over, and the record";
  EXPECT_EQ(reader_->num_records_produced(), 1);
}

TEST_F(ReaderTest, AvailableRecordsAreReturnedAtOnce) {
  Add({"abc", "d!e", "f"});
  EXPECT_THAT(*Read(), ElementsAre("a"));
  EXPECT_EQ(reader_->num_records_produced(), 1);
  const auto at_once = Begin(step_, 2);
  ASSERT_TRUE(at_once->has_value()) << "no other thread is needed";
  EXPECT_THAT(***at_once, ElementsAre("b", "c"));
  EXPECT_EQ(reader_->num_records_produced(), 3);
  EXPECT_EQ(reader_->num_work_units_completed(), 0);
  EXPECT_TRUE(letters_->is_open);
  EXPECT_THAT(*Read(), ElementsAre("d"));
  EXPECT_EQ(reader_->num_work_units_completed(), 1);
  EXPECT_THAT(Read(), StatusIs(kDataLoss, "damaged"));
  EXPECT_OK(Reset());
  EXPECT_THAT(*Read(), ElementsAre("f"));
  Cancellation step;
  step.Cancel(absl::CancelledError("gone"));
  Add({"gh"});
  EXPECT_THAT(*Read(), ElementsAre("g"));
  EXPECT_THAT(Read(step, 1), StatusIs(kCancelled, "gone"));
  EXPECT_THAT(*Read(), ElementsAre("h"));
}

// Reading a file blocks, so a call that completes on the caller's thread must
// not read a file.
TEST_F(ReaderTest, CallersThreadReadsNoFile) {
  const std::string unit(4 * kBlock, 'a');
  for (const int count : {1, 7}) {
    Add({unit});
    size_t at_once = 0, num_records = 0, calls = 0;
    for (; num_records < unit.size(); ++calls) {
      const int before = letters_->num_file_reads;
      const auto answer = Begin(step_, count);
      EXPECT_EQ(letters_->num_file_reads, before) << calls;
      at_once += answer->has_value();
      scheduler_.RunUntilIdle();
      ASSERT_TRUE(answer->has_value());
      ASSERT_OK(**answer);
      num_records += (***answer).size();
    }
    EXPECT_EQ(num_records, unit.size());
    EXPECT_GE(at_once, calls - 5);
  }
  EXPECT_EQ(reader_->num_records_produced(), 8 * static_cast<int>(kBlock));
}

TEST_F(ReaderTest, BufferedRecordsOfCancelledCallAreNext) {
  Add({std::string(kBlock, 'a') + "bc"});
  EXPECT_THAT(Read(kBlock - 1), IsOk());
  Cancellation step;
  const auto answer = Begin(step, 3);
  EXPECT_FALSE(answer->has_value()) << "'b' is in the file";
  step.Cancel(absl::CancelledError("gone"));
  scheduler_.RunUntilIdle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_THAT(**answer, StatusIs(kCancelled, "gone"));
  EXPECT_THAT(*Read(9), ElementsAre("a", "b", "c"));
  EXPECT_EQ(reader_->num_records_produced(), static_cast<int>(kBlock) + 2);
}

TEST_F(ReaderTest, DamagedUnitStaysUntilReset) {
  Add({"ab!c", "d"});
  EXPECT_THAT(*Read(), ElementsAre("a"));
  EXPECT_THAT(Read(9), StatusIs(kDataLoss, "damaged"));
  EXPECT_THAT(Read(), StatusIs(kDataLoss, "damaged"));
  EXPECT_EQ(reader_->num_records_produced(), 2);
  EXPECT_EQ(reader_->num_work_units_completed(), 0);
  EXPECT_OK(Reset());
  EXPECT_FALSE(letters_->is_open);
  EXPECT_EQ(reader_->num_records_produced(), 0);
  EXPECT_THAT(*Read(), ElementsAre("d"));
}

TEST_F(ReaderTest, UnreachableUnitLosesNoRecord) {
  Add({"ab!c", "missing", "far", "d"});
  letters_->read_error = absl::UnavailableError("the network");
  EXPECT_THAT(Read(9), StatusIs(kUnavailable, "the network"));
  EXPECT_THAT(*Read(), ElementsAre("a"));
  EXPECT_THAT(Read(2), StatusIs(kUnavailable));
  EXPECT_THAT(*Read(), ElementsAre("b"));
  EXPECT_OK(Reset());
  letters_->start_errors = {{"missing", absl::NotFoundError("no such file")},
                            {"far", absl::UnavailableError("the network")}};
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Read(), StatusIs(kUnavailable)) << "a missing unit is skipped";
  EXPECT_THAT(Read(), StatusIs(kUnavailable));
  letters_->start_errors.clear();
  EXPECT_THAT(*Read(9), ElementsAre("f", "a", "r"));
  EXPECT_EQ(reader_->num_work_units_completed(), 1);
}

TEST_F(ReaderTest, ResetWaitsItsTurnAndEndsWithItsStep) {
  const auto read = Begin(step_, 1);
  Cancellation other;
  std::optional<absl::Status> reset;
  reader_->Reset(Context(other), [&](const absl::Status& s) { reset = s; });
  scheduler_.RunUntilIdle();
  EXPECT_FALSE(reset.has_value());
  other.Cancel(absl::CancelledError("gone"));
  ASSERT_TRUE(reset.has_value());
  EXPECT_THAT(*reset, StatusIs(kCancelled, "gone"));
  Add({"a"});
  scheduler_.RunUntilIdle();
  EXPECT_THAT(***read, ElementsAre("a"));
}

// Many waiting calls end at the same time. If the end of each call ended the
// next call recursively, the stack would overflow.
TEST_F(ReaderTest, ManyCallsMayWaitForAClosingQueue) {
  constexpr int kCalls = 50'000;
  int ended = 0;
  for (int i = 0; i < kCalls; ++i) {
    reader_->ReadOne(Context(step_), queue_, [&ended](const auto& records) {
      EXPECT_TRUE(absl::IsOutOfRange(records.status()));
      ++ended;
    });
  }
  Close();
  scheduler_.RunUntilIdle();
  EXPECT_EQ(ended, kCalls);
}

TEST_F(ReaderTest, QueueOfUnitNamesMustHaveStrings) {
  queue_ = std::make_shared<Queue>(
      "numbers", QueueOptions{.kind = "FIFOQueue", .types = {DT_INT32}},
      NewFifoStore());
  EXPECT_THAT(Read(), StatusIs(kInvalid,
                               "Expected queue with single string component"));
  queue_ = std::make_shared<Queue>(
      "pairs",
      QueueOptions{.kind = "FIFOQueue", .types = {DT_STRING, DT_STRING}},
      NewFifoStore());
  EXPECT_THAT(Read(), StatusIs(kInvalid, "Expected single component queue"));
  queue_ = std::make_shared<Queue>(
      "vectors", QueueOptions{.kind = "FIFOQueue", .types = {DT_STRING}},
      NewFifoStore());
  queue_->Enqueue(step_, {{Tensor(DT_STRING, {2})}},
                  [](const absl::Status&) {});
  EXPECT_THAT(Read(), StatusIs(kInvalid, "one-element string tensor"));
}

// Many threads call Read, and half of the calls are cancelled at random times.
TEST(ReaderThreadsTest, CancellationLosesNoRecord) {
  constexpr int kThreads = 6;
  constexpr int kUnits = 300;
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  MemoryFileSystem files;
  Cancellation never;
  const auto reader = std::make_shared<Reader>(
      "LetterReader 'node'", std::make_unique<Letters>(), false);
  const auto queue = std::make_shared<Queue>(
      "q", QueueOptions{.kind = "FIFOQueue", .types = {DT_STRING}},
      NewFifoStore());
  absl::Mutex mutex;
  std::vector<std::string> keys;
  // Repeats Read until the input has ended.
  const auto read = [&](uint32_t random) {
    while (true) {
      random = random * 1664525 + 1013904223;
      Cancellation step;
      absl::Status status;
      const auto over = scheduler->NewEvent();
      reader->ReadUpTo({step, *scheduler, files, HeapAllocator()}, queue,
                       1 + (random >> 20) % 4,
                       [&](absl::StatusOr<Reader::Records> records) {
                         status = records.status();
                         if (records.ok()) {
                           absl::MutexLock lock(&mutex);
                           for (ReaderRecord& record : *records) {
                             keys.push_back(std::move(record.key));
                           }
                         }
                         over->Set();
                       });
      if ((random >> 30) % 2 == 0) step.Cancel(absl::CancelledError("gone"));
      over->Wait();
      if (absl::IsOutOfRange(status)) return;
      EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) threads.emplace_back(read, i);
  std::vector<std::string> wanted;
  for (int i = 0; i < kUnits; ++i) {
    const std::string unit = absl::StrCat(i, "abc");
    for (size_t j = 0; j < unit.size(); ++j) {
      wanted.push_back(absl::StrCat(unit, ":", j));
    }
    queue->Enqueue(never, {{Tensor::Scalar(unit)}},
                   [](const absl::Status& status) { EXPECT_OK(status); });
  }
  queue->Close(never, false, [](const absl::Status&) {});
  for (std::thread& thread : threads) thread.join();
  std::sort(keys.begin(), keys.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(keys, wanted);
  EXPECT_EQ(reader->num_work_units_completed(), kUnits);
}

}  // namespace
}  // namespace weft
