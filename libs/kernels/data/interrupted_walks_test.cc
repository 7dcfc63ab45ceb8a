// Tests iterators whose step ends at any point, and iterator states that were
// modified.
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/data/testing/dataset_harness.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Int(int64_t value) { return Tensor::Scalar(value); }

// Interruption cancels a step once, after a given number of calls of Pass.
class Interruption {
 public:
  void Arm(Cancellation& step, int after) {
    step_ = &step;
    left_ = after;
  }
  void Disarm() { step_ = nullptr; }
  // Called at each point where the step may end.
  absl::Status Pass() {
    if (step_ == nullptr || left_-- > 0) return absl::OkStatus();
    Cancellation& step = *std::exchange(step_, nullptr);
    step.Cancel(absl::CancelledError("enough"));
    return step.status();
  }

 private:
  Cancellation* step_ = nullptr;
  int left_ = 0;
};

// The numbers 0 to `size` - 1. The step may end before each of them.
class InterruptedRange : public Dataset {
 public:
  InterruptedRange(int64_t size, Interruption& interruption)
      : Dataset("Range", DatasetHarness::Ints()),
        size_(size),
        interruption_(interruption) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator : public IteratorOf<InterruptedRange> {
   public:
    using IteratorOf::IteratorOf;
    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      RETURN_IF_ERROR(context.cancellation().status());
      RETURN_IF_ERROR(dataset().interruption_.Pass());
      if (next_ == dataset().size_) return false;
      element->assign(1, Int(next_++));
      return true;
    }
    absl::Status Save(IteratorContext&, IteratorStateWriter writer) override {
      writer.Write("next", next_);
      return absl::OkStatus();
    }
    absl::Status Restore(IteratorContext&,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(next_, reader.ReadCount("next", dataset().size_));
      return absl::OkStatus();
    }

   private:
    int64_t next_ = 0;
  };

  const int64_t size_;
  Interruption& interruption_;
};

// An endless sequence of zeros that ignores cancellation.
class EndlessZeros : public Dataset {
 public:
  explicit EndlessZeros(Interruption& interruption)
      : Dataset("Zeros", DatasetHarness::Ints()), interruption_(interruption) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator : public IteratorOf<EndlessZeros> {
   public:
    using IteratorOf::IteratorOf;
    absl::StatusOr<bool> GetNext(IteratorContext&,
                                 DatasetElement* element) override {
      dataset().interruption_.Pass().IgnoreError();
      element->assign(1, Int(0));
      return true;
    }
  };

  Interruption& interruption_;
};

class InterruptedWalksTest : public ::testing::Test {
 protected:
  using Body = std::function<Tensor(std::vector<Tensor>)>;

  InterruptedWalksTest() {
    Add("modulo", {DT_INT64}, DT_INT64, [](std::vector<Tensor> args) {
      return Int(args[0].scalar<int64_t>() % 2);
    });
    Add("three", {DT_INT64}, DT_INT64,
        [](std::vector<Tensor>) { return Int(3); });
    AddInterrupted("window", {DT_INT64, DT_VARIANT}, DT_VARIANT,
                   [](std::vector<Tensor> args) { return args[1]; });
    AddInterrupted("range", {DT_INT64}, DT_VARIANT,
                   [this](std::vector<Tensor> args) {
                     return Range(args[0].scalar<int64_t>());
                   });
    Add("zero", {DT_INT64}, DT_INT64,
        [](std::vector<Tensor>) { return Int(0); });
    Add("sum", {DT_INT64, DT_INT64}, DT_INT64, [](std::vector<Tensor> args) {
      return Int(args[0].scalar<int64_t>() + args[1].scalar<int64_t>());
    });
    AddInterrupted("finalize", {DT_INT64}, DT_INT64,
                   [](std::vector<Tensor> args) { return args[0]; });
    harness_.functions().Add(
        "sums", {DT_INT64, DT_INT64}, {DT_INT64, DT_INT64},
        [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          const int64_t sum =
              args[0].scalar<int64_t>() + args[1].scalar<int64_t>();
          return std::vector<Tensor>{Int(sum), Int(sum)};
        });
  }

  void Add(const std::string& name, DataTypeVector args, DataType result,
           Body body) {
    harness_.functions().Add(
        name, std::move(args), {result},
        [body](
            std::vector<Tensor> values) -> absl::StatusOr<std::vector<Tensor>> {
          return std::vector<Tensor>{body(std::move(values))};
        });
  }
  void AddInterrupted(const std::string& name, DataTypeVector args,
                      DataType result, Body body) {
    harness_.functions().Add(
        name, std::move(args), {result},
        [this, body](
            std::vector<Tensor> values) -> absl::StatusOr<std::vector<Tensor>> {
          RETURN_IF_ERROR(interruption_.Pass());
          return std::vector<Tensor>{body(std::move(values))};
        });
  }

  Tensor Range(int64_t size) {
    return ToTensor(std::make_shared<InterruptedRange>(size, interruption_));
  }
  Tensor Make(const char* op, std::vector<Tensor> inputs, AttrMap attrs = {},
              ElementSpec spec = DatasetHarness::IntsOf(PartialShape())) {
    auto made =
        harness_.Make(op, std::move(inputs), std::move(spec), std::move(attrs));
    EXPECT_OK(made) << op;
    return *std::move(made);
  }
  static AttrMap Function(const char* name) {
    return {{"f", DatasetHarness::Function(name)},
            {"Targuments", DataTypeVector()}};
  }
  Tensor Zip(Tensor a, Tensor b) {
    return Make("ZipDataset", {std::move(a), std::move(b)}, {},
                {{DT_INT64, DT_INT64}, std::vector<PartialShape>(2)});
  }
  Tensor Batch(Tensor input, int64_t size) {
    return Make("BatchDatasetV2",
                {std::move(input), Int(size), Tensor::Scalar(false)});
  }
  Tensor Shard(int64_t index, bool require_non_empty) {
    return Make("ShardDataset", {Range(8), Int(3), Int(index)},
                {{"require_non_empty", require_non_empty}});
  }
  Tensor Shuffle(Tensor input, int64_t buffer) {
    return Make("ShuffleDataset",
                {std::move(input), Int(buffer), Int(5), Int(7)},
                {{"reshuffle_each_iteration", false}});
  }
  Tensor Groups(Tensor input) {
    return Make("GroupByWindowDataset", {std::move(input)},
                {{"key_func", DatasetHarness::Function("modulo")},
                 {"reduce_func", DatasetHarness::Function("window")},
                 {"window_size_func", DatasetHarness::Function("three")},
                 {"Tkey_func_other_arguments", DataTypeVector()},
                 {"Treduce_func_other_arguments", DataTypeVector()},
                 {"Twindow_size_func_other_arguments", DataTypeVector()}});
  }
  Tensor Reduced(Tensor input) {
    return Make("GroupByReducerDataset", {std::move(input)},
                {{"key_func", DatasetHarness::Function("modulo")},
                 {"init_func", DatasetHarness::Function("zero")},
                 {"reduce_func", DatasetHarness::Function("sum")},
                 {"finalize_func", DatasetHarness::Function("finalize")},
                 {"Tkey_func_other_arguments", DataTypeVector()},
                 {"Tinit_func_other_arguments", DataTypeVector()},
                 {"Treduce_func_other_arguments", DataTypeVector()},
                 {"Tfinalize_func_other_arguments", DataTypeVector()}});
  }

  // Returns at least one example of each dataset that keeps state between
  // calls.
  std::vector<std::pair<std::string, Tensor>> DataSets() {
    return {
        {"zip", Zip(Range(5), Range(4))},
        {"zips of zips",
         Make("ZipDataset", {Range(3), Zip(Range(3), Range(3))}, {},
              {DataTypeVector(3, DT_INT64), std::vector<PartialShape>(3)})},
        {"skip", Make("SkipDataset", {Range(6), Int(4)})},
        {"take", Make("TakeDataset", {Range(6), Int(4)})},
        {"repeat", Make("RepeatDataset", {Range(2), Int(3)})},
        {"shard 0", Shard(0, false)},
        {"shard 2", Shard(2, false)},
        {"shard 0 of those with elements", Shard(0, true)},
        {"shard 1 of those with elements", Shard(1, true)},
        {"batch", Batch(Range(5), 3)},
        {"padded batch",
         Make("PaddedBatchDatasetV2",
              {Batch(Range(5), 2), Int(2), Tensor::Vector<int64_t>({-1}),
               Int(9), Tensor::Scalar(false)},
              {{"Toutput_types", DataTypeVector{DT_INT64}},
               {"output_shapes", std::vector<PartialShape>{PartialShape()}},
               {"N", 1}},
              {})},
        {"unbatch", Make("UnbatchDataset", {Batch(Range(5), 2)})},
        {"rebatch", Make("RebatchDatasetV2",
                         {Batch(Range(7), 3), Tensor::Vector<int64_t>({2, 1}),
                          Tensor::Scalar(false)})},
        {"shuffle", Shuffle(Range(7), 3)},
        {"flat_map", Make("FlatMapDataset", {Range(4)}, Function("range"))},
        {"interleave", Make("InterleaveDataset", {Range(5), Int(2), Int(2)},
                            Function("range"))},
        {"groups", Groups(Range(8))},
        {"groups' sums", Reduced(Range(5))},
    };
  }

  // Returns the elements up to the end of the step or of the data.
  std::vector<std::string> PullUntilCancelled(DatasetIterator& walk,
                                              Cancellation& step) {
    std::vector<std::string> texts;
    IteratorContext context = harness_.Context().With(step);
    DatasetElement element;
    while (true) {
      const auto has = walk.GetNext(context, &element);
      if (!has.ok()) {
        EXPECT_THAT(has, StatusIs(absl::StatusCode::kCancelled, "enough"));
        return texts;
      }
      if (!*has) break;
      texts.push_back(DatasetHarness::TextOf(element));
    }
    texts.push_back("end");
    return texts;
  }

  Interruption interruption_;
  DatasetHarness harness_;
};

TEST_F(InterruptedWalksTest, InterruptionLosesNoElement) {
  for (const auto& [name, dataset] : DataSets()) {
    const std::vector<std::string> all = harness_.PullAll(dataset);
    bool was_interrupted = true;
    for (int after = 0; was_interrupted; ++after) {
      for (const bool is_saved : {false, true}) {
        SCOPED_TRACE(absl::StrCat(name, ", interrupted after ", after,
                                  is_saved ? ", saved" : ""));
        Cancellation step;
        ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(dataset));
        interruption_.Arm(step, after);
        std::vector<std::string> got = PullUntilCancelled(*walk, step);
        interruption_.Disarm();
        was_interrupted = step.IsCancelled();
        if (!was_interrupted) break;
        if (is_saved) {
          ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
          ASSERT_OK_AND_ASSIGN(walk, harness_.Walk(dataset));
          ASSERT_OK(harness_.Restore(*walk, state));
        }
        for (std::string& rest : harness_.Pull(*walk)) {
          got.push_back(std::move(rest));
        }
        EXPECT_EQ(got, all);
      }
    }
  }
}

// A batch that its input never fills ends with the step. A batch built in the
// background ends with its iterator.
TEST_F(InterruptedWalksTest, LargeBatchesEndWithTheirStep) {
  const Tensor zeros = ToTensor(std::make_shared<EndlessZeros>(interruption_));
  const Tensor size = Int(int64_t{1} << 40), drop = Tensor::Scalar(false);
  const Tensor scalar = Tensor::Vector<int64_t>({});
  const std::pair<std::string, Tensor> batches[] = {
      {"batch", Make("BatchDatasetV2", {zeros, size, drop})},
      {"padded batch",
       Make("PaddedBatchDatasetV2", {zeros, size, scalar, Int(9), drop},
            {{"Toutput_types", DataTypeVector{DT_INT64}},
             {"output_shapes", std::vector<PartialShape>{PartialShape()}},
             {"N", 1}},
            {})},
      {"parallel batch",
       Make("ParallelBatchDataset", {zeros, size, Int(2), drop})},
      {"sparse batch", Make("DenseToSparseBatchDataset", {zeros, size, scalar},
                            {}, {{DT_VARIANT}, std::vector<PartialShape>(1)})}};
  for (const auto& [name, dataset] : batches) {
    SCOPED_TRACE(name);
    Cancellation step;
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(dataset));
    interruption_.Arm(step, 1000);
    IteratorContext context = harness_.Context().With(step);
    DatasetElement element;
    EXPECT_THAT(walk->GetNext(context, &element),
                StatusIs(absl::StatusCode::kCancelled, "enough"));
  }
}

// Takes 0, the error of 1, and 2; then the step is cancelled.
class InterruptedBatchTest : public InterruptedWalksTest {
 protected:
  void TakeThree() {
    const std::unique_ptr<Event> is_over = harness_.scheduler().NewEvent();
    Cancellation step;
    harness_.functions().Add(
        "fails_at_1", {DT_INT64}, {DT_INT64},
        [&](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          const int64_t n = args[0].scalar<int64_t>();
          if (n == 1) return absl::DataLossError("not this one");
          // With one call at a time, all elements before this one were taken.
          if (n == 3) {
            step.Cancel(absl::CancelledError("enough"));
            is_over->Wait();
          }
          return args;
        });
    dataset_ = Make("MapAndBatchDataset",
                    {harness_.Range(8), Int(4), Int(1), Tensor::Scalar(false)},
                    Function("fails_at_1"));
    ASSERT_OK_AND_ASSIGN(walk_, harness_.Walk(dataset_));
    IteratorContext context = harness_.Context().With(step);
    DatasetElement element;
    const absl::StatusOr<bool> has = walk_->GetNext(context, &element);
    is_over->Set();
    EXPECT_THAT(has, StatusIs(absl::StatusCode::kCancelled, "enough"));
    IteratorContext save_context = harness_.Context();
    ASSERT_OK(walk_->Save(save_context, IteratorStateWriter(saved_)));
  }
  // Returns the elements after the restored position, or the error of Restore.
  std::vector<std::string> Restored(const IteratorStateWriter::Values& values) {
    auto walk = *harness_.Walk(dataset_);
    IteratorContext context = harness_.Context();
    const absl::Status status =
        walk->Restore(context, IteratorStateReader(values));
    if (status.ok()) return harness_.Pull(*walk);
    return {absl::StrCat("refused: ", status.message())};
  }

  Tensor dataset_;
  std::unique_ptr<DatasetIterator> walk_;
  IteratorStateWriter::Values saved_;
};

TEST_F(InterruptedBatchTest, BatchErrorIsSaved) {
  TakeThree();
  const auto rest =
      ElementsAre(HasSubstr("not this one"), "[4] 4 5 6 7", "end");
  EXPECT_THAT(Restored(saved_), rest);
  EXPECT_THAT(harness_.Pull(*walk_), rest);
}

TEST_F(InterruptedBatchTest, InvalidBatchStatesAreRejected) {
  TakeThree();
  for (const int64_t taken : {-1, 1, 2, 5}) {
    auto values = saved_;
    values["taken"] = Int(taken);
    EXPECT_THAT(Restored(values), ElementsAre(HasSubstr("refused"))) << taken;
  }
  auto values = saved_;
  values.erase("error/code");
  EXPECT_THAT(Restored(values), ElementsAre(HasSubstr("2 of 3 elements")));
  // States of earlier versions did not record errors.
  values.erase("taken");
  EXPECT_THAT(Restored(values), ElementsAre("[4] 0 2 3 4", "[3] 5 6 7", "end"));
}

// Returns whether `name` is a component of an element among `values`.
bool IsComponent(const IteratorStateWriter::Values& values,
                 const std::string& name) {
  const size_t slash = name.rfind('/');
  int64_t number = 0;
  return slash != std::string::npos &&
         absl::SimpleAtoi(name.substr(slash + 1), &number) &&
         values.contains(name.substr(0, slash) + "/size");
}

// An element of the wrong type or shape must not reach a kernel or another
// dataset.
TEST_F(InterruptedWalksTest, MismatchedElementsAreRejected) {
  int refused = 0;
  for (const auto& [name, dataset] : DataSets()) {
    for (int after = 0; after < 8; ++after) {
      Cancellation step;
      ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(dataset));
      interruption_.Arm(step, after);
      PullUntilCancelled(*walk, step);
      interruption_.Disarm();
      IteratorStateWriter::Values good;
      IteratorContext context = harness_.Context();
      ASSERT_OK(walk->Save(context, IteratorStateWriter(good)));
      const auto restored =
          [&, &walked = dataset](const IteratorStateWriter::Values& values) {
            auto other = *harness_.Walk(walked);
            return other->Restore(context, IteratorStateReader(values));
          };
      for (const auto& [key, value] : good) {
        if (!IsComponent(good, key)) continue;
        SCOPED_TRACE(absl::StrCat(name, " after ", after, ": ", key));
        auto values = good;
        values[key] = Tensor::Scalar(1.0f);
        EXPECT_THAT(restored(values), StatusIs(kInvalid));
        // One component too many.
        const std::string element = key.substr(0, key.rfind('/'));
        const int64_t size = good[element + "/size"].scalar<int64_t>();
        values = good;
        values[element + "/size"] = Int(size + 1);
        values[absl::StrCat(element, "/", size)] = value;
        EXPECT_THAT(restored(values), StatusIs(kInvalid));
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 50);
}

// Sets each number in a state to arbitrary values. The state is rejected, or
// the iterator returns elements, an error or the end.
TEST_F(InterruptedWalksTest, InvalidStateNumbersAreHandled) {
  for (const auto& [name, dataset] : DataSets()) {
    for (int after : {0, 2, 4, 7}) {
      Cancellation step;
      ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(dataset));
      interruption_.Arm(step, after);
      PullUntilCancelled(*walk, step);
      interruption_.Disarm();
      IteratorStateWriter::Values good;
      IteratorContext context = harness_.Context();
      ASSERT_OK(walk->Save(context, IteratorStateWriter(good)));
      for (const auto& [key, value] : good) {
        for (const int64_t number :
             {int64_t{-1}, int64_t{1}, std::numeric_limits<int64_t>::min(),
              std::numeric_limits<int64_t>::max()}) {
          auto values = good;
          values[key] = Int(number);
          ASSERT_OK_AND_ASSIGN(auto other, harness_.Walk(dataset));
          if (!other->Restore(context, IteratorStateReader(values)).ok()) {
            continue;
          }
          EXPECT_LE(harness_.Pull(*other, 50).size(), 50) << name << key;
        }
      }
    }
  }
}

TEST_F(InterruptedWalksTest, ShuffleStateWithoutSlicesIsRejected) {
  const Tensor dataset = Shuffle(Range(7), 3);
  ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(dataset));
  EXPECT_THAT(harness_.Pull(*walk, 1), ElementsAre(testing::_));
  IteratorStateWriter::Values values;
  IteratorContext context = harness_.Context();
  ASSERT_OK(walk->Save(context, IteratorStateWriter(values)));
  values["slices"] = Tensor(DT_INT64, {0});
  ASSERT_OK_AND_ASSIGN(auto other, harness_.Walk(dataset));
  EXPECT_THAT(other->Restore(context, IteratorStateReader(values)),
              StatusIs(kInvalid, "no place"));
}

// Compares with the values of TensorFlow.
TEST_F(InterruptedWalksTest, UnboundedShuffleKeepsOnlyItsElements) {
  const Tensor dataset =
      Make("ShuffleAndRepeatDataset",
           {harness_.Range(4), Int(Dataset::kUnknownCardinality), Int(3),
            Int(5), Int(-1)},
           {{"reshuffle_each_iteration", true}});
  ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(dataset));
  EXPECT_THAT(
      harness_.Rest<int64_t>(*walk, 20),
      ElementsAre(0, 2, 3, 1, 1, 2, 3, 0, 2, 3, 0, 1, 2, 0, 3, 1, 2, 1, 3, 0));
  harness_.Rest<int64_t>(*walk, 10000);
  IteratorStateWriter::Values values;
  IteratorContext context = harness_.Context();
  ASSERT_OK(walk->Save(context, IteratorStateWriter(values)));
  EXPECT_LT(values.size(), 60);
}

TEST_F(InterruptedWalksTest, LargeBatchMayFollowASmallOne) {
  const Tensor dataset =
      Make("RebatchDatasetV2",
           {Batch(Range(5), 3),
            Tensor::Vector<int64_t>({1, std::numeric_limits<int64_t>::max()}),
            Tensor::Scalar(false)});
  EXPECT_THAT(harness_.PullAll(dataset),
              ElementsAre("[1] 0", "[4] 1 2 3 4", "end"));
}

// Matches TensorFlow 2.21.
TEST_F(InterruptedWalksTest, ScanOutOfRangeEndsUnlessItKeepsCardinality) {
  harness_.functions().Add(
      "ends", {DT_INT64, DT_INT64}, {DT_INT64, DT_INT64},
      [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
        if (args[1].scalar<int64_t>() == 2) {
          return absl::OutOfRangeError("a queue is closed");
        }
        return args;
      });
  const auto scan = [&](bool preserve) {
    return harness_.PullAll(Make("ScanDataset", {Range(4), Int(0)},
                                 {{"f", DatasetHarness::Function("ends")},
                                  {"Tstate", DataTypeVector{DT_INT64}},
                                  {"Targuments", DataTypeVector()},
                                  {"preserve_cardinality", preserve}}));
  };
  EXPECT_THAT(scan(false), ElementsAre("0", "1", "end"));
  EXPECT_THAT(scan(true),
              ElementsAre("0", "1",
                          testing::HasSubstr(
                              "Function invocation produced OutOfRangeError: "),
                          "3", "end"));
}

TEST_F(InterruptedWalksTest, ScanStateTypesAreChecked) {
  const Tensor dataset = Make("ScanDataset", {Range(4), Int(0)},
                              {{"f", DatasetHarness::Function("sums")},
                               {"Tstate", DataTypeVector{DT_INT64}},
                               {"Targuments", DataTypeVector()}});
  ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(dataset));
  EXPECT_THAT(harness_.Pull(*walk, 2), ElementsAre("0", "1"));
  IteratorStateWriter::Values values;
  IteratorContext context = harness_.Context();
  ASSERT_OK(walk->Save(context, IteratorStateWriter(values)));
  ASSERT_OK_AND_ASSIGN(auto other, harness_.Walk(dataset));
  ASSERT_OK(other->Restore(context, IteratorStateReader(values)));
  EXPECT_THAT(harness_.Pull(*other), ElementsAre("3", "6", "end"));
  values["state/0"] = Tensor::Scalar("three");
  EXPECT_THAT(other->Restore(context, IteratorStateReader(values)),
              StatusIs(kInvalid, "state"));
}

// Yields a single zero. The step is interrupted at the end of the data, which
// is reported all the same.
class InterruptedAtItsEnd : public Dataset {
 public:
  explicit InterruptedAtItsEnd(Interruption& interruption)
      : Dataset("Zero", DatasetHarness::Ints()), interruption_(interruption) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator : public IteratorOf<InterruptedAtItsEnd> {
   public:
    using IteratorOf::IteratorOf;
    absl::StatusOr<bool> GetNext(IteratorContext&,
                                 DatasetElement* element) override {
      if (has_given_) {
        dataset().interruption_.Pass().IgnoreError();
        return false;
      }
      has_given_ = true;
      element->assign(1, Int(0));
      return true;
    }

   private:
    bool has_given_ = false;
  };

  Interruption& interruption_;
};

// No iterator is created in a cancelled step; the next step creates it.
TEST_F(InterruptedWalksTest, CancelledRepeatRestartsInTheNextStep) {
  const Tensor one =
      ToTensor(std::make_shared<InterruptedAtItsEnd>(interruption_));
  const Tensor thrice = Make("RepeatDataset", {one, Int(3)});
  ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(thrice));
  EXPECT_THAT(harness_.Pull(*walk, 1), ElementsAre("0"));
  Cancellation step;
  interruption_.Arm(step, 0);
  IteratorContext context = harness_.Context().With(step);
  DatasetElement element;
  EXPECT_THAT(walk->GetNext(context, &element).status(),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_THAT(harness_.Pull(*walk), ElementsAre("0", "0", "end"));
}

}  // namespace
}  // namespace weft
