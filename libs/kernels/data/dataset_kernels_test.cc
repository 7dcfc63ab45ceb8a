#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/data/element_rows.h"
#include "libs/kernels/data/testing/dataset_harness.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

Tensor Int(int64_t value) { return Tensor::Scalar(value); }

class DatasetKernelsTest : public ::testing::Test {
 protected:
  using Harness = DatasetHarness;

  absl::StatusOr<Tensor> Range(int64_t start, int64_t stop, int64_t step) {
    return harness_.Make("RangeDataset", {Int(start), Int(stop), Int(step)},
                         Harness::Ints());
  }
  absl::StatusOr<Tensor> Slices(const Tensor& rows) {
    return harness_.Make(
        "TensorSliceDataset", {rows}, {},
        {{"Toutput_types", DataTypeVector{rows.dtype()}},
         {"output_shapes", std::vector<PartialShape>{PartialShape()}}});
  }
  // Returns vectors of the given sizes; each element is the size of its vector.
  absl::StatusOr<Tensor> Vectors(std::vector<int64_t> sizes) {
    harness_.functions().Add(
        "fill", {DT_INT64}, {DT_INT64},
        [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          const int64_t size = args[0].scalar<int64_t>();
          Tensor filled(DT_INT64, {size});
          for (int64_t& value : filled.mutable_flat<int64_t>()) value = size;
          return std::vector<Tensor>{filled};
        });
    ASSIGN_OR_RETURN(const Tensor slices,
                     Slices(Tensor::Vector<int64_t>(sizes)));
    return Map(slices, "fill", PartialShape({-1}));
  }
  absl::StatusOr<Tensor> Map(const Tensor& input, const std::string& function,
                             PartialShape shape = PartialShape::Scalar()) {
    return harness_.Make("MapDataset", {input}, Harness::IntsOf(shape),
                         {{"f", Harness::Function(function)},
                          {"Targuments", DataTypeVector()},
                          {"preserve_cardinality", true}});
  }
  absl::StatusOr<Tensor> Batch(const Tensor& input, int64_t size,
                               bool drop = false) {
    return harness_.Make("BatchDatasetV2",
                         {input, Int(size), Tensor::Scalar(drop)},
                         Harness::IntsOf(PartialShape()));
  }
  absl::StatusOr<Tensor> Padded(const Tensor& input, int64_t size,
                                const Tensor& shape, const Tensor& value) {
    return harness_.Make(
        "PaddedBatchDatasetV2",
        {input, Int(size), shape, value, Tensor::Scalar(false)}, {},
        {{"Toutput_types", DataTypeVector{DT_INT64}},
         {"output_shapes", std::vector<PartialShape>{PartialShape()}},
         {"N", 1}});
  }
  absl::StatusOr<Tensor> Shuffle(const Tensor& input, int64_t buffer,
                                 int64_t seed, bool reshuffle = true) {
    return harness_.Make(
        "ShuffleDataset", {input, Int(buffer), Int(seed), Int(7)},
        Harness::Ints(), {{"reshuffle_each_iteration", reshuffle}});
  }
  absl::StatusOr<Tensor> Counted(const char* op, const Tensor& input,
                                 int64_t count) {
    return harness_.Make(op, {input, Int(count)}, Harness::Ints());
  }
  // Adds the function x + 1, which fails for x = 2.
  void AddIncrement(const std::string& name, bool later) {
    harness_.functions().Add(
        name, {DT_INT64}, {DT_INT64},
        [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          const int64_t x = args[0].scalar<int64_t>();
          if (x == 2) return absl::InvalidArgumentError("two is not allowed");
          return std::vector<Tensor>{Int(x + 1)};
        },
        later);
  }

  DatasetHarness harness_;
};

TEST_F(DatasetKernelsTest, RangesOfAnyDirectionAndSize) {
  EXPECT_THAT(harness_.PullAll(Range(0, 7, 3)),
              ElementsAre("0", "3", "6", "end"));
  EXPECT_THAT(harness_.PullAll(Range(2, -3, -2)),
              ElementsAre("2", "0", "-2", "end"));
  EXPECT_THAT(harness_.PullAll(Range(3, 3, 1)), ElementsAre("end"));
  EXPECT_THAT(harness_.PullAll(Range(3, 0, 1)), ElementsAre("end"));
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(harness_.PullAll(Range(kMost, kLeast, kLeast)),
              ElementsAre("9223372036854775807", "-1", "end"));
  EXPECT_THAT(Range(kLeast, kMost, 1), StatusIs(kInvalid, "2**63 - 1"));
  EXPECT_THAT(Range(0, 1, 0),
              StatusIs(kInvalid, "step must be a non-zero integer."));
}

TEST_F(DatasetKernelsTest, SlicesAreTheRows) {
  EXPECT_THAT(harness_.PullAll(Slices(
                  Tensor::FromValues<int64_t>({3, 2}, {1, 2, 3, 4, 5, 6}))),
              ElementsAre("[2] 1 2", "[2] 3 4", "[2] 5 6", "end"));
  EXPECT_THAT(harness_.PullAll(Slices(Tensor(DT_INT64, {0, 2}))),
              ElementsAre("end"));
  EXPECT_THAT(Slices(Int(3)), StatusIs(kInvalid, "at least 1-dimensional"));
  EXPECT_THAT(
      harness_.Make(
          "TensorSliceDataset",
          {Tensor::Vector<int64_t>({1, 2}), Tensor::Vector<int64_t>({1})}, {},
          {{"Toutput_types", DataTypeVector{DT_INT64, DT_INT64}},
           {"output_shapes", std::vector<PartialShape>(2)}}),
      StatusIs(kInvalid, "same size in the 0th dimension"));
}

TEST_F(DatasetKernelsTest, SparseRowsAreSparse) {
  const auto make = [&](std::vector<int64_t> indices, Tensor shape) {
    const auto count = static_cast<int64_t>(indices.size()) / 2;
    return harness_.Make(
        "SparseTensorSliceDataset",
        {Tensor::FromValues<int64_t>({count, 2}, indices),
         Tensor::Vector<int64_t>(std::vector<int64_t>(count, 5)), shape},
        {}, {{"Tvalues", DT_INT64}});
  };
  const Tensor shape = Tensor::Vector<int64_t>({3, 4});
  EXPECT_THAT(harness_.PullAll(make({0, 1, 2, 0, 2, 3}, shape)),
              ElementsAre("[1,1] 1; [1] 5; [1] 4", "[0,1] ; [0] ; [1] 4",
                          "[2,1] 0 3; [2] 5 5; [1] 4", "end"));
  EXPECT_THAT(make({2, 0, 0, 1}, shape),
              StatusIs(absl::StatusCode::kUnimplemented, "ordered"));
  EXPECT_THAT(make({3, 0}, shape), StatusIs(kInvalid));
}

// Rows that only the shape counts take no memory.
TEST_F(DatasetKernelsTest, SparseRowsOfAnyNumber) {
  constexpr int64_t kRows = int64_t{1} << 40;
  ASSERT_OK_AND_ASSIGN(
      const Tensor rows,
      harness_.Make("SparseTensorSliceDataset",
                    {Tensor::FromValues<int64_t>({2, 2}, {0, 0, 3, 1}),
                     Tensor::Vector<int64_t>({5, 6}),
                     Tensor::Vector<int64_t>({kRows, 2})},
                    {}, {{"Tvalues", DT_INT64}}));
  EXPECT_THAT(harness_.PullAll(rows, 5),
              ElementsAre("[1,1] 0; [1] 5; [1] 2", "[0,1] ; [0] ; [1] 2",
                          "[0,1] ; [0] ; [1] 2", "[1,1] 1; [1] 6; [1] 2",
                          "[0,1] ; [0] ; [1] 2"));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(rows));
  IteratorContext context = harness_.Context();
  int64_t done = 0;
  ASSERT_OK(walk->Skip(context, kRows - 1, &done));
  EXPECT_EQ(done, kRows - 1);
  EXPECT_THAT(harness_.Pull(*walk), ElementsAre("[0,1] ; [0] ; [1] 2", "end"));
}

TEST_F(DatasetKernelsTest, TakeAndSkipLimitElements) {
  const Tensor range = harness_.Range(4);
  EXPECT_THAT(harness_.PullAll(Counted("TakeDataset", range, 2)),
              ElementsAre("0", "1", "end"));
  EXPECT_THAT(harness_.PullAll(Counted("TakeDataset", range, -1)),
              ElementsAre("0", "1", "2", "3", "end"));
  EXPECT_THAT(harness_.PullAll(Counted("SkipDataset", range, 3)),
              ElementsAre("3", "end"));
  EXPECT_THAT(harness_.PullAll(Counted("SkipDataset", range, 9)),
              ElementsAre("end"));
  EXPECT_THAT(harness_.PullAll(Counted("SkipDataset", range, -1)),
              ElementsAre("end"));
  EXPECT_THAT(harness_.PullAll(Counted("RepeatDataset", harness_.Range(2), 2)),
              ElementsAre("0", "1", "0", "1", "end"));
  EXPECT_THAT(harness_.PullAll(Counted("RepeatDataset", range, 0)),
              ElementsAre("end"));
  // Endless repetition of an empty dataset ends.
  EXPECT_THAT(harness_.PullAll(Counted("RepeatDataset", harness_.Range(0), -1)),
              ElementsAre("end"));
  EXPECT_EQ(harness_.PullAll(Counted("RepeatDataset", range, -1), 9).back(),
            "0");
}

TEST_F(DatasetKernelsTest, Shards) {
  const auto shard = [&](int64_t shards, int64_t index, bool non_empty) {
    return harness_.Make(
        "ShardDataset", {harness_.Range(5), Int(shards), Int(index)},
        DatasetHarness::Ints(), {{"require_non_empty", non_empty}});
  };
  EXPECT_THAT(harness_.PullAll(shard(2, 0, true)),
              ElementsAre("0", "2", "4", "end"));
  EXPECT_THAT(harness_.PullAll(shard(2, 1, false)),
              ElementsAre("1", "3", "end"));
  EXPECT_THAT(harness_.PullAll(shard(7, 6, false)), ElementsAre("end"));
  EXPECT_THAT(harness_.PullAll(shard(7, 6, true), 1),
              ElementsAre(HasSubstr("# elems = 5, # shards = 7")));
  EXPECT_THAT(shard(0, 0, false), StatusIs(kInvalid, "num_shards = 0"));
  EXPECT_THAT(shard(2, 2, false), StatusIs(kInvalid, "index = 2"));
  EXPECT_THAT(shard(2, -1, false), StatusIs(kInvalid, "index = -1"));
}

// As in TensorFlow, a failed element is not counted.
TEST_F(DatasetKernelsTest, ShardDoesNotCountErrors) {
  const auto shard = [&](int64_t fails, int64_t shards,
                         int64_t index) -> absl::StatusOr<Tensor> {
    harness_.functions().Add("fails", {DT_INT64}, {DT_INT64},
                             [fails](std::vector<Tensor> args)
                                 -> absl::StatusOr<std::vector<Tensor>> {
                               if (args[0].scalar<int64_t>() != fails)
                                 return args;
                               return absl::DataLossError("not this one");
                             });
    ASSIGN_OR_RETURN(const Tensor mapped, Map(harness_.Range(10), "fails"));
    return harness_.Make("ShardDataset", {mapped, Int(shards), Int(index)},
                         DatasetHarness::Ints(),
                         {{"require_non_empty", false}});
  };
  EXPECT_THAT(
      harness_.PullAll(shard(2, 2, 0)),
      ElementsAre("0", HasSubstr("not this one"), "3", "5", "7", "9", "end"));
  EXPECT_THAT(
      harness_.PullAll(shard(1, 2, 0)),
      ElementsAre("0", HasSubstr("not this one"), "3", "5", "7", "9", "end"));
  EXPECT_THAT(harness_.PullAll(shard(1, 3, 1)),
              ElementsAre(HasSubstr("not this one"), "2", "5", "8", "end"));
}

TEST_F(DatasetKernelsTest, ZipAndConcatenate) {
  const Tensor a = harness_.Range(2), b = harness_.Range(3);
  const ElementSpec two = {{DT_INT64, DT_INT64}, std::vector<PartialShape>(2)};
  EXPECT_THAT(harness_.PullAll(harness_.Make("ZipDataset", {a, b}, two)),
              ElementsAre("0; 0", "1; 1", "end"));
  EXPECT_THAT(harness_.Make("ZipDataset", {a, b}, DatasetHarness::Ints()),
              StatusIs(kInvalid, "Number of components does not match"));
  EXPECT_THAT(harness_.PullAll(harness_.Make("ConcatenateDataset", {a, b},
                                             DatasetHarness::Ints())),
              ElementsAre("0", "1", "0", "1", "2", "end"));
  ASSERT_OK_AND_ASSIGN(const Tensor floats, Slices(Tensor::Vector<float>({1})));
  EXPECT_THAT(
      harness_.Make("ConcatenateDataset", {a, floats}, DatasetHarness::Ints()),
      StatusIs(kInvalid, "different output_types"));
}

TEST_F(DatasetKernelsTest, NonDatasetsAreRejected) {
  Tensor variant(DT_VARIANT, TensorShape());
  EXPECT_THAT(Counted("TakeDataset", variant, 1),
              StatusIs(kInvalid, "must be a Dataset object"));
  EXPECT_THAT(Counted("TakeDataset", Tensor(DT_VARIANT, {2}), 1),
              StatusIs(kInvalid, "must be a scalar"));
  // A variant from another process may have a false type name.
  variant.mutable_scalar<Variant>().type_name =
      harness_.Range(1).scalar<Variant>().type_name;
  EXPECT_THAT(Counted("TakeDataset", variant, 1), StatusIs(kInvalid));
}

TEST_F(DatasetKernelsTest, Batches) {
  EXPECT_THAT(harness_.PullAll(Batch(harness_.Range(5), 2)),
              ElementsAre("[2] 0 1", "[2] 2 3", "[1] 4", "end"));
  EXPECT_THAT(harness_.PullAll(Batch(harness_.Range(5), 2, true)),
              ElementsAre("[2] 0 1", "[2] 2 3", "end"));
  // No memory is reserved for elements that do not exist.
  EXPECT_THAT(harness_.PullAll(Batch(harness_.Range(2), int64_t{1} << 60)),
              ElementsAre("[2] 0 1", "end"));
  EXPECT_THAT(Batch(harness_.Range(5), 0),
              StatusIs(kInvalid, "Batch size must be greater than zero."));
  EXPECT_THAT(Batch(harness_.Range(5), -3), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const Tensor words,
                       Slices(Tensor::Vector<std::string>(
                           {"a", "", "a long one, on the heap"})));
  EXPECT_THAT(harness_.PullAll(harness_.Make("BatchDataset", {words, Int(2)},
                                             {{DT_STRING}, {PartialShape()}})),
              ElementsAre("[2] a ", "[1] a long one, on the heap", "end"));
}

TEST_F(DatasetKernelsTest, BatchOfMixedShapesFailsAlone) {
  ASSERT_OK_AND_ASSIGN(const Tensor vectors, Vectors({1, 2, 3, 3}));
  EXPECT_THAT(harness_.PullAll(Batch(vectors, 2)),
              ElementsAre("Cannot add tensor to the batch: number of elements "
                          "does not match. Shapes are: [tensor]: [2], [batch]: "
                          "[1]. Use PaddedBatch for elements of different "
                          "shapes.",
                          "[2,3] 3 3 3 3 3 3", "end"));
}

TEST_F(DatasetKernelsTest, PaddedBatches) {
  ASSERT_OK_AND_ASSIGN(const Tensor vectors, Vectors({1, 2, 0}));
  const Tensor open = Tensor::Vector<int64_t>({-1});
  EXPECT_THAT(harness_.PullAll(Padded(vectors, 2, open, Int(-1))),
              ElementsAre("[2,2] 1 -1 2 2", "[1,0] ", "end"));
  EXPECT_THAT(harness_.PullAll(
                  Padded(vectors, 3, Tensor::Vector<int64_t>({3}), Int(0))),
              ElementsAre("[3,3] 1 0 0 2 2 0 0 0 0", "end"));
  EXPECT_THAT(harness_.PullAll(
                  Padded(vectors, 2, Tensor::Vector<int64_t>({1}), Int(0)), 1),
              ElementsAre(HasSubstr("Attempted to pad to a smaller size")));
  EXPECT_THAT(Padded(vectors, 2, Tensor::Vector<int64_t>({-1, -1}), Int(0)),
              StatusIs(kInvalid, "must have the rank of its elements"));
  EXPECT_THAT(Padded(vectors, 2, Tensor::Vector<int64_t>({-2}), Int(0)),
              StatusIs(kInvalid));
  EXPECT_THAT(Padded(vectors, 0, open, Int(0)), StatusIs(kInvalid));
  EXPECT_THAT(Padded(vectors, 2, open, Tensor::Vector<int64_t>({0})),
              StatusIs(kInvalid, "All padding values must be scalars"));
  // The size exceeds all memory.
  EXPECT_THAT(harness_.PullAll(
                  Padded(vectors, 2,
                         Tensor::Vector<int64_t>({int64_t{1} << 61}), Int(0)),
                  1),
              ElementsAre(Not("end")));
}

TEST_F(DatasetKernelsTest, ShuffleOrderDependsOnItsSeed) {
  const Tensor range = harness_.Range(10);
  std::vector<std::string> all = harness_.PullAll(range);
  const auto first = harness_.PullAll(Shuffle(range, 4, 1));
  EXPECT_THAT(first, UnorderedElementsAreArray(all));
  EXPECT_NE(first, all);
  EXPECT_EQ(harness_.PullAll(Shuffle(range, 4, 1)), first);
  EXPECT_NE(harness_.PullAll(Shuffle(range, 4, 2)), first);
  // Only existing elements are buffered.
  EXPECT_THAT(harness_.PullAll(Shuffle(range, int64_t{1} << 60, 1)),
              UnorderedElementsAreArray(all));
  EXPECT_THAT(Shuffle(range, 0, 1), StatusIs(kInvalid, "buffer_size"));
  EXPECT_THAT(Shuffle(range, -1, 1), StatusIs(kInvalid, "buffer_size"));

  ASSERT_OK_AND_ASSIGN(const Tensor again, Shuffle(range, 10, 1));
  EXPECT_NE(harness_.PullAll(again), harness_.PullAll(again));
  ASSERT_OK_AND_ASSIGN(const Tensor same, Shuffle(range, 10, 1, false));
  EXPECT_EQ(harness_.PullAll(same), harness_.PullAll(same));
}

TEST_F(DatasetKernelsTest, ShufflesAndRepeats) {
  const auto make = [&](int64_t size, int64_t count) {
    return harness_.Make(
        "ShuffleAndRepeatDataset",
        {harness_.Range(size), Int(3), Int(1), Int(2), Int(count)},
        DatasetHarness::Ints(), {{"reshuffle_each_iteration", true}});
  };
  std::vector<std::string> twice = harness_.PullAll(make(3, 2));
  EXPECT_EQ(twice.size(), 7);
  std::sort(twice.begin(), twice.begin() + 3);
  EXPECT_THAT(std::vector<std::string>(twice.begin(), twice.begin() + 3),
              ElementsAre("0", "1", "2"));
  EXPECT_THAT(harness_.PullAll(make(0, -1)), ElementsAre("end"));
  EXPECT_EQ(harness_.PullAll(make(3, -1), 30).size(), 30);
  EXPECT_THAT(make(3, 0), StatusIs(kInvalid, "count"));
}

TEST_F(DatasetKernelsTest, FailedElementCountsAsOneElement) {
  for (const bool later : {false, true}) {
    AddIncrement("f", later);
    EXPECT_THAT(harness_.PullAll(Map(harness_.Range(4), "f")),
                ElementsAre("1", "2",
                            "Error in user-defined function passed to "
                            "MapDataset:test transformation: two is not "
                            "allowed",
                            "4", "end"));
    // In a batch, the error also drops the earlier elements of the batch.
    ASSERT_OK_AND_ASSIGN(const Tensor mapped, Map(harness_.Range(6), "f"));
    EXPECT_THAT(harness_.PullAll(Batch(mapped, 2)),
                ElementsAre("[2] 1 2", HasSubstr("two is not allowed"),
                            "[2] 4 5", "[1] 6", "end"));
    EXPECT_THAT(harness_.PullAll(harness_.Make("IgnoreErrorsDataset", {mapped},
                                               DatasetHarness::Ints())),
                ElementsAre("1", "2", "4", "5", "6", "end"));
  }
}

TEST_F(DatasetKernelsTest, MismatchedFunctionsAreRejected) {
  AddIncrement("f", false);
  ASSERT_OK_AND_ASSIGN(const Tensor floats, Slices(Tensor::Vector<float>({1})));
  EXPECT_THAT(Map(floats, "f"), StatusIs(kInvalid, "argument 0 is int64"));
  EXPECT_THAT(Map(harness_.Range(1), "g"),
              StatusIs(absl::StatusCode::kNotFound, "'g' is not defined"));
  const auto with = [&](const char* op, AttrMap attrs) {
    attrs["Targuments"] = DataTypeVector();
    return harness_.Make(op, {harness_.Range(3)}, DatasetHarness::Ints(),
                         std::move(attrs));
  };
  const AttrValue f = DatasetHarness::Function("f");
  EXPECT_THAT(with("FilterDataset", {{"predicate", f}}),
              StatusIs(kInvalid, "must return a scalar bool"));
  EXPECT_THAT(with("FlatMapDataset", {{"f", f}}),
              StatusIs(kInvalid, "must return a single dataset"));
}

TEST_F(DatasetKernelsTest, FilterTakeWhileAndFlatMap) {
  harness_.functions().Add(
      "is_not_2", {DT_INT64}, {DT_BOOL}, [](std::vector<Tensor> args) {
        return std::vector<Tensor>{
            Tensor::Scalar(args[0].scalar<int64_t>() != 2)};
      });
  harness_.functions().Add(
      "range", {DT_INT64}, {DT_VARIANT}, [this](std::vector<Tensor> args) {
        return std::vector<Tensor>{harness_.Range(args[0].scalar<int64_t>())};
      });
  const auto with = [&](const char* op, const char* attr, const char* name,
                        std::vector<Tensor> more = {}) {
    std::vector<Tensor> inputs = {harness_.Range(4)};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return harness_.PullAll(
        harness_.Make(op, inputs, DatasetHarness::Ints(),
                      {{attr, DatasetHarness::Function(name)},
                       {"Targuments", DataTypeVector()}}));
  };
  EXPECT_THAT(with("FilterDataset", "predicate", "is_not_2"),
              ElementsAre("0", "1", "3", "end"));
  EXPECT_THAT(with("TakeWhileDataset", "predicate", "is_not_2"),
              ElementsAre("0", "1", "end"));
  EXPECT_THAT(with("FlatMapDataset", "f", "range"),
              ElementsAre("0", "0", "1", "0", "1", "2", "end"));
  EXPECT_THAT(with("InterleaveDataset", "f", "range", {Int(2), Int(1)}),
              ElementsAre("0", "0", "1", "0", "1", "2", "end"));
  EXPECT_THAT(with("InterleaveDataset", "f", "range", {Int(0), Int(1)}),
              ElementsAre(HasSubstr("cycle_length")));
  EXPECT_THAT(with("InterleaveDataset", "f", "range", {Int(1), Int(0)}),
              ElementsAre(HasSubstr("block_length")));
}

TEST_F(DatasetKernelsTest, WindowsAndRows) {
  const auto window = [&](int64_t size, int64_t shift, int64_t stride) {
    return harness_.Make("WindowDataset",
                         {harness_.Range(5), Int(size), Int(shift), Int(stride),
                          Tensor::Scalar(false)},
                         {{DT_VARIANT}, {PartialShape::Scalar()}});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor windows, window(2, 2, 1));
  ASSERT_OK_AND_ASSIGN(const auto iterator, harness_.Walk(windows));
  IteratorContext context = harness_.Context();
  DatasetElement element;
  std::vector<std::vector<std::string>> all;
  while (*iterator->GetNext(context, &element)) {
    all.push_back(harness_.PullAll(element[0]));
  }
  EXPECT_THAT(
      all, ElementsAre(ElementsAre("0", "1", "end"),
                       ElementsAre("2", "3", "end"), ElementsAre("4", "end")));
  EXPECT_THAT(window(0, 1, 1), StatusIs(kInvalid, "Window size"));
  EXPECT_THAT(window(1, 0, 1), StatusIs(kInvalid, "Window shift"));
  EXPECT_THAT(window(1, 1, 0), StatusIs(kInvalid, "Window stride"));
  EXPECT_THAT(window(int64_t{1} << 62, 1, 4), StatusIs(kInvalid, "too long"));

  const auto unbatch = [&](const Tensor& input) {
    return harness_.PullAll(
        harness_.Make("UnbatchDataset", {input}, DatasetHarness::Ints()));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor vectors, Vectors({2, 0, 1}));
  EXPECT_THAT(unbatch(vectors), ElementsAre("2", "2", "1", "end"));
  EXPECT_THAT(unbatch(harness_.Range(1)),
              ElementsAre(HasSubstr("non-scalar value"), "end"));
}

// ---- Positions ----

TEST_F(DatasetKernelsTest, IteratorResumesFromASavedPosition) {
  AddIncrement("f", false);
  const Tensor range = harness_.Range(7);
  harness_.functions().Add(
      "range", {DT_INT64}, {DT_VARIANT}, [this](std::vector<Tensor> args) {
        return std::vector<Tensor>{harness_.Range(args[0].scalar<int64_t>())};
      });
  const Tensor vectors = *Vectors({2, 0, 3});
  const std::vector<absl::StatusOr<Tensor>> datasets = {
      range,
      Slices(Tensor::Vector<int64_t>({1, 2, 3})),
      Counted("TakeDataset", range, 5),
      Counted("SkipDataset", range, 2),
      Counted("RepeatDataset", harness_.Range(3), 2),
      Map(range, "f"),
      Batch(range, 2),
      Shuffle(range, 3, 5, false),
      Shuffle(range, 3, 5, true),
      harness_.Make("ConcatenateDataset", {range, range},
                    DatasetHarness::Ints()),
      harness_.Make("ZipDataset", {range, harness_.Range(4)},
                    {{DT_INT64, DT_INT64}, std::vector<PartialShape>(2)}),
      harness_.Make("UnbatchDataset", {vectors}, DatasetHarness::Ints()),
      harness_.Make("InterleaveDataset", {range, Int(2), Int(2)},
                    DatasetHarness::Ints(),
                    {{"f", DatasetHarness::Function("range")},
                     {"Targuments", DataTypeVector()}}),
  };
  for (size_t d = 0; d < datasets.size(); ++d) {
    ASSERT_OK(datasets[d]) << d;
    for (int taken = 0; taken <= 8; ++taken) {
      SCOPED_TRACE(absl::StrCat("dataset ", d, " after ", taken));
      ASSERT_OK_AND_ASSIGN(auto iterator, harness_.Walk(*datasets[d]));
      harness_.Pull(*iterator, taken);
      IteratorStateWriter::Values values;
      IteratorContext context = harness_.Context();
      ASSERT_OK(iterator->Save(context, IteratorStateWriter(values)));
      const auto rest = harness_.Pull(*iterator);
      ASSERT_OK_AND_ASSIGN(auto other, harness_.Walk(*datasets[d]));
      ASSERT_OK(other->Restore(context, IteratorStateReader(values)));
      EXPECT_EQ(harness_.Pull(*other), rest);
    }
  }
}

// Returns each window as a text of its elements.
std::vector<std::string> PullWindows(DatasetHarness& harness,
                                     DatasetIterator& iterator, int most) {
  std::vector<std::string> texts;
  IteratorContext context = harness.Context();
  DatasetElement element;
  for (int i = 0; i < most; ++i) {
    const auto has = iterator.GetNext(context, &element);
    if (has.ok() && !*has) break;
    texts.push_back(has.ok() ? absl::StrJoin(harness.PullAll(element[0]), " ")
                             : std::string(has.status().message()));
  }
  return texts;
}

TEST_F(DatasetKernelsTest, WindowsAreSavedWithTheErrorsInThem) {
  harness_.functions().Add(
      "not_4", {DT_INT64}, {DT_INT64},
      [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
        if (args[0].scalar<int64_t>() == 4) {
          return absl::DataLossError("four");
        }
        return args;
      });
  const Tensor input = *Map(harness_.Range(9), "not_4");
  for (const int64_t shift : {1, 2, 4}) {
    ASSERT_OK_AND_ASSIGN(
        const Tensor windows,
        harness_.Make(
            "WindowDataset",
            {input, Int(3), Int(shift), Int(1), Tensor::Scalar(false)},
            {{DT_VARIANT}, {PartialShape::Scalar()}}));
    for (int taken = 0; taken <= 9; ++taken) {
      SCOPED_TRACE(absl::StrCat("shift ", shift, " after ", taken));
      ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(windows));
      PullWindows(harness_, *walk, taken);
      ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
      ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(windows));
      ASSERT_OK(harness_.Restore(*restored, state));
      EXPECT_EQ(PullWindows(harness_, *restored, 20),
                PullWindows(harness_, *walk, 20));
    }
  }
}

TEST_F(DatasetKernelsTest, DirectedInterleaveFollowsItsSelector) {
  ASSERT_OK_AND_ASSIGN(const Tensor short_one, Range(0, 2, 1));
  ASSERT_OK_AND_ASSIGN(const Tensor long_one, Range(10, 14, 1));
  const auto choose = [&](std::vector<int64_t> choices, AttrMap attrs,
                          const char* op = "DirectedInterleaveDataset") {
    const Tensor rows = Tensor::Vector<int64_t>(choices);
    const auto selector = harness_.Make(
        "TensorSliceDataset", {rows}, {},
        {{"Toutput_types", DataTypeVector{DT_INT64}},
         {"output_shapes", std::vector<PartialShape>{PartialShape({})}}});
    EXPECT_OK(selector);
    attrs["N"] = int64_t{2};
    return harness_.Make(op, {*selector, short_one, long_one}, Harness::Ints(),
                         std::move(attrs));
  };
  const std::vector<int64_t> choices = {1, 0, 0, 0, 1, 0, 1};
  const std::vector<std::string> all = {"10", "0", "1", "11", "12", "end"};
  for (const char* op :
       {"DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor chosen, choose(choices, {}, op));
    EXPECT_EQ(harness_.PullAll(chosen), all);
    for (int taken = 0; taken < 6; ++taken) {
      ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(chosen));
      std::vector<std::string> texts = harness_.Pull(*walk, taken);
      ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
      ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(chosen));
      ASSERT_OK(harness_.Restore(*restored, state));
      for (std::string& text : harness_.Pull(*restored)) {
        texts.push_back(std::move(text));
      }
      EXPECT_EQ(texts, all) << taken;
    }
  }
  ASSERT_OK_AND_ASSIGN(const Tensor stops,
                       choose(choices, {{"stop_on_empty_dataset", true}}));
  EXPECT_THAT(harness_.PullAll(stops), ElementsAre("10", "0", "1", "end"));
  ASSERT_OK_AND_ASSIGN(const Tensor bad, choose({2}, {}));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(bad));
  EXPECT_THAT(harness_.Next(*walk),
              StatusIs(kInvalid, "Selector index out of range: 2 >= 2"));
}

TEST_F(DatasetKernelsTest, EmptyWindowIsSaved) {
  const Tensor empty = ToTensor(NewElementsDataset(
      "empty", {{DT_FLOAT, DT_INT64}, {PartialShape(), PartialShape({-1})}},
      {}));
  ASSERT_OK_AND_ASSIGN(const Variant state,
                       EncodeIteratorState({{"window", empty}}));
  ASSERT_OK_AND_ASSIGN(const auto values, DecodeIteratorState(state));
  EXPECT_EQ(values.at("window").dtype(), DT_VARIANT);
}

// The windows contain windows, each walked as a dataset. The position lies
// inside one of them.
TEST_F(DatasetKernelsTest, PositionInsideAWindowIsSaved) {
  harness_.functions().Add("same", {DT_VARIANT}, {DT_VARIANT},
                           [](std::vector<Tensor> args) { return args; });
  const auto windows = [&](const Tensor& of, int64_t size) {
    return *harness_.Make(
        "WindowDataset",
        {of, Int(size), Int(size), Int(1), Tensor::Scalar(false)},
        {{DT_VARIANT}, {PartialShape::Scalar()}});
  };
  const auto flat = [&](const Tensor& of, ElementSpec element) {
    return *harness_.Make("FlatMapDataset", {of}, std::move(element),
                          {{"f", DatasetHarness::Function("same")},
                           {"Targuments", DataTypeVector()}});
  };
  const Tensor nested = windows(windows(harness_.Range(11), 2), 3);
  const Tensor dataset =
      flat(flat(nested, {{DT_VARIANT}, {PartialShape::Scalar()}}),
           DatasetHarness::Ints());
  for (int taken = 0; taken <= 12; ++taken) {
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(dataset));
    harness_.Pull(*walk, taken);
    ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
    ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(dataset));
    ASSERT_OK(harness_.Restore(*restored, state));
    EXPECT_EQ(harness_.Pull(*restored), harness_.Pull(*walk)) << taken;
  }
}

TEST_F(DatasetKernelsTest, PendingAndEmittedGroupsAreSaved) {
  harness_.functions().Add("modulo", {DT_INT64}, {DT_INT64},
                           [](std::vector<Tensor> args) {
                             return std::vector<Tensor>{
                                 Tensor::Scalar(args[0].scalar<int64_t>() % 3)};
                           });
  harness_.functions().Add(
      "three", {DT_INT64}, {DT_INT64},
      [](std::vector<Tensor>) { return std::vector<Tensor>{Int(3)}; });
  harness_.functions().Add(
      "window", {DT_INT64, DT_VARIANT}, {DT_VARIANT},
      [](std::vector<Tensor> args) { return std::vector<Tensor>{args[1]}; });
  const auto function = DatasetHarness::Function;
  ASSERT_OK_AND_ASSIGN(
      const Tensor dataset,
      harness_.Make("GroupByWindowDataset", {harness_.Range(16)},
                    DatasetHarness::Ints(),
                    {{"key_func", function("modulo")},
                     {"reduce_func", function("window")},
                     {"window_size_func", function("three")},
                     {"Tkey_func_other_arguments", DataTypeVector()},
                     {"Treduce_func_other_arguments", DataTypeVector()},
                     {"Twindow_size_func_other_arguments", DataTypeVector()}}));
  for (int taken = 0; taken <= 17; ++taken) {
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(dataset));
    harness_.Pull(*walk, taken);
    ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
    ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(dataset));
    ASSERT_OK(harness_.Restore(*restored, state));
    EXPECT_EQ(harness_.Pull(*restored), harness_.Pull(*walk)) << taken;
  }
}

TEST_F(DatasetKernelsTest, WindowsOfEachTypeAreSaved) {
  for (int number = 1; number <= DT_UINT64; ++number) {
    const auto type = static_cast<DataType>(number);
    if (!IsSupportedType(type)) continue;
    const Tensor element(type, {2});
    IteratorStateWriter::Values values;
    values["window"] = ToTensor(NewElementsDataset(
        "Window", {{type}, {PartialShape({2})}}, {{element}, {element}}));
    ASSERT_OK_AND_ASSIGN(const Variant state, EncodeIteratorState(values));
    auto read = DecodeIteratorState(state);
    ASSERT_OK(read) << DataTypeName(type);
    const auto* elements =
        ElementsOf(*(*read)["window"].scalar<Variant>().object);
    ASSERT_NE(elements, nullptr);
    ASSERT_EQ(elements->size(), 2u);
    EXPECT_EQ((*elements)[1][0].dtype(), type);
    EXPECT_EQ((*elements)[1][0].shape(), TensorShape({2}));
  }
}

// Of all datasets inside elements, only windows are stored by value.
TEST_F(DatasetKernelsTest, StateWithANestedDatasetIsRejected) {
  IteratorStateWriter::Values values;
  values["element0/0"] = harness_.Range(2);
  EXPECT_THAT(EncodeIteratorState(values),
              StatusIs(absl::StatusCode::kUnimplemented, "RangeDataset"));
}

TEST_F(DatasetKernelsTest, DamagedPositionsAreRefused) {
  ASSERT_OK_AND_ASSIGN(auto iterator, harness_.Walk(harness_.Range(3)));
  IteratorContext context = harness_.Context();
  IteratorStateWriter::Values values;
  EXPECT_THAT(iterator->Restore(context, IteratorStateReader(values)),
              StatusIs(absl::StatusCode::kNotFound, "no 'next'"));
  values["next"] = Tensor::Scalar("three");
  EXPECT_THAT(iterator->Restore(context, IteratorStateReader(values)),
              StatusIs(kInvalid, "not a int64"));
  values["next"] = Int(4);
  EXPECT_THAT(iterator->Restore(context, IteratorStateReader(values)),
              StatusIs(kInvalid, "not within"));
}

TEST_F(DatasetKernelsTest, DamagedWindowsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const Tensor windows,
                       harness_.Make("WindowDataset",
                                     {harness_.Range(5), Int(2), Int(1), Int(1),
                                      Tensor::Scalar(false)},
                                     {{DT_VARIANT}, {PartialShape::Scalar()}}));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(windows));
  PullWindows(harness_, *walk, 1);
  IteratorContext context = harness_.Context();
  IteratorStateWriter::Values good;
  ASSERT_OK(walk->Save(context, IteratorStateWriter(good)));
  const auto restored = [&](absl::string_view name, Tensor value) {
    IteratorStateWriter::Values values = good;
    values.insert_or_assign(std::string(name), std::move(value));
    return walk->Restore(context, IteratorStateReader(values));
  };
  EXPECT_OK(restored("to_skip", Int(0)));
  EXPECT_THAT(restored("buffer/size", Int(int64_t{1} << 60)),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(restored("buffer/0/element/0", Tensor::Scalar(1.0f)),
              StatusIs(kInvalid));
  EXPECT_THAT(restored("buffer/0/code", Int(99)),
              StatusIs(absl::StatusCode::kNotFound));

  const auto window = [](std::vector<int64_t> numbers,
                         std::vector<Tensor> elements) {
    elements.insert(elements.begin(), Tensor::Vector<int64_t>(numbers));
    Tensor value(DT_VARIANT, TensorShape());
    value.mutable_scalar<Variant>() = {
        .type_name = "weft::Elements",
        .tensors =
            std::make_shared<const std::vector<Tensor>>(std::move(elements))};
    Variant state{.type_name = "weft::IteratorState", .metadata = "args\n"};
    state.tensors = std::make_shared<const std::vector<Tensor>>(1, value);
    return DecodeIteratorState(state).status();
  };
  EXPECT_OK(window({1, 1, DT_INT64, 0}, {Int(1)}));
  EXPECT_THAT(window({1, 1, DT_INT64, 0}, {Tensor::Scalar(1.0f)}),
              StatusIs(kInvalid, "another type"));
  EXPECT_THAT(window({2, 1, DT_INT64, 0}, {Int(1)}), StatusIs(kInvalid));
  EXPECT_THAT(window({1, 1, DT_INT64}, {Int(1)}), StatusIs(kInvalid));
  EXPECT_THAT(window({1, 1, DT_INT64, 300}, {Int(1)}), StatusIs(kInvalid));
  EXPECT_THAT(window({-1, -1}, {Int(1)}), StatusIs(kInvalid));
  EXPECT_THAT(window({}, {}), StatusIs(kInvalid));
}

}  // namespace
}  // namespace weft
