// Tests nested datasets and datasets that share inputs, as deep and as wide as
// a loop in a graph can build them.
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/small_stack.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/control/nesting.h"
#include "libs/kernels/control/optional_value.h"
#include "libs/kernels/data/element_rows.h"
#include "libs/kernels/data/testing/dataset_harness.h"
#include "libs/kernels/math/math_kernels.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kTooDeep[] = "more than 1000 deep";

Tensor Int(int64_t value) { return Tensor::Scalar(value); }

class NestedDatasetsTest : public ::testing::Test {
 protected:
  NestedDatasetsTest()
      : kernels_([](KernelRegistry& registry) {
          RegisterDataKernels(registry);
          RegisterListKernels(registry);
          RegisterMathKernels(registry);
        }) {}

  static AttrMap VariantElements() {
    return {{"Toutput_types", DataTypeVector{DT_VARIANT}},
            {"output_shapes", std::vector<PartialShape>{PartialShape({})}}};
  }
  absl::StatusOr<Tensor> TensorDataset(Tensor inner) {
    return kernels_.RunOne("TensorDataset", {std::move(inner)},
                           VariantElements());
  }
  absl::StatusOr<Tensor> Take(const Tensor& input) {
    return harness_.Make("TakeDataset", {input, Int(5)},
                         DatasetHarness::Ints());
  }
  absl::StatusOr<Tensor> ListOf(Tensor inner) {
    ASSIGN_OR_RETURN(const Tensor empty,
                     kernels_.RunOne("EmptyTensorList",
                                     {Tensor::Scalar(-1), Tensor::Scalar(-1)},
                                     {{"element_dtype", DT_VARIANT}}));
    return kernels_.RunOne("TensorListPushBack", {empty, std::move(inner)});
  }
  absl::StatusOr<Tensor> OptionalFromValue(Tensor inner) {
    return kernels_.RunOne("OptionalFromValue", {std::move(inner)});
  }
  absl::StatusOr<Tensor> Concatenate(const Tensor& a, const Tensor& b) {
    return harness_.Make("ConcatenateDataset", {a, b}, DatasetHarness::Ints());
  }
  absl::StatusOr<Tensor> Choose(const Tensor& a, const Tensor& b) {
    ASSIGN_OR_RETURN(const Tensor ones,
                     harness_.Make("RangeDataset", {Int(1), Int(-1), Int(-1)},
                                   DatasetHarness::Ints()));
    return harness_.Make("DirectedInterleaveDataset", {ones, a, b},
                         DatasetHarness::Ints(), {{"N", int64_t{2}}});
  }
  static int64_t CardinalityOf(const Tensor& dataset) {
    return (*DatasetFrom(dataset))->Cardinality();
  }

  DatasetHarness harness_;
  KernelTestHarness kernels_;
};

TEST_F(NestedDatasetsTest, ChainOfDatasetsIsLimited) {
  Tensor chain = harness_.Range(3);
  for (int depth = 1; depth < kMaxNesting; ++depth) {
    ASSERT_OK_AND_ASSIGN(chain, Take(chain));
  }
  EXPECT_THAT(Take(chain), StatusIs(kInvalid, kTooDeep));
  // At the depth limit, iterators still work.
  EXPECT_THAT(harness_.PullAll(chain), ElementsAre("0", "1", "2", "end"));
  EXPECT_EQ(CardinalityOf(chain), 3);
}

TEST_F(NestedDatasetsTest, AllKindsOfVariantsShareTheLimit) {
  Tensor value = harness_.Range(3);
  for (int depth = 1; depth < kMaxNesting; ++depth) {
    ASSERT_OK_AND_ASSIGN(value, depth % 3 == 0   ? TensorDataset(value)
                                : depth % 3 == 1 ? ListOf(value)
                                                 : OptionalFromValue(value));
  }
  EXPECT_THAT(TensorDataset(value), StatusIs(kInvalid, kTooDeep));
  EXPECT_THAT(ListOf(value), StatusIs(kInvalid, kTooDeep));
  EXPECT_THAT(OptionalFromValue(value), StatusIs(kInvalid, kTooDeep));
  EXPECT_THAT(ElementsTensor("window", {}, {{value}}),
              StatusIs(kInvalid, kTooDeep));
}

TEST_F(NestedDatasetsTest, DeepestValuesAreDestroyedOnTheSmallestStack) {
  Tensor list = harness_.Range(3), datasets = list, mixed = list;
  for (int depth = 1; depth < kMaxNesting; ++depth) {
    ASSERT_OK_AND_ASSIGN(list, ListOf(list));
    ASSERT_OK_AND_ASSIGN(datasets, Take(datasets));
    ASSERT_OK_AND_ASSIGN(mixed, depth % 2 == 0 ? TensorDataset(mixed)
                                               : OptionalFromValue(mixed));
  }
  ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(datasets));
  EXPECT_TRUE(RunOnSmallStack([&] { walk.reset(); }));
  for (Tensor* value : {&list, &datasets, &mixed}) {
    ASSERT_TRUE(value->RefCountIsOne());
    EXPECT_TRUE(RunOnSmallStack([&] { *value = Tensor(); }));
  }
}

// The sum takes the deep element from the second list, because it is unset in
// the first.
TEST_F(NestedDatasetsTest, SumOfListsIsAsDeepAsTheDeeperOne) {
  ASSERT_OK_AND_ASSIGN(const Tensor unset,
                       kernels_.RunOne("TensorListReserve",
                                       {Tensor::Scalar(-1), Tensor::Scalar(1)},
                                       {{"element_dtype", DT_VARIANT}}));
  ASSERT_OK_AND_ASSIGN(Tensor deep, ListOf(harness_.Range(1)));
  ASSERT_OK_AND_ASSIGN(deep, ListOf(deep));
  ASSERT_OK_AND_ASSIGN(const Tensor sum, kernels_.RunOne("AddN", {unset, deep},
                                                         {{"N", int64_t{2}}}));
  EXPECT_EQ(NestingOf(sum.scalar<Variant>()), 3);
}

TEST_F(NestedDatasetsTest, SumOfListsKeepsTheKindOfTheFirst) {
  const auto reserve = [&](int rows) {
    return kernels_.RunOne("TensorListReserve",
                           {Tensor::Scalar(rows), Tensor::Scalar(1)},
                           {{"element_dtype", DT_VARIANT}});
  };
  ASSERT_OK_AND_ASSIGN(
      const Tensor scalars,
      kernels_.RunOne("TensorListReserve",
                      {Tensor(DT_INT32, {0}), Tensor::Scalar(1)},
                      {{"element_dtype", DT_VARIANT}}));
  ASSERT_OK_AND_ASSIGN(Tensor deep, reserve(-1));
  ASSERT_OK_AND_ASSIGN(const Tensor inner, ListOf(harness_.Range(1)));
  ASSERT_OK_AND_ASSIGN(deep, kernels_.RunOne("TensorListSetItem",
                                             {deep, Tensor::Scalar(0), inner}));
  const std::string& before = scalars.scalar<Variant>().metadata;
  ASSERT_OK_AND_ASSIGN(
      const Tensor sum,
      kernels_.RunOne("AddN", {scalars, deep}, {{"N", int64_t{2}}}));
  EXPECT_EQ(NestingOf(sum.scalar<Variant>()), 3);
  EXPECT_EQ(sum.scalar<Variant>().metadata,
            absl::StrReplaceAll(before, {{" 1 ", " 3 "}}));
}

// A client may send arbitrary metadata.
TEST_F(NestedDatasetsTest, ForgedDepthDoesNotLiftTheLimit) {
  const auto forged = [](std::string type, std::string metadata) {
    return Variant{std::move(type), std::move(metadata), nullptr};
  };
  EXPECT_EQ(NestingOf(forged(kListType, "21 -1 -1000000 -1")), 1);
  EXPECT_EQ(NestingOf(forged(kListType, "21 -1 9223372036854775807 -1")),
            kMaxNesting);
  EXPECT_EQ(NestingOf(forged(kListType, "")), 1);
  EXPECT_EQ(NestingOf(forged(kOptionalType, "1 -5")), 1);
  EXPECT_EQ(NestingOf(forged(kDatasetType, "name")), 1);
  Tensor list(DT_VARIANT, {});
  list.mutable_scalar<Variant>() = forged(kListType, "21 -1 -1000000 -1");
  ASSERT_OK_AND_ASSIGN(const Tensor inner, ListOf(harness_.Range(1)));
  ASSERT_OK_AND_ASSIGN(const Tensor pushed,
                       kernels_.RunOne("TensorListPushBack", {list, inner}));
  EXPECT_EQ(NestingOf(pushed.scalar<Variant>()), 3);
}

TEST_F(NestedDatasetsTest, CardinalityOfSharedInputsIsFoundOnce) {
  Tensor dataset = harness_.Range(1);
  for (int i = 1; i <= 62; ++i) {
    ASSERT_OK_AND_ASSIGN(dataset, Concatenate(dataset, dataset));
    EXPECT_EQ(CardinalityOf(dataset), int64_t{1} << i);
  }
  ASSERT_OK_AND_ASSIGN(dataset, Concatenate(dataset, dataset));
  EXPECT_EQ(CardinalityOf(dataset), Dataset::kUnknownCardinality);
}

// TensorFlow's Counter is a range up to the largest int64.
TEST_F(NestedDatasetsTest, RangeUpToTheLargestNumberCountsAsInfinite) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto range = [&](int64_t start, int64_t stop) {
    return *harness_.Make("RangeDataset", {Int(start), Int(stop), Int(1)},
                          DatasetHarness::Ints());
  };
  EXPECT_EQ(CardinalityOf(range(0, kMost)), Dataset::kInfiniteCardinality);
  EXPECT_EQ(CardinalityOf(range(0, kMost - 1)), kMost - 1);
  EXPECT_EQ(CardinalityOf(range(kMost, kMost)), 0);
  EXPECT_THAT(
      harness_.PullAll(range(kMost - 2, kMost)),
      ElementsAre(absl::StrCat(kMost - 2), absl::StrCat(kMost - 1), "end"));
}

TEST_F(NestedDatasetsTest, InterleaveOfSharedInputsOpensThoseItReads) {
  Tensor dataset = harness_.Range(1);
  for (int i = 1; i <= 40; ++i) {
    ASSERT_OK_AND_ASSIGN(dataset, Choose(dataset, dataset));
  }
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(dataset));
  EXPECT_THAT(harness_.Pull(*walk, 1), ElementsAre("0"));
  ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
  ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(dataset));
  ASSERT_OK(harness_.Restore(*restored, state));
  EXPECT_THAT(harness_.Pull(*restored, 1), ElementsAre("0"));
}

TEST_F(NestedDatasetsTest, StateOfSharedListsIsLimited) {
  Variant list{.type_name = "list"};
  for (int depth = 0; depth < 20; ++depth) {
    Tensor inner(DT_VARIANT, TensorShape());
    inner.mutable_scalar<Variant>() = std::move(list);
    list = {.type_name = "list",
            .tensors = std::make_shared<std::vector<Tensor>>(1000, inner)};
  }
  Tensor state(DT_VARIANT, TensorShape());
  state.mutable_scalar<Variant>() = std::move(list);
  EXPECT_THAT(EncodeIteratorState({{"lists", state}}, /*max_variants=*/5000),
              StatusIs(absl::StatusCode::kResourceExhausted, "variants"));
}

// The types and shapes in the attrs are enforced, because other kernels rely on
// them.
TEST_F(NestedDatasetsTest, ElementsAreOfThePromisedTypes) {
  const ElementSpec strings = {{DT_STRING}, {PartialShape({})}};
  const Tensor range = harness_.Range(3);
  const Tensor no_file = Tensor::Scalar(std::string());
  EXPECT_THAT(harness_.Make("PrefetchDataset", {range, Int(1)}, strings),
              StatusIs(kInvalid, "expected string but got int64"));
  EXPECT_THAT(harness_.Make("ShardDataset", {range, Int(2), Int(1)}, strings,
                            {{"require_non_empty", false}}),
              StatusIs(kInvalid, "expected string but got int64"));
  EXPECT_THAT(harness_.Make("CacheDataset", {range, no_file}, strings),
              StatusIs(kInvalid, "expected string but got int64"));
}

TEST_F(NestedDatasetsTest, MissingShapesAreUnknownShapes) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor dataset,
      kernels_.RunOne("TensorDataset", {Int(0), Int(3)},
                      {{"Toutput_types", DataTypeVector{DT_INT64, DT_INT64}},
                       {"output_shapes", std::vector<PartialShape>(1)}}));
  EXPECT_EQ((*DatasetFrom(dataset))->output_shapes().size(), 2u);
}

// f returns a FlatMap dataset that applies f to its elements, without end.
TEST_F(NestedDatasetsTest, FlatMapOfItselfEndsWithAnError) {
  const auto flat_map = [this] {
    return harness_.Make("FlatMapDataset", {harness_.Range(1)},
                         DatasetHarness::Ints(),
                         {{"f", DatasetHarness::Function("itself")},
                          {"Targuments", DataTypeVector()}});
  };
  harness_.functions().Add(
      "itself", {DT_INT64}, {DT_VARIANT},
      [&](std::vector<Tensor>) -> absl::StatusOr<std::vector<Tensor>> {
        ASSIGN_OR_RETURN(Tensor dataset, flat_map());
        return std::vector<Tensor>{std::move(dataset)};
      });
  EXPECT_THAT(harness_.PullAll(flat_map(), 1),
              ElementsAre(HasSubstr("nested more than 1000 deep")));
}

// Each level zips a dataset with itself, and Map keeps one component. So each
// level doubles the number of iterators.
class DoublingWalkTest : public NestedDatasetsTest {
 protected:
  DoublingWalkTest() {
    harness_.functions().Add(
        "first", {DT_INT64, DT_INT64}, {DT_INT64},
        [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          return std::vector<Tensor>{args[0]};
        });
  }
  absl::StatusOr<Tensor> Levels(int count) {
    Tensor dataset = harness_.Range(1);
    for (int i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(
          const Tensor pairs,
          harness_.Make("ZipDataset", {dataset, dataset},
                        {{DT_INT64, DT_INT64},
                         {PartialShape::Scalar(), PartialShape::Scalar()}},
                        {{"N", int64_t{2}}}));
      ASSIGN_OR_RETURN(
          dataset, harness_.Make("MapDataset", {pairs}, DatasetHarness::Ints(),
                                 {{"f", DatasetHarness::Function("first")},
                                  {"Targuments", DataTypeVector()}}));
    }
    return dataset;
  }
};

TEST_F(DoublingWalkTest, TooManyIteratorsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const Tensor dataset, Levels(35));
  ASSERT_OK_AND_ASSIGN(const DatasetPtr found, DatasetFrom(dataset));
  constexpr int64_t kOthers = IteratorPlace::kMaxIterators - 100;
  const auto count = std::make_shared<std::atomic<int64_t>>(kOthers);
  EXPECT_THAT(found->MakeIterator(harness_.Context().Counting(count)).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "more than 1048576 iterators"));
  EXPECT_EQ(*count, kOthers);
  // A new walk has its own count.
  ASSERT_OK_AND_ASSIGN(const Tensor small, Levels(3));
  EXPECT_THAT(harness_.PullAll(small), ElementsAre("0", "end"));
}

TEST_F(DoublingWalkTest, CancelledStepMakesNoIterator) {
  ASSERT_OK_AND_ASSIGN(const Tensor dataset, Levels(3));
  ASSERT_OK_AND_ASSIGN(const DatasetPtr found, DatasetFrom(dataset));
  Cancellation step;
  step.Cancel(absl::CancelledError("enough"));
  EXPECT_THAT(found->MakeIterator(harness_.Context().With(step)).status(),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
}

// Only existing iterators count towards the limit.
TEST_F(DoublingWalkTest, PlaceIsFreedWithItsIterator) {
  const auto count =
      std::make_shared<std::atomic<int64_t>>(IteratorPlace::kMaxIterators - 1);
  {
    ASSERT_OK_AND_ASSIGN(const IteratorPlace last, IteratorPlace::Take(count));
    EXPECT_THAT(IteratorPlace::Take(count).status(),
                StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_OK(IteratorPlace::Take(count).status());
}

}  // namespace
}  // namespace weft
