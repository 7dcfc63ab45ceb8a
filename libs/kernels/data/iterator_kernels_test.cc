#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/data/iterator_resource.h"
#include "libs/kernels/data/testing/dataset_harness.h"
#include "libs/tensor/resource_handle.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

AttrMap IntAttrs(AttrMap more = {}) {
  more["output_types"] = DataTypeVector{DT_INT64};
  more["output_shapes"] = std::vector<PartialShape>{PartialShape::Scalar()};
  return more;
}

class IteratorKernelsTest : public ::testing::Test {
 protected:
  KernelTestHarness& kernels() { return harness_.kernels(); }

  // The kernel is kept, as in a session.
  Tensor NewIterator(const std::string& shared_name = "") {
    auto kernel = kernels().Make(
        "IteratorV2", {},
        IntAttrs({{"shared_name", shared_name}, {"container", ""}}));
    EXPECT_OK(kernel);
    makers_.push_back(*std::move(kernel));
    return (*makers_.back()->Run({}))[0];
  }
  absl::Status Initialize(const Tensor& iterator, const Tensor& dataset) {
    return kernels().Run("MakeIterator", {dataset, iterator}).status();
  }
  absl::StatusOr<int64_t> Next(const Tensor& iterator) {
    ASSIGN_OR_RETURN(
        const Tensor next,
        kernels().RunOne("IteratorGetNext", {iterator}, IntAttrs()));
    return next.scalar<int64_t>();
  }

  // Returns the numbers 0 to `size` - 1, where number `at` fails with
  // OUT_OF_RANGE.
  absl::StatusOr<Tensor> FailsAt(int64_t at, int64_t size) {
    harness_.functions().Add(
        "filter", {DT_INT64}, {DT_BOOL},
        [at](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          if (args[0].scalar<int64_t>() == at) {
            return absl::OutOfRangeError("a queue is closed");
          }
          return std::vector<Tensor>{Tensor::Scalar<bool>(true)};
        });
    return harness_.Make("FilterDataset", {harness_.Range(size)},
                         DatasetHarness::Ints(),
                         {{"predicate", DatasetHarness::Function("filter")},
                          {"Targuments", DataTypeVector()}});
  }
  absl::StatusOr<Tensor> Reduced(const Tensor& dataset,
                                 const std::string& function) {
    return kernels().RunOne("ReduceDataset",
                            {dataset, Tensor::Scalar(int64_t{10})},
                            IntAttrs({{"f", DatasetHarness::Function(function)},
                                      {"Tstate", DataTypeVector{DT_INT64}},
                                      {"Targuments", DataTypeVector()}}));
  }
  // Adds the functions "sum" and "none". "none" fails with OUT_OF_RANGE.
  void AddReducers() {
    harness_.functions().Add(
        "sum", {DT_INT64, DT_INT64}, {DT_INT64}, [](std::vector<Tensor> args) {
          return std::vector<Tensor>{Tensor::Scalar(args[0].scalar<int64_t>() +
                                                    args[1].scalar<int64_t>())};
        });
    harness_.functions().Add(
        "none", {DT_INT64, DT_INT64}, {DT_INT64},
        [](std::vector<Tensor>) -> absl::StatusOr<std::vector<Tensor>> {
          return absl::OutOfRangeError("the reducer's own");
        });
  }
  // Returns attrs with a function that returns its argument.
  AttrMap Same(AttrMap more = {}) {
    harness_.functions().Add("same", {DT_INT64}, {DT_INT64},
                             [](std::vector<Tensor> args) { return args; });
    more["f"] = DatasetHarness::Function("same");
    more["Targuments"] = DataTypeVector();
    return more;
  }

  DatasetHarness harness_;
  std::vector<std::unique_ptr<KernelTestHarness::Kernel>> makers_;
};

TEST_F(IteratorKernelsTest, ElementsThenTheEnd) {
  const Tensor iterator = NewIterator();
  EXPECT_THAT(Next(iterator),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "GetNext() failed because the iterator has not been "
                       "initialized."));
  ASSERT_OK(Initialize(iterator, harness_.Range(2)));
  EXPECT_EQ(*Next(iterator), 0);
  EXPECT_EQ(*Next(iterator), 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Next(iterator),
                StatusIs(absl::StatusCode::kOutOfRange, "End of sequence"));
  }
  ASSERT_OK(Initialize(iterator, harness_.Range(1)));
  EXPECT_EQ(*Next(iterator), 0);
}

// As in TensorFlow 2.21. A loop would mistake OUT_OF_RANGE for the end of the
// data.
TEST_F(IteratorKernelsTest, ElementOutOfRangeIsNotTheEnd) {
  ASSERT_OK_AND_ASSIGN(const Tensor filtered, FailsAt(1, 3));
  const Tensor iterator = NewIterator();
  ASSERT_OK(Initialize(iterator, filtered));
  EXPECT_EQ(*Next(iterator), 0);
  EXPECT_THAT(Next(iterator),
              StatusIs(absl::StatusCode::kInternal, "a queue is closed"));
  EXPECT_EQ(*Next(iterator), 2);
  EXPECT_THAT(Next(iterator),
              StatusIs(absl::StatusCode::kOutOfRange, "End of sequence"));
}

// Only the map's own function may end the data.
TEST_F(IteratorKernelsTest, InputOutOfRangeDoesNotEndAParallelMap) {
  ASSERT_OK_AND_ASSIGN(const Tensor input, FailsAt(2, 6));
  for (const char* ordered : {"true", "false"}) {
    for (const bool preserves : {false, true}) {
      SCOPED_TRACE(absl::StrCat(ordered, " ", preserves));
      ASSERT_OK_AND_ASSIGN(
          const Tensor mapped,
          harness_.Make("ParallelMapDatasetV2",
                        {input, Tensor::Scalar(int64_t{1})},
                        DatasetHarness::Ints(),
                        Same({{"deterministic", std::string(ordered)},
                              {"preserve_cardinality", preserves}})));
      const Tensor iterator = NewIterator();
      ASSERT_OK(Initialize(iterator, mapped));
      for (int64_t i = 0; i < 6; ++i) {
        if (i == 2) {
          EXPECT_THAT(Next(iterator), StatusIs(absl::StatusCode::kInternal,
                                               "a queue is closed"));
        } else {
          EXPECT_EQ(*Next(iterator), i);
        }
      }
      EXPECT_THAT(Next(iterator),
                  StatusIs(absl::StatusCode::kOutOfRange, "End of sequence"));
    }
  }
}

TEST_F(IteratorKernelsTest, InputOutOfRangeDoesNotEndBatches) {
  ASSERT_OK_AND_ASSIGN(const Tensor input, FailsAt(2, 6));
  for (const bool preserves : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const Tensor batches,
        harness_.Make("MapAndBatchDataset",
                      {input, Tensor::Scalar(int64_t{1}),
                       Tensor::Scalar(int64_t{2}), Tensor::Scalar(false)},
                      DatasetHarness::IntsOf(PartialShape()),
                      Same({{"preserve_cardinality", preserves}})));
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(batches));
    EXPECT_THAT(harness_.Pull(*walk, 2), ElementsAre("[1] 0", "[1] 1"));
    EXPECT_THAT(harness_.Next(*walk),
                StatusIs(absl::StatusCode::kOutOfRange, "a queue is closed"));
    EXPECT_THAT(harness_.Pull(*walk),
                ElementsAre("[1] 3", "[1] 4", "[1] 5", "end"));
  }
}

// An OUT_OF_RANGE of the reducer itself becomes the error of the step.
TEST_F(IteratorKernelsTest, ElementOutOfRangeFailsTheReduction) {
  AddReducers();
  ASSERT_OK_AND_ASSIGN(const Tensor input, FailsAt(2, 6));
  EXPECT_THAT(Reduced(input, "sum"),
              StatusIs(absl::StatusCode::kInternal, "a queue is closed"));
  EXPECT_THAT(Reduced(harness_.Range(3), "none"),
              StatusIs(absl::StatusCode::kOutOfRange, "the reducer's own"));
  for (const int64_t at : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(const Tensor fails, FailsAt(at, 2));
    EXPECT_THAT(kernels().RunOne("DatasetToSingleElement", {fails}, IntAttrs()),
                StatusIs(absl::StatusCode::kInternal, "a queue is closed"));
  }
}

TEST_F(IteratorKernelsTest, MismatchedDatasetsAreRejected) {
  const Tensor iterator = NewIterator();
  ASSERT_OK_AND_ASSIGN(
      const Tensor batches,
      harness_.Make("BatchDataset",
                    {harness_.Range(2), Tensor::Scalar(int64_t{2})},
                    DatasetHarness::IntsOf(PartialShape({-1}))));
  EXPECT_THAT(Initialize(iterator, batches),
              StatusIs(kInvalid, "Incompatible shapes at component 0"));
  ASSERT_OK_AND_ASSIGN(
      const Tensor words,
      harness_.Make("TensorDataset", {Tensor::Scalar("a")}, {},
                    {{"Toutput_types", DataTypeVector{DT_STRING}},
                     {"output_shapes",
                      std::vector<PartialShape>{PartialShape::Scalar()}}}));
  EXPECT_THAT(Initialize(iterator, words),
              StatusIs(kInvalid, "Data type mismatch at component 0"));
}

TEST_F(IteratorKernelsTest, IteratorsAreSharedByNameOnly) {
  const Tensor a = NewIterator("both"), b = NewIterator("both");
  ASSERT_OK(Initialize(a, harness_.Range(2)));
  EXPECT_EQ(*Next(a), 0);
  EXPECT_EQ(*Next(b), 1);
  const Tensor c = NewIterator(), d = NewIterator();
  ASSERT_OK(Initialize(c, harness_.Range(2)));
  EXPECT_OK(Next(c));
  EXPECT_THAT(Next(d), StatusIs(absl::StatusCode::kFailedPrecondition));
  // A private iterator ends with its kernel, and a shared one with a reset of
  // its container.
  makers_.clear();
  EXPECT_THAT(Next(c), StatusIs(absl::StatusCode::kNotFound));
  kernels().resources().ClearAll();
  EXPECT_THAT(Next(a), StatusIs(absl::StatusCode::kNotFound, "both"));
}

TEST_F(IteratorKernelsTest, StringHandlesIdentifyIterators) {
  const Tensor iterator = NewIterator();
  ASSERT_OK(Initialize(iterator, harness_.Range(3)));
  ASSERT_OK_AND_ASSIGN(const Tensor text,
                       kernels().RunOne("IteratorToStringHandle", {iterator}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor found,
      kernels().RunOne("IteratorFromStringHandleV2", {text}, IntAttrs()));
  EXPECT_EQ(*Next(found), 0);
  EXPECT_EQ(*Next(iterator), 1);
  const auto from = [&](const std::string& bad, AttrMap attrs) {
    return kernels().RunOne("IteratorFromStringHandleV2", {Tensor::Scalar(bad)},
                            std::move(attrs));
  };
  for (const std::string bad : {"", "nothing", "\x08\x14"}) {
    EXPECT_THAT(from(bad, IntAttrs()),
                StatusIs(kInvalid, "Could not parse string_handle"));
  }
  AttrMap floats = IntAttrs();
  floats["output_types"] = DataTypeVector{DT_FLOAT};
  EXPECT_THAT(from(text.scalar<std::string>(), floats),
              StatusIs(kInvalid, "Data type mismatch"));
}

TEST_F(IteratorKernelsTest, OneShotCreatesItsDatasetOnce) {
  int calls = 0;
  harness_.functions().Add("make", {}, {DT_VARIANT}, [&](std::vector<Tensor>) {
    ++calls;
    return std::vector<Tensor>{harness_.Range(2)};
  });
  ASSERT_OK_AND_ASSIGN(
      auto kernel,
      kernels().Make(
          "OneShotIterator", {},
          IntAttrs({{"dataset_factory", DatasetHarness::Function("make")}})));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> handle, kernel->Run({}));
  EXPECT_EQ(*Next(handle[0]), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> again, kernel->Run({}));
  EXPECT_EQ(*Next(again[0]), 1);
  EXPECT_THAT(Next(again[0]), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(calls, 1);
}

TEST_F(IteratorKernelsTest, OptionalIsEmptyAtTheEnd) {
  const Tensor iterator = NewIterator();
  ASSERT_OK(Initialize(iterator, harness_.Range(1)));
  std::vector<std::string> metadata;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(
        const Tensor next,
        kernels().RunOne("IteratorGetNextAsOptional", {iterator}, IntAttrs()));
    metadata.push_back(next.scalar<Variant>().metadata);
  }
  EXPECT_THAT(metadata, ElementsAre("1", ""));
}

// The function blocks until the event is set.
TEST_F(IteratorKernelsTest, CancelledWaitLosesNoElement) {
  const auto entered = kernels().scheduler().NewEvent();
  const auto go_on = kernels().scheduler().NewEvent();
  harness_.functions().Add("wait", {DT_INT64}, {DT_INT64},
                           [&](std::vector<Tensor> args) {
                             entered->Set();
                             go_on->Wait();
                             return args;
                           });
  ASSERT_OK_AND_ASSIGN(
      const Tensor mapped,
      harness_.Make("MapDataset", {harness_.Range(3)}, DatasetHarness::Ints(),
                    {{"f", DatasetHarness::Function("wait")},
                     {"Targuments", DataTypeVector()}}));
  const Tensor handle = NewIterator("shared");
  ASSERT_OK(Initialize(handle, mapped));
  ASSERT_OK_AND_ASSIGN(
      const auto iterator,
      kernels().resources().Lookup<IteratorResource>("", "shared"));

  // The first call is running; the second one waits for it.
  Cancellation at_work, waiting;
  const auto ended = kernels().scheduler().NewEvent();
  absl::Status first, second;
  iterator->GetNext(harness_.Context().With(at_work), [&](auto next) {
    first = next.status();
    ended->Set();
  });
  entered->Wait();
  iterator->GetNext(harness_.Context().With(waiting),
                    [&](auto next) { second = next.status(); });
  waiting.Cancel(absl::CancelledError("the second is cancelled"));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kCancelled, "the second"));
  at_work.Cancel(absl::CancelledError("the first is cancelled"));
  go_on->Set();
  ended->Wait();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kCancelled, "the first"));
  EXPECT_EQ(*Next(handle), 0);
  EXPECT_EQ(*Next(handle), 1);
}

TEST_F(IteratorKernelsTest, ReadyElementIsTakenOnTheCallersThread) {
  const Tensor handle = NewIterator("shared");
  ASSERT_OK(Initialize(handle, harness_.Range(1000)));
  ASSERT_OK_AND_ASSIGN(
      const auto iterator,
      kernels().resources().Lookup<IteratorResource>("", "shared"));
  for (int i = 0; i < 1000; ++i) {
    bool has_ended = false;
    iterator->GetNext(harness_.Context(), [&](auto next) {
      has_ended = next.ok() && next->has_value();
    });
    ASSERT_TRUE(has_ended) << i;
  }
}

// A dataset whose iterators signal their destruction.
class WatchedDataset : public Dataset {
 public:
  WatchedDataset(Event* ended)
      : Dataset("Watched", DatasetHarness::Ints()), ended_(ended) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator : public IteratorOf<WatchedDataset> {
   public:
    using IteratorOf::IteratorOf;
    ~Iterator() override { dataset().ended_->Set(); }
    absl::StatusOr<bool> GetNext(IteratorContext&,
                                 DatasetElement* element) override {
      *element = {Tensor::Scalar(int64_t{1})};
      return true;
    }
  };

  Event* const ended_;
};

TEST_F(IteratorKernelsTest, PipelineEndsWithOwnerOrReinitialization) {
  const auto first = kernels().scheduler().NewEvent();
  const auto second = kernels().scheduler().NewEvent();
  const auto third = kernels().scheduler().NewEvent();
  const Tensor own = NewIterator(), shared = NewIterator("shared");
  const auto watched = [](const std::unique_ptr<Event>& ended) {
    return ToTensor(std::make_shared<WatchedDataset>(ended.get()));
  };
  ASSERT_OK(Initialize(own, watched(first)));
  ASSERT_OK(Initialize(own, watched(second)));
  first->Wait();
  EXPECT_EQ(*Next(own), 1);
  ASSERT_OK(Initialize(shared, watched(third)));
  EXPECT_FALSE(second->IsSet());
  makers_.clear();
  second->Wait();
  EXPECT_FALSE(third->IsSet());
  kernels().resources().ClearContainer("");
  third->Wait();
}

// A failed Restore leaves the iterator at its position and usable.
TEST_F(IteratorKernelsTest, FailedRestoreKeepsThePosition) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor ahead,
      harness_.Make("PrefetchDataset",
                    {harness_.Range(9), Tensor::Scalar(int64_t{2})},
                    DatasetHarness::Ints()));
  const Tensor handle = NewIterator("shared");
  ASSERT_OK(Initialize(handle, ahead));
  ASSERT_OK_AND_ASSIGN(
      const auto iterator,
      kernels().resources().Lookup<IteratorResource>("", "shared"));
  const auto restore = [&](IteratorStateReader::Values values) {
    const auto ended = kernels().scheduler().NewEvent();
    absl::Status result;
    iterator->Restore(
        harness_.Context(),
        std::make_shared<const IteratorStateReader::Values>(std::move(values)),
        [&](const absl::Status& status) {
          result = status;
          ended->Set();
        });
    ended->Wait();
    return result;
  };
  EXPECT_EQ(*Next(handle), 0);
  EXPECT_THAT(restore({}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(*Next(handle), 1);
  // An incomplete state, and an element of another pipeline.
  IteratorStateReader::Values half;
  half["iterator/has_ended"] = Tensor::Scalar(int64_t{1});
  EXPECT_THAT(restore(half), StatusIs(absl::StatusCode::kNotFound));
  half["left/size"] = Tensor::Scalar(int64_t{1});
  half["left/0"] = Tensor::Scalar(1.0f);
  EXPECT_THAT(restore(half), StatusIs(kInvalid, "Data type mismatch"));
  for (int64_t i = 2; i < 9; ++i) EXPECT_EQ(*Next(handle), i);
  EXPECT_THAT(Next(handle), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(IteratorKernelsTest, ReduceAndToSingleElement) {
  AddReducers();
  ASSERT_OK_AND_ASSIGN(const Tensor sum, Reduced(harness_.Range(4), "sum"));
  EXPECT_EQ(sum.scalar<int64_t>(), 16);
  const auto single = [&](int64_t size) {
    return kernels().RunOne("DatasetToSingleElement", {harness_.Range(size)},
                            IntAttrs());
  };
  EXPECT_OK(single(1));
  EXPECT_THAT(single(0), StatusIs(kInvalid, "Dataset was empty."));
  EXPECT_THAT(single(2), StatusIs(kInvalid, "more than one element"));
  ASSERT_OK_AND_ASSIGN(
      const Tensor size,
      kernels().RunOne("DatasetCardinality", {harness_.Range(5)}));
  EXPECT_EQ(size.scalar<int64_t>(), 5);
}

}  // namespace
}  // namespace weft
