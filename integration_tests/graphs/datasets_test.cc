// Tests dataset pipelines from a user's perspective: the elements that each
// method yields, the end of the input, errors of elements, and every kind of
// iterator, on one task and on several tasks. tools/conformance replays
// pipelines recorded from TensorFlow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

using ops::Dataset;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Values = std::vector<Output>;
using Int64s = std::vector<int64_t>;

constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
constexpr auto kUnready = absl::StatusCode::kFailedPrecondition;

Values Same(const Scope&, const Values& v) { return v; }

class DatasetsTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = absl::StrCat("/data/", name);
    EXPECT_OK(files_.CreateDirectories("/data"));
    EXPECT_OK(files_.WriteFileAtomically(path, contents));
    return path;
  }
  Dataset Range(int64_t n) { return Dataset::Range(root_, n); }

  void Connect() {
    if (session_ != nullptr) return;
    auto session = Session::Connect("", root_, {.process = &process_});
    ASSERT_OK(session);
    session_ = *std::move(session);
  }
  // Returns the first components of all elements, flattened and concatenated.
  template <typename T>
  std::vector<T> All(const ops::Iterator& iterator) {
    const Values next = iterator.GetNext(root_);
    Connect();
    if (iterator.initializer()) {
      EXPECT_OK(session_->Run(iterator.initializer()));
    }
    return Rest<T>(next[0]);
  }
  template <typename T>
  std::vector<T> All(const Dataset& dataset) {
    EXPECT_OK(root_.status());
    if (!dataset) return {};
    return All<T>(dataset.MakeInitializableIterator());
  }
  Int64s Numbers(const Dataset& dataset) { return All<int64_t>(dataset); }
  // Returns the remaining elements until the end of the input.
  template <typename T>
  std::vector<T> Rest(const Output& next) {
    std::vector<T> all;
    absl::StatusOr<Tensor> value;
    while ((value = session_->Run(next)).ok()) {
      for (const T& one : value->flat<T>()) all.push_back(one);
    }
    EXPECT_THAT(value, StatusIs(kOutOfRange, "End of sequence"));
    return all;
  }

  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }

  MemoryFileSystem files_;
  Process process_{InMemory(files_)};
  const Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

TEST_F(DatasetsTest, TensorSourcesYieldElements) {
  EXPECT_THAT(Numbers(Dataset::Range(root_, 5, -1, -2)), ElementsAre(5, 3, 1));
  EXPECT_THAT(
      Numbers(Dataset::FromTensors(root_, {Tensor::Vector<int64_t>({4, 5})})),
      ElementsAre(4, 5));
  const ops::Iterator rows =
      Dataset::FromTensorSlices(root_,
                                {Tensor::Vector<int64_t>({4, 5}),
                                 Tensor::Vector<std::string>({"a", "b"})},
                                {"number", "letter"})
          .MakeInitializableIterator();
  const auto named = rows.ByName(rows.GetNext(root_));
  ASSERT_OK(session_->Run(rows.initializer()));
  ASSERT_OK_AND_ASSIGN(
      const auto first,
      session_->Run({}, {named.at("number"), named.at("letter")}));
  EXPECT_EQ(first[0].scalar<int64_t>(), 4);
  EXPECT_EQ(first[1].scalar<std::string>(), "a");
}

TEST_F(DatasetsTest, TakeSkipAndRepeat) {
  EXPECT_THAT(Numbers(Range(3).Repeat(2)), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(Numbers(Range(2).Repeat().Take(5)), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(Numbers(Range(5).Skip(3)), ElementsAre(3, 4));
  EXPECT_THAT(Numbers(Range(7).Shard(3, 1)), ElementsAre(1, 4));
  EXPECT_THAT(Numbers(Range(2).Concatenate(Range(3))),
              ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(Numbers(Range(0)), ElementsAre());
}

// A map decodes all columns of a CSV row and packs them into one tensor.
TEST_F(DatasetsTest, MapMayPackCsvColumns) {
  const std::string path = Write("rows.csv", "1,2,3\n4,,6\n7,8,9\n");
  const Dataset lines =
      ops::TextLineDataset(root_, Tensor::Vector<std::string>({path}));
  const auto decode = [](const Scope& s, const Values& v) {
    const auto columns = ops::DecodeCSV(
        s.WithName("csv"), v[0], {Input(0.5f), Input(0.5f), Input(0.5f)});
    return Values{
        ops::Stack(s, InputList(columns.begin(), columns.end()), {.axis = -1})};
  };
  const std::vector<float> rows = {1, 2, 3, 4, 0.5f, 6, 7, 8, 9};
  EXPECT_EQ(All<float>(lines.Map(decode)), rows);
  EXPECT_EQ(All<float>(lines.Batch(2).Map(decode)), rows);
  const Output next =
      ops::TextLineDataset(
          root_, Tensor::Vector<std::string>({Write("bad.csv", "1,2,x\n")}))
          .Map(decode)
          .MakeOneShotIterator()
          .GetNext(root_)[0];
  const absl::Status status = session_->Run(next).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               "Field 2 in record 0 is not a valid float: x"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("csv"));
}

TEST_F(DatasetsTest, MapAndFilterTransformElements) {
  const auto twice = [](const Scope& s, const Values& v) {
    return Values{ops::Mul(s, v[0], 2)};
  };
  EXPECT_THAT(Numbers(Range(4).Map(twice)), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(Numbers(Range(4).Map(twice, {.num_parallel_calls = 3})),
              ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(Numbers(Range(4).Map(
                  twice, {.num_parallel_calls = 3, .deterministic = false})),
              UnorderedElementsAre(0, 2, 4, 6));
  EXPECT_THAT(Numbers(Range(6).Filter([](const Scope& s, const Values& v) {
                return ops::Less(s, int64_t{2}, v[0]);
              })),
              ElementsAre(3, 4, 5));
  EXPECT_THAT(Numbers(Range(6).TakeWhile([](const Scope& s, const Values& v) {
                return ops::Less(s, v[0], 2);
              })),
              ElementsAre(0, 1));
}

TEST_F(DatasetsTest, FlatMapInterleaveAndWindowNestDatasets) {
  const auto upto = [](const Scope& s, const Values& v) {
    return Dataset::Range(s, v[0]);
  };
  const auto thrice = [](const Scope& s, const Values& v) {
    return Dataset::FromTensors(s, {v[0]}).Repeat(3);
  };
  EXPECT_THAT(Numbers(Range(4).FlatMap(upto)), ElementsAre(0, 0, 1, 0, 1, 2));
  const Int64s in_turns = {0, 0, 1, 1, 0, 1, 2, 2, 2};
  EXPECT_THAT(Numbers(Range(3).Interleave(
                  thrice, {.cycle_length = 2, .block_length = 2})),
              ElementsAreArray(in_turns));
  EXPECT_THAT(Numbers(Range(3).Interleave(thrice, {.cycle_length = 2,
                                                   .block_length = 2,
                                                   .num_parallel_calls = 2})),
              ElementsAreArray(in_turns));
  const ops::ElementSpec number = Range(1).element();
  EXPECT_THAT(
      Numbers(Range(5).Window(2).FlatMap([&](const Scope& s, const Values& v) {
        return Dataset::FromVariant(s, v[0], number)
            .Batch(2)
            .Map([](const Scope& t, const Values& u) {
              return Values{ops::Sum(t, u[0], {0})};
            });
      })),
      ElementsAre(1, 5, 4));
}

TEST_F(DatasetsTest, GroupScanAndChooseYieldElements) {
  const auto parity = [](const Scope& s, const Values& v) {
    return ops::FloorMod(s, v[0], int64_t{2});
  };
  const auto sums = [](const Scope&, const Output& key, const Dataset& group) {
    return group.Batch(10).Map([&](const Scope& t, const Values& v) {
      return Values{
          ops::Add(t, ops::Sum(t, v[0], {0}), ops::Mul(t, key, int64_t{100}))};
    });
  };
  // The window sums are 0 + 2, 1 + 3 and 4 + 6. At the end, incomplete windows
  // yield the remaining elements by key.
  EXPECT_THAT(Numbers(Range(7).GroupByWindow(parity, sums, int64_t{2})),
              ElementsAre(2, 104, 10, 105));
  EXPECT_THAT(
      Numbers(Range(5).Scan({int64_t{10}},
                            [](const Scope& s, const Values& v) {
                              const Output sum = ops::Add(s, v[0], v[1]);
                              return Values{sum, ops::Mul(s, sum, int64_t{2})};
                            })),
      ElementsAre(20, 22, 26, 32, 40));
  EXPECT_THAT(Numbers(Range(7)
                          .Map([&](const Scope& s, const Values& v) {
                            return Values{parity(s, v)};
                          })
                          .Unique()),
              ElementsAre(0, 1));
  EXPECT_THAT(Numbers(Dataset::ChooseFromDatasets(
                  {Range(2), Dataset::Range(root_, 10, 20)},
                  Dataset::FromTensorSlices(
                      root_, {Tensor::Vector<int64_t>({1, 0, 0, 0, 1})}))),
              ElementsAre(10, 0, 1, 11));
}

// Element n has length n. Batches contain two elements of a length below 3, one
// of a length below 5, or three longer elements.
TEST_F(DatasetsTest, BucketBySequenceLengthBatchesByLength) {
  const auto numbers = [](const Scope& s, const Values& v) {
    return Values{ops::Fill(s, ops::Reshape(s, v[0], {1}), v[0])};
  };
  const ops::Iterator iterator = Range(7)
                                     .Map(numbers)
                                     .BucketBySequenceLength(
                                         [](const Scope& s, const Values& v) {
                                           return ops::Size(s, v[0]);
                                         },
                                         {3, 5}, {2, 1, 3})
                                     .MakeInitializableIterator();
  const Output next = iterator.GetNext(root_)[0];
  ASSERT_OK(root_.status());
  Connect();
  ASSERT_OK(session_->Run(iterator.initializer()));
  std::vector<std::string> shapes;
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor batch, session_->Run(next));
    shapes.push_back(batch.shape().ToString());
  }
  EXPECT_THAT(shapes, ElementsAre("[2,1]", "[1,3]", "[1,4]", "[1,2]", "[2,6]"));
  EXPECT_THAT(session_->Run(next), StatusIs(kOutOfRange));
  Range(3).BucketBySequenceLength(
      [](const Scope&, const Values& v) { return v[0]; }, {3}, {2});
  EXPECT_THAT(root_.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "len(bucket_batch_sizes)"));
}

TEST_F(DatasetsTest, BatchesContainElements) {
  const ops::Iterator iterator = Range(5).Batch(2).MakeInitializableIterator();
  const Output next = iterator.GetNext(root_)[0];
  Connect();
  ASSERT_OK(session_->Run(iterator.initializer()));
  std::vector<int64_t> sizes;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor batch, session_->Run(next));
    sizes.push_back(batch.num_elements());
  }
  EXPECT_THAT(sizes, ElementsAre(2, 2, 1));
  EXPECT_THAT(Numbers(Range(5).Batch(2, {.drop_remainder = true})),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Numbers(Range(5).Batch(3).Unbatch()), ElementsAre(0, 1, 2, 3, 4));
  const auto rows = Range(3).Map([](const Scope& s, const Values& v) {
    return Values{ops::Fill(s, ops::ExpandDims(s, v[0], 0), v[0])};
  });
  EXPECT_THAT(Numbers(rows.PaddedBatch(3, {.padded_shapes = {{-1}},
                                           .padding_values = {int64_t{9}}})),
              ElementsAre(9, 9, 1, 9, 2, 2));
}

TEST_F(DatasetsTest, SeedDeterminesShuffleOrder) {
  const auto orders = [&](const ops::ShuffleOptions& options) {
    return Numbers(Range(50).Shuffle(50, options).Repeat(2));
  };
  const Int64s again = orders({.seed = 7});
  EXPECT_EQ(orders({.seed = 7}), again);
  EXPECT_NE(Int64s(again.begin(), again.begin() + 50),
            Int64s(again.begin() + 50, again.end()));
  const Int64s same = orders({.seed = 7, .reshuffle_each_iteration = false});
  EXPECT_EQ(Int64s(same.begin(), same.begin() + 50),
            Int64s(same.begin() + 50, same.end()));
}

TEST_F(DatasetsTest, CacheIsFilledOnce) {
  const ops::Variable calls(root_.WithName("calls"), int64_t{0});
  const Dataset counted = Range(3).Map([&](const Scope& s, const Values& v) {
    return Values{
        ops::Add(s, ops::Mul(s, ops::AssignAdd(s, calls, 1), 0), v[0])};
  });
  const Output now = calls.Read(root_);
  Connect();
  ASSERT_OK(session_->Run(calls.initializer()));
  EXPECT_THAT(Numbers(counted.Cache().Repeat(3).Prefetch(2)),
              ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2));
  ASSERT_OK_AND_ASSIGN(const Tensor count, session_->Run(now));
  EXPECT_EQ(count.scalar<int64_t>(), 3);
}

TEST_F(DatasetsTest, ReduceSingleElementAndCardinalityWork) {
  const Output sum =
      Range(5).Reduce({int64_t{10}}, [](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], v[1])};
      })[0];
  const Output only = Range(5).Batch(5).GetSingleElement()[0];
  const Output count = Range(5).Repeat(3).Cardinality();
  Connect();
  ASSERT_OK_AND_ASSIGN(const auto values,
                       session_->Run({}, {sum, only, count}));
  EXPECT_EQ(values[0].scalar<int64_t>(), 20);
  EXPECT_EQ(values[1].num_elements(), 5);
  EXPECT_EQ(values[2].scalar<int64_t>(), 15);
}

TEST_F(DatasetsTest, TextAndRecordFilesAreRead) {
  const std::string a = Write("a.csv", "x,y\n1,2.5\n3,\n");
  const std::string b = Write("b.csv", "x,y\n5,6.5\n");
  const Tensor both = Tensor::Vector<std::string>({a, b});
  EXPECT_THAT(All<std::string>(ops::TextLineDataset(root_, both)),
              ElementsAre("x,y", "1,2.5", "3,", "x,y", "5,6.5"));
  EXPECT_THAT(All<std::string>(
                  ops::TextLineDataset(root_, both, {.num_parallel_reads = 2})),
              UnorderedElementsAre("x,y", "1,2.5", "3,", "x,y", "5,6.5"));
  EXPECT_THAT(All<std::string>(
                  Dataset::ListFiles(root_, "/data/*.csv", {.shuffle = false})),
              ElementsAre(a, b));
  EXPECT_THAT(
      Numbers(ops::CsvDataset(root_, both, {Tensor(DT_INT64, {0}), -1.0f},
                              {.header = true})),
      ElementsAre(1, 3, 5));
  EXPECT_THAT(
      All<float>(ops::MakeCsvDataset(
          root_, "/data/*.csv", 2, {"x", "y"}, {Tensor(DT_INT64, {0}), -1.0f},
          {.label_name = "x", .num_epochs = 1, .shuffle = false})),
      ElementsAre(2.5f, -1.0f, 6.5f));
  const std::string record = Write("records", "headabcdefend");
  EXPECT_THAT(All<std::string>(ops::FixedLengthRecordDataset(
                  root_, record, 3, {.header_bytes = 4, .footer_bytes = 3})),
              ElementsAre("abc", "def"));
}

TEST_F(DatasetsTest, MissingFileIsNamedInTheError) {
  const ops::Iterator iterator =
      ops::TextLineDataset(root_, "/data/none").MakeInitializableIterator();
  const Output next = iterator.GetNext(root_)[0];
  Connect();
  ASSERT_OK(session_->Run(iterator.initializer()));
  EXPECT_THAT(session_->Run(next),
              StatusIs(absl::StatusCode::kNotFound, "/data/none"));
}

TEST_F(DatasetsTest, ErrorSkipsOnlyItsElement) {
  const auto inverse = [](const Scope& s, const Values& v) {
    return Values{ops::FloorDiv(s, int64_t{12}, ops::Sub(s, int64_t{2}, v[0]))};
  };
  const ops::Iterator iterator =
      Range(4).Map(inverse).MakeInitializableIterator();
  const Output next = iterator.GetNext(root_)[0];
  Connect();
  ASSERT_OK(session_->Run(iterator.initializer()));
  EXPECT_OK(session_->Run(next));
  EXPECT_OK(session_->Run(next));
  EXPECT_THAT(session_->Run(next), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const Tensor last, session_->Run(next));
  EXPECT_EQ(last.scalar<int64_t>(), -12);
  EXPECT_THAT(Numbers(Range(4).Map(inverse).IgnoreErrors()),
              ElementsAre(6, 12, -12));
}

TEST_F(DatasetsTest, IteratorStartsWhenInitialized) {
  const Output n =
      ops::Placeholder(root_, DT_INT64, {.shape = PartialShape::Scalar()});
  const ops::Iterator iterator =
      Dataset::Range(root_, n).MakeInitializableIterator(
          {.initialize_with_tables = false});
  const Output next = iterator.GetNext(root_)[0];
  Connect();
  EXPECT_THAT(session_->Run(next), StatusIs(kUnready));
  for (const int64_t size : {3, 2}) {
    ASSERT_OK(
        session_->Run({{n, Tensor::Scalar(size)}}, iterator.initializer()));
    EXPECT_EQ(Rest<int64_t>(next).size(), static_cast<size_t>(size));
  }
}

TEST_F(DatasetsTest, OneShotIteratorNeedsNoInitializer) {
  const Output offset = root_.ToOutput(Tensor::Scalar(int64_t{10}));
  EXPECT_THAT(All<int64_t>(Range(3)
                               .Map([&](const Scope& s, const Values& v) {
                                 return Values{ops::Add(s, v[0], offset)};
                               })
                               .Batch(2)
                               .MakeOneShotIterator()),
              ElementsAre(10, 11, 12));
}

TEST_F(DatasetsTest, IteratorServesSeveralDatasets) {
  const ops::Iterator iterator =
      ops::Iterator::FromStructure(root_, Range(1).element());
  const Operation use_short = iterator.MakeInitializer(root_, Range(2));
  const Operation use_long =
      iterator.MakeInitializer(root_, Range(4).Map(Same));
  const Output next = iterator.GetNext(root_)[0];
  ASSERT_OK(root_.status());
  Connect();
  ASSERT_OK(session_->Run(use_long));
  EXPECT_OK(session_->Run(next));
  ASSERT_OK(session_->Run(use_short));
  EXPECT_THAT(Rest<int64_t>(next), ElementsAre(0, 1));
  ASSERT_OK(session_->Run(use_long));
  EXPECT_THAT(Rest<int64_t>(next), ElementsAre(0, 1, 2, 3));
}

TEST_F(DatasetsTest, FedHandleSelectsTheIterator) {
  const ops::Iterator train = Range(3).MakeOneShotIterator();
  const ops::Iterator test =
      Dataset::Range(root_, 10, 12).MakeInitializableIterator();
  const Output handle =
      ops::Placeholder(root_, DT_STRING, {.shape = PartialShape::Scalar()});
  const Output next =
      ops::Iterator::FromStringHandle(root_, handle, train.element())
          .GetNext(root_)[0];
  const Values handles = {train.StringHandle(root_), test.StringHandle(root_)};
  Connect();
  ASSERT_OK(session_->Run(test.initializer()));
  ASSERT_OK_AND_ASSIGN(const auto texts, session_->Run({}, handles));
  const auto get = [&](int i) {
    const auto value = session_->Run({{handle, texts[i]}}, next);
    EXPECT_OK(value);
    return value.ok() ? value->scalar<int64_t>() : -1;
  };
  EXPECT_EQ(get(0), 0);
  EXPECT_EQ(get(1), 10);
  EXPECT_EQ(get(0), 1);
  EXPECT_EQ(get(1), 11);
  EXPECT_THAT(session_->Run({{handle, texts[1]}}, next), StatusIs(kOutOfRange));
}

TEST_F(DatasetsTest, MapReadsTheCurrentVariableValue) {
  const ops::Variable scale(root_.WithName("scale"), int64_t{2});
  const ops::Iterator iterator = Range(100)
                                     .Map([&](const Scope& s, const Values& v) {
                                       return Values{ops::Mul(s, v[0], scale)};
                                     })
                                     .Skip(1)
                                     .MakeInitializableIterator();
  const Output next = iterator.GetNext(root_)[0];
  const Output more = ops::Assign(root_, scale, int64_t{10});
  Connect();
  ASSERT_OK(session_->Run(scale.initializer()));
  ASSERT_OK(session_->Run(iterator.initializer()));
  ASSERT_OK_AND_ASSIGN(Tensor value, session_->Run(next));
  EXPECT_EQ(value.scalar<int64_t>(), 2);
  ASSERT_OK(session_->Run(more));
  ASSERT_OK_AND_ASSIGN(value, session_->Run(next));
  EXPECT_EQ(value.scalar<int64_t>(), 20);
}

TEST_F(DatasetsTest, MapUsesALookupTable) {
  const Output table = ops::HashTable(root_, DT_INT64, DT_STRING);
  const Operation fill =
      ops::LookupTableImport(root_, table, Tensor::Vector<int64_t>({0, 2}),
                             Tensor::Vector<std::string>({"zero", "two"}));
  const Dataset words = Range(3).Map([&](const Scope& s, const Values& v) {
    return Values{ops::LookupTableFind(s, table, v[0], "none")};
  });
  Connect();
  ASSERT_OK(session_->Run(fill));
  EXPECT_THAT(All<std::string>(words), ElementsAre("zero", "none", "two"));
}

TEST_F(DatasetsTest, MonitoredSessionEndsWithItsInput) {
  const ops::Iterator iterator = Range(5).Batch(2).MakeInitializableIterator();
  const Output next = iterator.GetNext(root_)[0];
  const ops::Variable step = train::GetOrCreateGlobalStep(root_);
  const Output add =
      ops::AssignAdd(root_.WithControlDependencies({Operation(next)}), step, 1);
  ASSERT_OK_AND_ASSIGN(auto session,
                       train::MonitoredTrainingSession(root_, {}));
  int64_t last = 0;
  while (!session->ShouldStop()) {
    const auto value = session->Run(add);
    if (absl::IsOutOfRange(value.status())) break;
    ASSERT_OK(value);
    last = value->scalar<int64_t>();
  }
  EXPECT_EQ(last, 3);
  EXPECT_OK(session->Close());
}

// ---- tasks ----

class DatasetsOnTasksTest : public testing::Test {
 protected:
  static constexpr char kWorker1[] = "/job:worker/task:1";

  std::unique_ptr<Session> Connect(const Scope& root, int worker = 0) {
    auto session = Session::Connect(cluster_.target("worker", worker), root,
                                    cluster_.session_options());
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  // Connects and initializes the iterator. Returns null if either fails.
  std::unique_ptr<Session> Begin(const Scope& root,
                                 const ops::Iterator& iterator) {
    EXPECT_OK(root.status());
    auto session = Connect(root);
    if (session == nullptr) return nullptr;
    const absl::Status begun = session->Run(iterator.initializer());
    EXPECT_OK(begun);
    return begun.ok() ? std::move(session) : nullptr;
  }

  TestCluster cluster_{
      {.kind = ClusterKind::kOneProcess, .jobs = {{"worker", 2}}}};
};

TEST_F(DatasetsOnTasksTest, PipelineRunsOnAnotherTask) {
  const Scope root = Scope::Root();
  const ops::Iterator iterator = Dataset::Range(root.WithDevice(kWorker1), 4)
                                     .Map([](const Scope& s, const Values& v) {
                                       return Values{ops::Mul(s, v[0], 3)};
                                     })
                                     .Batch(4)
                                     .Prefetch(1)
                                     .MakeInitializableIterator();
  const Output sum = ops::Sum(root.WithDevice("/job:worker/task:0"),
                              iterator.GetNext(root)[0], {0});
  const auto session = Begin(root, iterator);
  ASSERT_NE(session, nullptr);
  ASSERT_OK_AND_ASSIGN(const Tensor value, session->Run(sum));
  EXPECT_EQ(value.scalar<int64_t>(), 18);
  EXPECT_THAT(session->Run(sum), StatusIs(kOutOfRange));
}

struct SharedInput {
  Scope root = Scope::Root();
  ops::Iterator iterator =
      Dataset::Range(root.WithDevice("/job:worker/task:1"), 4)
          .MakeInitializableIterator({.shared_name = "input"});
  Output next = iterator.GetNext(root)[0];
};

TEST_F(DatasetsOnTasksTest, SessionsShareIteratorByName) {
  SharedInput a, b;
  const auto first = Connect(a.root);
  const auto second = Connect(b.root, 1);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  ASSERT_OK(first->Run(a.iterator.initializer()));
  std::vector<int64_t> numbers;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(Tensor value, first->Run(a.next));
    numbers.push_back(value.scalar<int64_t>());
    ASSERT_OK_AND_ASSIGN(value, second->Run(b.next));
    numbers.push_back(value.scalar<int64_t>());
  }
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(second->Run(b.next), StatusIs(kOutOfRange));
}

// A pipeline with a map that waits for an element of an empty queue.
struct WaitingInput {
  explicit WaitingInput(const std::string& device) {
    const Scope there = root.WithDevice(device);
    const ops::Queue queue = ops::Queue::Fifo(
        there, {DT_INT64}, {.shapes = {PartialShape::Scalar()}});
    iterator = Dataset::Range(there, 4)
                   .Map([&](const Scope& s, const Values& v) {
                     return Values{ops::Add(s, v[0], queue.Dequeue(s)[0])};
                   })
                   .MakeInitializableIterator();
    next = iterator.GetNext(root)[0];
  }
  Scope root = Scope::Root();
  ops::Iterator iterator;
  Output next;
};

TEST_F(DatasetsOnTasksTest, StepWaitingForElementTimesOut) {
  WaitingInput input(kWorker1);
  const auto session = Begin(input.root, input.iterator);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(session->Run({}, input.next, {.timeout = absl::Milliseconds(50)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(DatasetsOnTasksTest, SessionCloseEndsWaitForElement) {
  WaitingInput input(kWorker1);
  const auto session = Begin(input.root, input.iterator);
  ASSERT_NE(session, nullptr);
  const auto ended = session->scheduler().NewEvent();
  absl::Status status;
  ASSERT_OK_AND_ASSIGN(const auto step,
                       session->MakeCallable({}, {input.next}));
  step->RunAsync({}, [&](absl::StatusOr<std::vector<Tensor>> result) {
    status = result.status();
    ended->Set();
  });
  ASSERT_OK(session->Close());
  ended->Wait();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(DescribeLeaks(cluster_, "worker", i), "");
  }
}

}  // namespace
}  // namespace weft
