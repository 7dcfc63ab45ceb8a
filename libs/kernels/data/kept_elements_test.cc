// Tests iterators that buffer as many elements as an input requests: if memory
// is exhausted, they fail, and the process continues.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/testing/dataset_harness.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft {
namespace {

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr int64_t kMany = int64_t{1} << 60;

Tensor Int(int64_t value) { return Tensor::Scalar(value); }

AttrMap NoCaptures(std::vector<std::pair<const char*, const char*>> functions) {
  AttrMap attrs;
  for (const auto& [attr, function] : functions) {
    attrs[attr] = DatasetHarness::Function(function);
    attrs[absl::StrCat("T", attr, "_other_arguments")] = DataTypeVector();
  }
  return attrs;
}

class KeptElementsTest : public ::testing::Test {
 protected:
  KeptElementsTest() {
    const auto add = [this](const char* name, DataTypeVector args,
                            std::function<Tensor(std::vector<Tensor>)> body) {
      harness_.functions().Add(
          name, std::move(args), {DT_INT64},
          [body](std::vector<Tensor> values)
              -> absl::StatusOr<std::vector<Tensor>> {
            return std::vector<Tensor>{body(std::move(values))};
          });
    };
    add("same", {DT_INT64}, [](std::vector<Tensor> args) { return args[0]; });
    add("zero", {DT_INT64}, [](std::vector<Tensor>) { return Int(0); });
    add("many", {DT_INT64}, [](std::vector<Tensor>) { return Int(kMany); });
    add("first", {DT_INT64, DT_INT64},
        [](std::vector<Tensor> args) { return args[0]; });
    harness_.functions().Add(
        "same text", {DT_STRING}, {DT_STRING},
        [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          return args;
        });
    harness_.functions().Add(
        "window", {DT_INT64, DT_VARIANT}, {DT_VARIANT},
        [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          return std::vector<Tensor>{args[1]};
        });
  }

  // Returns an iterator with memory for a few thousand elements. Memory of
  // elements comes from the heap; the allocator's blocks are charges.
  absl::StatusOr<std::unique_ptr<DatasetIterator>> Walk(const Tensor& dataset) {
    constexpr size_t kBytes = size_t{1} << 17;
    allocators_.push_back(std::make_unique<SmallAllocator>(kBytes, kBytes));
    harness_.kernels().set_allocator(*allocators_.back());
    return harness_.Walk(dataset);
  }

  Tensor Make(const char* op, std::vector<Tensor> inputs, AttrMap attrs = {},
              ElementSpec spec = DatasetHarness::IntsOf(PartialShape())) {
    auto made =
        harness_.Make(op, std::move(inputs), std::move(spec), std::move(attrs));
    EXPECT_OK(made) << op;
    return *std::move(made);
  }
  absl::Status FirstError(const Tensor& dataset) {
    auto walk = Walk(dataset);
    if (!walk.ok()) return walk.status();
    return harness_.Next(**walk).status();
  }

  std::vector<std::unique_ptr<SmallAllocator>> allocators_;
  DatasetHarness harness_;
};

TEST_F(KeptElementsTest, ElementWithoutMemoryFails) {
  const Tensor range = harness_.Range(kMany);
  const Tensor drop = Tensor::Scalar(false);
  const Tensor rows = Make("BatchDataset", {range, Int(2)});
  const std::vector<std::pair<std::string, Tensor>> datasets = {
      {"batch", Make("BatchDatasetV2", {range, Int(kMany), drop})},
      {"padded batch",
       Make("PaddedBatchDatasetV2",
            {range, Int(kMany), Tensor(DT_INT64, {0}), Int(0), drop},
            {{"Toutput_types", DataTypeVector{DT_INT64}},
             {"output_shapes", std::vector<PartialShape>{PartialShape()}},
             {"N", int64_t{1}}},
            {})},
      {"sparse batch", Make("DenseToSparseBatchDataset",
                            {range, Int(kMany), Tensor(DT_INT64, {0})}, {},
                            {{DT_VARIANT}, {PartialShape()}})},
      {"rebatch", Make("RebatchDatasetV2",
                       {rows, Tensor::Vector<int64_t>({kMany}), drop})},
      {"window",
       Make("WindowDataset", {range, Int(kMany), Int(1), Int(1), drop}, {},
            {{DT_VARIANT}, {PartialShape()}})},
      {"shuffle", Make("ShuffleDataset", {range, Int(kMany), Int(5), Int(7)},
                       {{"reshuffle_each_iteration", false}})},
      {"shuffle and repeat", Make("ShuffleAndRepeatDataset",
                                  {range, Int(kMany), Int(5), Int(7), Int(-1)},
                                  {{"reshuffle_each_iteration", true}})},
      {"map and batch",
       Make("MapAndBatchDataset", {range, Int(kMany), Int(2), drop},
            {{"f", DatasetHarness::Function("same")},
             {"Targuments", DataTypeVector()},
             {"preserve_cardinality", true}})},
      {"parallel batch",
       Make("ParallelBatchDataset", {range, Int(kMany), Int(1), drop})},
      {"group by window", Make("GroupByWindowDataset", {range},
                               NoCaptures({{"key_func", "zero"},
                                           {"reduce_func", "window"},
                                           {"window_size_func", "many"}}))},
      {"groups", Make("GroupByWindowDataset", {range},
                      NoCaptures({{"key_func", "same"},
                                  {"reduce_func", "window"},
                                  {"window_size_func", "many"}}))},
      {"group by reducer", Make("GroupByReducerDataset", {range},
                                NoCaptures({{"key_func", "same"},
                                            {"init_func", "zero"},
                                            {"reduce_func", "first"},
                                            {"finalize_func", "same"}}))},
  };
  for (const auto& [name, dataset] : datasets) {
    EXPECT_THAT(FirstError(dataset), StatusIs(kExhausted, "OOM")) << name;
  }
}

TEST_F(KeptElementsTest, CacheAndUniqueFailWithoutMemory) {
  const Tensor range = harness_.Range(kMany);
  for (const Tensor& dataset :
       {Make("CacheDataset", {range, Tensor::Scalar(std::string())}),
        Make("UniqueDataset", {range})}) {
    ASSERT_OK_AND_ASSIGN(const auto walk, Walk(dataset));
    absl::Status status;
    for (int i = 0; status.ok() && i < 100000; ++i) {
      status = harness_.Next(*walk).status();
    }
    EXPECT_THAT(status, StatusIs(kExhausted, "OOM"));
  }
}

// Elements that leave a buffer make room for others.
TEST_F(KeptElementsTest, BuffersReturnReleasedMemory) {
  const auto skip = [&](const Tensor& dataset, int64_t count) {
    ASSERT_OK_AND_ASSIGN(const auto walk, Walk(dataset));
    IteratorContext context = harness_.Context();
    int64_t done = 0;
    EXPECT_OK(walk->Skip(context, count, &done));
    EXPECT_EQ(done, count);
  };
  const Tensor range = harness_.Range(kMany);
  skip(Make("ShuffleDataset", {range, Int(100), Int(5), Int(7)},
            {{"reshuffle_each_iteration", false}}),
       20000);
  skip(Make("WindowDataset",
            {range, Int(1000), Int(1000), Int(1), Tensor::Scalar(false)}, {},
            {{DT_VARIANT}, {PartialShape()}}),
       20);
}

// A batch copies a string that its elements share once per element.
TEST_F(KeptElementsTest, CopiesOfSharedStringsAreCounted) {
  const ElementSpec texts = {{DT_STRING}, {PartialShape()}};
  const ElementSpec variants = {{DT_VARIANT}, {PartialShape()}};
  const auto repeated = [&](TensorShape shape) {
    Tensor text(DT_STRING, std::move(shape));
    text.mutable_flat<std::string>()[0].assign(size_t{1} << 16, 'x');
    const Tensor one =
        Make("TensorDataset", {text},
             {{"Toutput_types", DataTypeVector{DT_STRING}}}, texts);
    return Make("RepeatDataset", {one, Int(200)}, {}, texts);
  };
  const Tensor scalars = repeated({});
  const Tensor rows = repeated({1});
  const Tensor drop = Tensor::Scalar(false);
  const std::vector<std::pair<std::string, Tensor>> datasets = {
      {"batch", Make("BatchDatasetV2", {scalars, Int(kMany), drop}, {}, texts)},
      {"parallel batch", Make("ParallelBatchDataset",
                              {scalars, Int(kMany), Int(1), drop}, {}, texts)},
      {"map and batch",
       Make("MapAndBatchDataset", {scalars, Int(kMany), Int(2), drop},
            {{"f", DatasetHarness::Function("same text")},
             {"Targuments", DataTypeVector()},
             {"preserve_cardinality", true}},
            texts)},
      {"padded batch",
       Make("PaddedBatchDatasetV2",
            {scalars, Int(kMany), Tensor(DT_INT64, {0}),
             Tensor::Scalar(std::string()), drop},
            {{"Toutput_types", DataTypeVector{DT_STRING}},
             {"output_shapes", std::vector<PartialShape>{PartialShape()}},
             {"N", int64_t{1}}},
            {})},
      {"rebatch",
       Make("RebatchDatasetV2", {rows, Tensor::Vector<int64_t>({kMany}), drop},
            {}, texts)},
      {"sparse batch",
       Make("DenseToSparseBatchDataset",
            {scalars, Int(kMany), Tensor(DT_INT64, {0})}, {}, variants)},
  };
  for (const auto& [name, dataset] : datasets) {
    EXPECT_THAT(FirstError(dataset), StatusIs(kExhausted, "OOM")) << name;
  }
}

TEST_F(KeptElementsTest, PaddingsAreCounted) {
  const Tensor text = Tensor::Vector<std::string>({"a"});
  const ElementSpec texts = {{DT_STRING}, {PartialShape()}};
  const Tensor one =
      Make("TensorDataset", {text},
           {{"Toutput_types", DataTypeVector{DT_STRING}}}, texts);
  const Tensor batch =
      Make("PaddedBatchDatasetV2",
           {one, Int(1), Tensor::Vector<int64_t>({200}),
            Tensor::Scalar(std::string(size_t{1} << 16, 'x')),
            Tensor::Scalar(false)},
           {{"Toutput_types", DataTypeVector{DT_STRING}},
            {"output_shapes", std::vector<PartialShape>{PartialShape({200})}},
            {"N", int64_t{1}}},
           {});
  EXPECT_THAT(FirstError(batch), StatusIs(kExhausted, "OOM"));
}

TEST_F(KeptElementsTest, LinesOfABatchAreCounted) {
  std::string lines;
  for (int i = 0; i < 50; ++i)
    lines += std::string(size_t{1} << 16, 'x') + "\n";
  ASSERT_OK(harness_.files().WriteFileAtomically("lines", lines));
  const ElementSpec texts = {{DT_STRING}, {PartialShape()}};
  const Tensor none = Tensor::Scalar(std::string());
  const Tensor read =
      Make("TextLineDataset",
           {Tensor::Vector<std::string>({"lines"}), none, Int(0)});
  const Tensor batch =
      Make("BatchDatasetV2", {read, Int(50), Tensor::Scalar(false)}, {}, texts);
  EXPECT_THAT(FirstError(batch), StatusIs(kExhausted, "OOM"));
}

// A key with a window of size zero creates no group.
TEST_F(KeptElementsTest, RefusedGroupsAreNotKept) {
  const Tensor windows = Make("GroupByWindowDataset", {harness_.Range(5)},
                              NoCaptures({{"key_func", "same"},
                                          {"reduce_func", "window"},
                                          {"window_size_func", "zero"}}));
  ASSERT_OK_AND_ASSIGN(const auto walk, Walk(windows));
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(harness_.Next(*walk).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, "Window size"));
  }
  IteratorContext context = harness_.Context();
  IteratorStateWriter::Values values;
  ASSERT_OK(walk->Save(context, IteratorStateWriter(values)));
  ASSERT_TRUE(values.contains("keys"));
  EXPECT_EQ(values.find("keys")->second.num_elements(), 0);
}

// The state of a cache or a shuffle buffer contains all buffered elements.
TEST_F(KeptElementsTest, TooLargeStateNamesTheDataset) {
  const Tensor range = harness_.Range(50);
  const std::pair<const char*, Tensor> datasets[] = {
      {"CacheDataset:",
       Make("CacheDataset", {range, Tensor::Scalar(std::string())})},
      {"ShuffleDataset:",
       Make("ShuffleDataset", {range, Int(40), Int(1), Int(2)},
            {{"reshuffle_each_iteration", true}})},
  };
  for (const auto& [name, dataset] : datasets) {
    ASSERT_OK_AND_ASSIGN(const auto walk, Walk(dataset));
    for (int i = 0; i < 30; ++i) ASSERT_OK(harness_.Next(*walk));
    IteratorContext context = harness_.Context();
    IteratorStateWriter::Values values;
    EXPECT_THAT(walk->Save(context, IteratorStateWriter(values, 200)),
                StatusIs(kExhausted, name));
    EXPECT_LT(values.size(), 30u) << "not collected";
    values.clear();
    EXPECT_OK(walk->Save(context, IteratorStateWriter(values)));
  }
}

TEST_F(KeptElementsTest, TensorsInVariantsCountOnce) {
  const auto element_of = [](std::vector<Tensor> tensors) {
    DatasetElement element{Tensor(DT_VARIANT, {})};
    element[0].mutable_scalar<Variant>() = Variant{
        "type", "", std::make_shared<const std::vector<Tensor>>(tensors)};
    return element;
  };
  // The memory of numbers comes from the allocator.
  EXPECT_LT(HeapBytesOf(element_of({Tensor(DT_INT64, {100000})})), 1000u);
  const Tensor text = Tensor::Scalar(std::string(100000, 'x'));
  EXPECT_LT(HeapBytesOf(element_of({text})), 1000u);  // shared
  const DatasetElement sole = [&] {
    std::vector<Tensor> tensors;
    tensors.push_back(Tensor::Scalar(std::string(100000, 'x')));
    DatasetElement element{Tensor(DT_VARIANT, {})};
    element[0].mutable_scalar<Variant>() = Variant{
        "type", "",
        std::make_shared<const std::vector<Tensor>>(std::move(tensors))};
    return element;
  }();
  EXPECT_GT(HeapBytesOf(sole), 100000u);
  const Variant other_owner = sole[0].scalar<Variant>();
  EXPECT_LT(HeapBytesOf(sole), 1000u);
}

TEST_F(KeptElementsTest, SharedTensorsAreNotCounted) {
  DatasetElement element;
  element.push_back(Tensor::Scalar(std::string(1000, 'x')));
  EXPECT_GT(HeapBytesOf(element), 1000u);
  const Tensor another_owner = element[0];
  EXPECT_LT(HeapBytesOf(element), 500u);
}

}  // namespace
}  // namespace weft
