// Tests parallel datasets and prefetching: order, bounds, positions of errors,
// early destruction, and saved positions.
#include <atomic>
#include <new>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/kernels/data/background_work.h"
#include "libs/kernels/data/captured_function.h"
#include "libs/kernels/data/datasets/parallel_map.h"
#include "libs/kernels/data/element_file.h"
#include "libs/kernels/data/testing/dataset_harness.h"

namespace weft {
namespace {

using Numbers = std::vector<int64_t>;

Tensor Count(int64_t value) { return Tensor::Scalar<int64_t>(value); }

Numbers UpTo(int64_t end) {
  Numbers numbers(static_cast<size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

class ParallelDatasetsTest : public testing::Test {
 protected:
  Tensor Range(int64_t end) { return harness_.Range(end); }
  Tensor Over(absl::string_view op, const Tensor& input, Tensor arg) {
    return *harness_.Make(op, {input, std::move(arg)}, DatasetHarness::Ints());
  }
  Tensor Prefetch(const Tensor& input, int64_t size) {
    return Over("PrefetchDataset", input, Count(size));
  }
  Tensor Cache(const Tensor& input, std::string file) {
    return Over("CacheDataset", input,
                Tensor::Scalar<std::string>(std::move(file)));
  }
  // Returns an iterator that applies `map` to the elements of `input`.
  std::unique_ptr<DatasetIterator> Map(
      const Tensor& input, int64_t calls,
      std::function<absl::StatusOr<int64_t>(int64_t)> map,
      bool keeps_order = true) {
    ParallelMapOptions options;
    options.parallel_calls = calls;
    options.keeps_order = keeps_order;
    options.map = [map = std::move(map)](const IteratorContext&,
                                         const DatasetElement& element,
                                         CapturedFunction::Done done) {
      const auto result = map(element[0].scalar<int64_t>());
      if (!result.ok()) return done(result.status());
      done(DatasetElement{Count(*result)});
    };
    return NewParallelMapIterator(*DatasetFrom(input), *harness_.Walk(input),
                                  std::move(options), harness_.Context());
  }

  DatasetHarness harness_;
};

TEST_F(ParallelDatasetsTest, PrefetchKeepsTheOrder) {
  for (const int64_t size : {-1, 0, 1, 3, 1000}) {
    ASSERT_OK_AND_ASSIGN(const auto walk,
                         harness_.Walk(Prefetch(Range(100), size)));
    EXPECT_EQ(harness_.Rest<int64_t>(*walk), UpTo(100)) << size;
    EXPECT_THAT(harness_.Next(*walk), StatusIs(absl::StatusCode::kOutOfRange));
  }
  EXPECT_THAT(harness_.Make("PrefetchDataset", {Range(1), Count(-2)},
                            DatasetHarness::Ints()),
              StatusIs(absl::StatusCode::kInvalidArgument, "buffer_size"));
}

TEST_F(ParallelDatasetsTest, PrefetchResumesFromASavedPosition) {
  const Tensor dataset = Prefetch(Range(20), 4);
  for (size_t taken : {0, 1, 7, 19, 20}) {
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(dataset));
    Numbers all = harness_.Rest<int64_t>(*walk, taken);
    ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
    ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(dataset));
    ASSERT_OK(harness_.Restore(*restored, state));
    for (int64_t n : harness_.Rest<int64_t>(*restored)) all.push_back(n);
    EXPECT_EQ(all, UpTo(20)) << taken;
    // The iterator that was saved continues, too.
    EXPECT_EQ(harness_.Rest<int64_t>(*walk).size(), 20 - taken);
  }
}

// Batches, errors and ends must equal those without threads, also after a
// restore at any position.
TEST_F(ParallelDatasetsTest, ParallelBatchEqualsBatch) {
  harness_.functions().Add(
      "not_7", {DT_INT64}, {DT_INT64},
      [](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
        if (args[0].scalar<int64_t>() == 7) {
          return absl::DataLossError("seven");
        }
        return args;
      });
  ASSERT_OK_AND_ASSIGN(
      const Tensor input,
      harness_.Make("MapDataset", {Range(20)}, DatasetHarness::Ints(),
                    {{"f", DatasetHarness::Function("not_7")},
                     {"Targuments", DataTypeVector()},
                     {"preserve_cardinality", true}}));
  const ElementSpec spec = DatasetHarness::IntsOf(PartialShape());
  for (const auto& [size, drops] :
       {std::pair{3, true}, {3, false}, {1, false}, {100, true}, {20, true}}) {
    const Tensor drop = Tensor::Scalar<bool>(drops);
    ASSERT_OK_AND_ASSIGN(
        const Tensor plain,
        harness_.Make("BatchDatasetV2", {input, Count(size), drop}, spec));
    const std::vector<std::string> expected = harness_.PullAll(plain);
    for (const int64_t calls : {-1, 1, 4}) {
      ASSERT_OK_AND_ASSIGN(
          const Tensor parallel,
          harness_.Make("ParallelBatchDataset",
                        {input, Count(size), Count(calls), drop}, spec));
      EXPECT_EQ(harness_.PullAll(parallel), expected);
      for (const int taken : {0, 2, 6}) {
        SCOPED_TRACE(absl::StrCat(size, " by ", calls, " after ", taken));
        ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(parallel));
        std::vector<std::string> all = harness_.Pull(*walk, taken);
        if (!all.empty() && all.back() == "end") continue;
        ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
        ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(parallel));
        ASSERT_OK(harness_.Restore(*restored, state));
        for (std::string& text : harness_.Pull(*restored)) {
          all.push_back(std::move(text));
        }
        EXPECT_EQ(all, expected);
      }
    }
  }
  EXPECT_THAT(
      harness_.Make("ParallelBatchDataset",
                    {input, Count(0), Count(1), Tensor::Scalar<bool>(false)},
                    spec),
      StatusIs(absl::StatusCode::kInvalidArgument, "Batch size"));
}

// The first of the two examples has a = [7, 8]; the second lacks the feature.
TEST_F(ParallelDatasetsTest, SparseAndRaggedFeaturesAreVariants) {
  const std::string example(
      "\x0a\x0d\x0a\x0b\x0a\x01"
      "a\x12\x06\x1a\x04\x0a\x02\x07\x08",
      15);
  ASSERT_OK_AND_ASSIGN(
      const Tensor rows,
      Tensor::Vector<std::string>({example, ""}).Reshaped(TensorShape({1, 2})));
  ASSERT_OK_AND_ASSIGN(
      const Tensor examples,
      harness_.Make(
          "TensorSliceDataset", {rows}, {},
          {{"Toutput_types", DataTypeVector{DT_STRING}},
           {"output_shapes", std::vector<PartialShape>{PartialShape({2})}}}));
  const auto parse = [&](std::vector<std::string> sparse,
                         std::vector<std::string> ragged,
                         DataTypeVector split_types) {
    return harness_.Make(
        "ParseExampleDatasetV2", {examples, Count(1)},
        {{DT_VARIANT}, {PartialShape::UnknownRank()}},
        {{"sparse_types", DataTypeVector(sparse.size(), DT_INT64)},
         {"sparse_keys", std::move(sparse)},
         {"dense_keys", std::vector<std::string>{}},
         {"Tdense", DataTypeVector{}},
         {"dense_shapes", std::vector<PartialShape>{}},
         {"ragged_value_types", DataTypeVector(ragged.size(), DT_INT64)},
         {"ragged_keys", std::move(ragged)},
         {"ragged_split_types", std::move(split_types)}});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor parsed, parse({"a"}, {}, {}));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(parsed));
  ASSERT_OK_AND_ASSIGN(const Tensor parts, harness_.Next(*walk));
  ASSERT_EQ(parts.shape(), TensorShape({3}));
  std::vector<std::string> texts;
  for (const Variant& part : parts.flat<Variant>()) {
    EXPECT_EQ(part.type_name, "tensorflow::Tensor");
    texts.push_back(DatasetHarness::TextOf(*part.tensors));
  }
  EXPECT_EQ(texts,
            (std::vector<std::string>{"[2,2] 0 0 0 1", "[2] 7 8", "[2] 2 2"}));
  ASSERT_OK_AND_ASSIGN(const Tensor rows_parsed, parse({}, {"a"}, {DT_INT32}));
  ASSERT_OK_AND_ASSIGN(const auto rows_walk, harness_.Walk(rows_parsed));
  ASSERT_OK_AND_ASSIGN(const Tensor ragged, harness_.Next(*rows_walk));
  ASSERT_EQ(ragged.shape(), TensorShape());
  const Variant& variant = ragged.scalar<Variant>();
  EXPECT_EQ(variant.type_name, "RaggedTensorVariant");
  EXPECT_EQ(DatasetHarness::TextOf(*variant.tensors), "[3] 0 2 2; [2] 7 8");
  EXPECT_THAT(parse({}, {"a"}, {}), StatusIs(absl::StatusCode::kInvalidArgument,
                                             "ragged_split_types"));
}

// As in TensorFlow's kernels of V2 to V4, with their error texts.
TEST_F(ParallelDatasetsTest, InterleaveLimitsCallsToItsCycle) {
  const auto make = [&](const char* op, int64_t cycle, int64_t calls) {
    std::vector<Tensor> inputs = {Range(3), Count(cycle), Count(1)};
    const bool is_v4 = absl::EndsWith(op, "V4");
    if (is_v4) inputs.insert(inputs.end(), {Count(-1), Count(-1)});
    inputs.push_back(Count(calls));
    AttrMap attrs = {{"f", DatasetHarness::Function("range")},
                     {"Targuments", DataTypeVector()}};
    return harness_.Make(op, std::move(inputs), DatasetHarness::Ints(),
                         std::move(attrs));
  };
  harness_.functions().Add(
      "range", {DT_INT64}, {DT_VARIANT},
      [&](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
        return std::vector<Tensor>{Range(args[0].scalar<int64_t>())};
      });
  for (const char* op :
       {"ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3",
        "ParallelInterleaveDatasetV4"}) {
    EXPECT_THAT(
        make(op, 2, 3),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 "If `cycle_length` is set to a fixed value, "
                 "`num_parallel_calls` must be either `tf.data.AUTOTUNE` "
                 "(ops::kAutotune) or a value less than or equal to "
                 "`cycle_length`. However, "
                 "`num_parallel_calls` is 3 and `cycle_length` is 2"));
    for (const auto& [cycle, calls] : std::vector<std::pair<int64_t, int64_t>>{
             {2, 2}, {2, -1}, {-1, 3}, {-1, -1}}) {
      EXPECT_EQ(harness_.PullAll(make(op, cycle, calls)).size(), 4u) << op;
    }
    EXPECT_THAT(make(op, int64_t{1} << 40, 1),
                StatusIs(absl::StatusCode::kInvalidArgument, "at most"));
  }
}

// An iterator destroyed while it fills its buffer must leave no closure behind:
// the harness's scheduler would run it after the dataset is destroyed.
TEST_F(ParallelDatasetsTest, IteratorsMayBeDestroyedEarly) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(Prefetch(
                                              Prefetch(Range(1000000), 8), 8)));
    EXPECT_OK(harness_.Next(*walk));
    const auto map = Map(Range(1000000), 4, [](int64_t n) { return 2 * n; });
    EXPECT_OK(harness_.Next(*map));
  }
}

TEST_F(ParallelDatasetsTest, ParallelMapOrderIsOptional) {
  const auto twice = [](int64_t n) { return 2 * n; };
  const auto map = Map(Range(500), 4, twice);
  Numbers expected;
  for (int64_t n = 0; n < 500; ++n) expected.push_back(2 * n);
  EXPECT_EQ(harness_.Rest<int64_t>(*map), expected);
  const auto sloppy = Map(Range(500), 4, twice, false);
  const Numbers found = harness_.Rest<int64_t>(*sloppy);
  EXPECT_EQ(std::multiset<int64_t>(found.begin(), found.end()),
            std::multiset<int64_t>(expected.begin(), expected.end()));
}

TEST_F(ParallelDatasetsTest, ParallelCallsAreLimited) {
  std::atomic<int> running = 0, most = 0;
  const auto map = Map(Range(200), 2, [&](int64_t n) {
    const int now = ++running;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    --running;
    return n;
  });
  EXPECT_EQ(harness_.Rest<int64_t>(*map), UpTo(200));
  EXPECT_LE(most, 2);
  EXPECT_GE(most, 1);
}

TEST_F(ParallelDatasetsTest, MapErrorKeepsItsPosition) {
  const auto map = Map(Range(5), 3, [](int64_t n) -> absl::StatusOr<int64_t> {
    if (n == 2) return absl::InternalError("not this one");
    if (n == 3) return absl::OutOfRangeError("nor this one");
    return n;
  });
  EXPECT_EQ(harness_.Rest<int64_t>(*map), (Numbers{0, 1}));
  EXPECT_THAT(harness_.Next(*map), StatusIs(absl::StatusCode::kInvalidArgument,
                                            "OutOfRangeError: nor this one"));
  EXPECT_EQ(harness_.Rest<int64_t>(*map), (Numbers{4}));
}

TEST_F(ParallelDatasetsTest, ParallelMapResumesFromASavedPosition) {
  const auto fail_at_5 = [](int64_t n) -> absl::StatusOr<int64_t> {
    if (n == 5) return absl::InternalError("not this one");
    return n;
  };
  for (size_t taken : {0, 3, 4}) {
    const auto map = Map(Range(9), 3, fail_at_5);
    EXPECT_EQ(harness_.Rest<int64_t>(*map, taken).size(), taken);
    ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*map));
    const auto restored = Map(Range(9), 3, fail_at_5);
    ASSERT_OK(harness_.Restore(*restored, state));
    EXPECT_EQ(harness_.Rest<int64_t>(*restored).size(), 5 - taken);
    EXPECT_EQ(harness_.Rest<int64_t>(*restored), (Numbers{6, 7, 8}));
  }
}

TEST_F(ParallelDatasetsTest, WaitEndsWithItsStep) {
  // The calls end only when the test completes them.
  CapturedFunction::Done pending;
  const std::unique_ptr<Event> called = harness_.scheduler().NewEvent();
  ParallelMapOptions options;
  options.map = [&](const IteratorContext&, const DatasetElement&,
                    CapturedFunction::Done done) {
    pending = std::move(done);
    called->Set();
  };
  const Tensor range = Range(1);
  const auto map =
      NewParallelMapIterator(*DatasetFrom(range), *harness_.Walk(range),
                             std::move(options), harness_.Context());
  Cancellation step;
  const std::unique_ptr<Event> ended = harness_.scheduler().NewEvent();
  absl::Status status;
  harness_.scheduler().Schedule(Pool::kUnbounded, [&] {
    IteratorContext context = harness_.Context().With(step);
    DatasetElement element;
    status = map->GetNext(context, &element).status();
    ended->Set();
  });
  called->Wait();
  step.Cancel(absl::DeadlineExceededError("too late"));
  ended->Wait();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
  // The next step receives the element.
  pending(DatasetElement{Count(7)});
  pending = nullptr;
  ASSERT_OK_AND_ASSIGN(const Tensor next, harness_.Next(*map));
  EXPECT_EQ(next.scalar<int64_t>(), 7);
}

// A function may wait for something that no step does during a save.
TEST_F(ParallelDatasetsTest, SaveEndsWithItsStep) {
  const auto entered = harness_.scheduler().NewEvent();
  const auto go_on = harness_.scheduler().NewEvent();
  const auto map = Map(Range(6), 2, [&](int64_t n) {
    if (n == 1) {
      entered->Set();
      go_on->Wait();
    }
    return n;
  });
  ASSERT_OK_AND_ASSIGN(const Tensor first, harness_.Next(*map));
  EXPECT_EQ(first.scalar<int64_t>(), 0);
  entered->Wait();
  Cancellation step;
  step.Cancel(absl::CancelledError("the step is over"));
  IteratorContext context = harness_.Context().With(step);
  IteratorStateWriter::Values values;
  EXPECT_THAT(map->Save(context, IteratorStateWriter(values)),
              StatusIs(absl::StatusCode::kCancelled, "the step is over"));
  go_on->Set();
  EXPECT_EQ(harness_.Rest<int64_t>(*map), (Numbers{1, 2, 3, 4, 5}));
}

TEST_F(ParallelDatasetsTest, CacheIsFilledByACompletePass) {
  for (const char* file : {"", "cache"}) {
    const Tensor cached = Cache(Range(5), file);
    {
      ASSERT_OK_AND_ASSIGN(const auto partly, harness_.Walk(cached));
      EXPECT_EQ(harness_.Rest<int64_t>(*partly, 3), UpTo(3));
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(cached));
      EXPECT_EQ(harness_.Rest<int64_t>(*walk), UpTo(5)) << file << i;
    }
  }
  // Only the cache file is left; another dataset reads it.
  EXPECT_EQ(harness_.files().ListDirectory(".").value(),
            std::vector<std::string>{"cache.weft_cache"});
  ASSERT_OK_AND_ASSIGN(const auto another,
                       harness_.Walk(Cache(Range(0), "cache")));
  EXPECT_EQ(harness_.Rest<int64_t>(*another), UpTo(5));
}

TEST(ElementFileTest, PowerFailureLeavesAWholeFileOrNone) {
  int num_whole = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    MemoryFileSystem disk({.tracks_syncs = true});
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         ElementFileWriter::Create(disk, "elements", ".tmp"));
    for (const int64_t value : UpTo(5)) {
      ASSERT_OK(writer->Write({Tensor::Scalar(value)}));
    }
    ASSERT_OK(writer->Finish());
    disk.LosePower(*NewSeededRandom(seed));
    auto file = disk.NewRandomAccessFile("elements");
    if (absl::IsNotFound(file.status())) continue;
    ASSERT_OK(file.status());
    ElementFileReader reader("elements", *std::move(file));
    DatasetElement element;
    for (const int64_t value : UpTo(5)) {
      ASSERT_OK_AND_ASSIGN(
          const bool has,
          reader.Read(HeapAllocator(), DatasetHarness::Ints(), &element));
      ASSERT_TRUE(has) << value;
      EXPECT_EQ(element[0].scalar<int64_t>(), value);
    }
    ++num_whole;
  }
  EXPECT_GT(num_whole, 0);
}

TEST_F(ParallelDatasetsTest, CacheResumesFromASavedPosition) {
  for (const char* file : {"", "cache"}) {
    for (size_t taken : {0, 3, 5}) {
      (void)harness_.files().DeleteFile("cache.weft_cache");
      const Tensor cached = Cache(Range(5), file);
      for (int pass = 0; pass < 2; ++pass) {
        ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(cached));
        Numbers all = harness_.Rest<int64_t>(*walk, taken);
        ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
        const Tensor fresh = Cache(Range(5), file);
        ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(fresh));
        ASSERT_OK(harness_.Restore(*restored, state));
        for (int64_t n : harness_.Rest<int64_t>(*restored)) all.push_back(n);
        EXPECT_EQ(all, UpTo(5)) << file << " " << taken << " " << pass;
        harness_.Rest<int64_t>(*walk);
      }
    }
  }
}

// The saved position of an iterator that fills a file contains none of the
// elements. The restored iterator fills no file; the one after it does.
TEST_F(ParallelDatasetsTest, PositionInTheFirstPassIsSmall) {
  const std::string large(100000, 'x');
  ASSERT_OK_AND_ASSIGN(
      const Tensor texts,
      harness_.Make("TensorSliceDataset",
                    {Tensor::Vector<std::string>({large, large, "end"})},
                    {{DT_STRING}, {PartialShape::Scalar()}},
                    {{"Toutput_types", DataTypeVector{DT_STRING}}}));
  const auto cached = [&] {
    return *harness_.Make("CacheDataset",
                          {texts, Tensor::Scalar<std::string>("cache")},
                          {{DT_STRING}, {PartialShape::Scalar()}});
  };
  const Tensor first = cached(), second = cached();
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(first));
  EXPECT_EQ(harness_.Rest<std::string>(*walk, 2).size(), 2u);
  IteratorContext context = harness_.Context();
  IteratorStateWriter::Values values;
  ASSERT_OK(walk->Save(context, IteratorStateWriter(values)));
  for (const auto& [name, value] : values) {
    if (absl::StrContains(name, "input")) continue;
    EXPECT_LT(value.TotalBytes(), 1000u) << name;
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(second));
    ASSERT_OK(restored->Restore(context, IteratorStateReader(values)));
    EXPECT_EQ(harness_.Rest<std::string>(*restored),
              std::vector<std::string>{"end"});
    EXPECT_THAT(harness_.files().FileExists("cache.weft_cache"),
                StatusIs(absl::StatusCode::kNotFound));
    // This also holds for a position that the restored iterator saved.
    values.clear();
    ASSERT_OK_AND_ASSIGN(const auto again, harness_.Walk(first));
    EXPECT_EQ(harness_.Rest<std::string>(*again, 2).size(), 2u);
    ASSERT_OK(again->Save(context, IteratorStateWriter(values)));
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto next, harness_.Walk(second));
    EXPECT_EQ(harness_.Rest<std::string>(*next).size(), 3u);
    EXPECT_OK(harness_.files().FileExists("cache.weft_cache"));
  }
}

// An element lost by a cancelled step reappears in the next walk.
TEST_F(ParallelDatasetsTest, CacheWithLostElementsIsNotFilled) {
  for (const char* file : {"", "cache"}) {
    Cancellation step;
    bool loses = true;
    harness_.functions().Add(
        "lose", {DT_INT64}, {DT_INT64},
        [&](std::vector<Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
          if (!loses || args[0].scalar<int64_t>() != 2) return args;
          loses = false;
          step.Cancel(absl::CancelledError("the step is over"));
          return step.status();
        });
    ASSERT_OK_AND_ASSIGN(
        const Tensor input,
        harness_.Make("MapDataset", {Range(4)}, DatasetHarness::Ints(),
                      {{"f", DatasetHarness::Function("lose")},
                       {"Targuments", DataTypeVector()},
                       {"preserve_cardinality", true}}));
    const Tensor cached = Cache(input, file);
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(cached));
    EXPECT_EQ(harness_.Rest<int64_t>(*walk, 2), UpTo(2));
    IteratorContext context = harness_.Context().With(step);
    DatasetElement element;
    EXPECT_THAT(walk->GetNext(context, &element),
                StatusIs(absl::StatusCode::kCancelled));
    EXPECT_EQ(harness_.Rest<int64_t>(*walk), Numbers{3});
    EXPECT_EQ(harness_.Rest<int64_t>(*walk), Numbers{});
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK_AND_ASSIGN(const auto again, harness_.Walk(cached));
      EXPECT_EQ(harness_.Rest<int64_t>(*again), UpTo(4)) << file << i;
    }
  }
}

TEST_F(ParallelDatasetsTest, UnsupportedElementLeavesNoCacheFile) {
  ASSERT_OK_AND_ASSIGN(const Tensor windows,
                       harness_.Make("WindowDataset",
                                     {Range(3), Count(2), Count(2), Count(1),
                                      Tensor::Scalar<bool>(false)},
                                     {{DT_VARIANT}, {PartialShape::Scalar()}}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor cached,
      harness_.Make("CacheDataset",
                    {windows, Tensor::Scalar<std::string>("windows")},
                    {{DT_VARIANT}, {PartialShape::Scalar()}}));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(cached));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(harness_.Next(*walk),
                StatusIs(absl::StatusCode::kUnimplemented, "cannot be cached"));
  }
  EXPECT_THAT(harness_.Next(*walk), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(harness_.files().FileExists("windows.weft_cache"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ParallelDatasetsTest, DamagedCacheIsNamed) {
  ASSERT_OK(harness_.files().WriteFileAtomically("cache.weft_cache",
                                                 std::string(40, 'x')));
  ASSERT_OK_AND_ASSIGN(const auto walk,
                       harness_.Walk(Cache(Range(5), "cache")));
  EXPECT_THAT(harness_.Next(*walk), StatusIs(absl::StatusCode::kDataLoss,
                                             "cache.weft_cache: corrupted"));
}

// An exception in the function destroys the callback.
TEST_F(ParallelDatasetsTest, DroppedCallFails) {
  const Tensor range = Range(3);
  const auto walk = [&](bool throws) {
    ParallelMapOptions options;
    options.map = [throws](const IteratorContext&,
                           const DatasetElement& element,
                           CapturedFunction::Done done) {
      const bool is_one = element[0].scalar<int64_t>() == 1;
      if (is_one && throws) throw std::bad_alloc();
      if (!is_one) done(element);
    };
    return NewParallelMapIterator(*DatasetFrom(range), *harness_.Walk(range),
                                  std::move(options), harness_.Context());
  };
  for (const bool throws : {false, true}) {
    const auto iterator = walk(throws);
    EXPECT_OK(harness_.Next(*iterator));
    EXPECT_THAT(harness_.Next(*iterator),
                StatusIs(absl::StatusCode::kResourceExhausted, "aborted"));
    EXPECT_OK(harness_.Next(*iterator));
    EXPECT_THAT(harness_.Next(*iterator),
                StatusIs(absl::StatusCode::kOutOfRange));
  }
}

// A function that never calls its callback.
class DroppingFunction : public RunnableFunction, public FunctionRuntime {
 public:
  const DataTypeVector& arg_types() const override { return types_; }
  const DataTypeVector& result_types() const override { return types_; }
  void Run(const StepContext& step, std::vector<Tensor>,
           Done done) const override {
    step.scheduler->Schedule(Pool::kCompute, [done = std::move(done)] {});
  }
  absl::StatusOr<const RunnableFunction*> Find(const NameAttrList&) override {
    return this;
  }

 private:
  DataTypeVector types_;
};

TEST_F(ParallelDatasetsTest, AwaitedDroppedCallFails) {
  const auto runtime = std::make_shared<DroppingFunction>();
  ASSERT_OK_AND_ASSIGN(
      const auto function,
      CapturedFunction::Create("data set", runtime.get(),
                               NameAttrList{"f", nullptr}, {}, {}));
  EXPECT_THAT(function->Call(harness_.Context(), {}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, "aborted"));
}

TEST_F(ParallelDatasetsTest, StateOfAnotherDatasetIsRejected) {
  ASSERT_OK_AND_ASSIGN(const auto range, harness_.Walk(Range(5)));
  ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*range));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(Prefetch(Range(5), 2)));
  EXPECT_THAT(harness_.Restore(*walk, state),
              StatusIs(absl::StatusCode::kNotFound, "another dataset"));
  EXPECT_THAT(
      harness_.Restore(*walk, Variant()),
      StatusIs(absl::StatusCode::kInvalidArgument, "SerializeIterator"));
}

}  // namespace
}  // namespace weft
