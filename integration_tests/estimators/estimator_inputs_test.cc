// Tests input functions that return datasets. A session runs them as an
// Estimator does.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/fresh_folder.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/estimator/dataset_inputs.h"
#include "libs/estimator/inputs.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/summary/record_writer.h"

namespace weft::estimator {
namespace {

using feature_column::FixedLenFeature;
using feature_column::ParseSpec;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// RunningInput runs an input function in a session.
class RunningInput {
 public:
  explicit RunningInput(const InputFn& input_fn, Process* process) {
    auto input = input_fn(root_);
    status_ = input.status();
    if (!status_.ok()) return;
    input_ = *std::move(input);
    SessionOptions options;
    options.process = process;
    session_ = Session::Connect("", root_, options).value();
    Begin();
  }
  const absl::Status& status() const { return status_; }
  const InputTensors& input() const { return input_; }
  void Begin() {
    EXPECT_OK(session_->Run({}, std::vector<Output>(), input_.initializers));
  }
  // Returns the feature `key` of the next batch, and the labels if the input
  // has labels.
  absl::StatusOr<std::vector<Tensor>> Next(const std::string& key) {
    const Feature& feature = input_.features.at(key);
    std::vector<Output> fetches = {feature.is_sparse() ? feature.sparse().values
                                                       : feature.dense()};
    if (input_.labels) fetches.push_back(input_.labels);
    return session_->Run({}, fetches);
  }
  // Returns the int32 feature `key` of all batches until the end of the input.
  std::vector<std::vector<int32_t>> All(const std::string& key) {
    std::vector<std::vector<int32_t>> all;
    while (true) {
      const auto batch = Next(key);
      if (!batch.ok()) {
        EXPECT_TRUE(absl::IsOutOfRange(batch.status())) << batch.status();
        return all;
      }
      const auto flat = (*batch)[0].flat<int32_t>();
      all.emplace_back(flat.begin(), flat.end());
    }
  }

 private:
  Scope root_ = Scope::Root();
  absl::Status status_;
  InputTensors input_;
  std::unique_ptr<Session> session_;
};

class EstimatorInputsTest : public ::testing::Test {
 protected:
  EstimatorInputsTest() { EXPECT_OK(files_.CreateDirectories(folder_)); }
  std::string Path(const std::string& name) { return JoinPath(folder_, name); }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_OK(files_.WriteFileAtomically(Path(name), text));
  }
  RunningInput Run(const InputFn& input_fn) {
    return RunningInput(input_fn, &process_);
  }
  // Returns options that read each row once, in the order of the file.
  static RowOptions InOrder(int64_t batch_size) {
    RowOptions rows;
    rows.batch_size = batch_size;
    rows.num_epochs = 1;
    rows.shuffle = false;
    return rows;
  }
  absl::Status CsvError(const CsvInputOptions& options,
                        const std::string& pattern = "*.csv") {
    return Run(CsvInputFn(Path(pattern), options)).status();
  }

  Process process_;
  LocalFileSystem files_;
  const std::string folder_ = FreshFolder(files_);
};

using Dense = std::vector<int32_t>;

TEST_F(EstimatorInputsTest, DatasetComponentsAreFeaturesAndLabels) {
  auto input = Run(DatasetInputFn(
      [](const Scope& scope) -> absl::StatusOr<ops::Dataset> {
        return ops::Dataset::FromTensorSlices(
                   scope,
                   {Tensor::Vector<int32_t>({1, 2, 3}),
                    Tensor::Vector<float>({10, 20, 30})},
                   {"x", "y"})
            .Batch(2);
      },
      "y"));
  ASSERT_OK(input.status());
  EXPECT_THAT(input.input().features, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const auto batch, input.Next("x"));
  EXPECT_THAT(batch[0].flat<int32_t>(), ElementsAre(1, 2));
  EXPECT_THAT(batch[1].flat<float>(), ElementsAre(10, 20));
  EXPECT_THAT(input.All("x"), ElementsAre(Dense{3}));
  input.Begin();
  EXPECT_THAT(input.All("x"), ElementsAre(Dense{1, 2}, Dense{3}))
      << "a new session starts over";
}

TEST_F(EstimatorInputsTest, UnsupportedDatasetsAreRejected) {
  const auto says = [&](const std::vector<std::string>& names,
                        const std::string& label, const char* text) {
    const auto input = Run(DatasetInputFn(
        [&](const Scope& scope) -> absl::StatusOr<ops::Dataset> {
          return ops::Dataset::FromTensors(scope, {1, 2}, names);
        },
        label));
    EXPECT_THAT(input.status(), StatusIs(kInvalid, text));
  };
  says({}, "", "has no name, so no column finds it");
  says({"a", "a"}, "", "Two components");
  says({"a", "b"}, "c", "'c' is not among the columns of the input: a, b");
  EXPECT_THAT(
      Run(DatasetInputFn([](const Scope&) -> absl::StatusOr<ops::Dataset> {
        return ops::Dataset();
      })).status(),
      StatusIs(kInvalid, "null"));
}

TEST_F(EstimatorInputsTest, CsvColumnsAreInferredFromFiles) {
  Write("1.csv", "age,name,income\n30,\"Smith, J\",1.5\n40,,2\n");
  Write("2.csv", "age,name,income\n,\"a \"\"b\"\"\",3000000000\n");
  auto input = Run(
      CsvInputFn(Path("*.csv"), {.label_name = "income", .rows = InOrder(10)}));
  ASSERT_OK(input.status());
  const auto& features = input.input().features;
  EXPECT_THAT(features, SizeIs(2));
  EXPECT_EQ(features.at("age").dtype(), DT_INT32);
  EXPECT_EQ(features.at("name").dtype(), DT_STRING);
  EXPECT_EQ(input.input().labels.dtype(), DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(auto batch, input.Next("age"));
  EXPECT_THAT(batch[0].flat<int32_t>(), ElementsAre(30, 40, 0));
  EXPECT_THAT(batch[1].flat<float>(), ElementsAre(1.5f, 2, 3e9f));
  input.Begin();
  ASSERT_OK_AND_ASSIGN(batch, input.Next("name"));
  EXPECT_THAT(batch[0].flat<std::string>(),
              ElementsAre("Smith, J", "", "a \"b\""));
}

TEST_F(EstimatorInputsTest, CsvColumnTypesAreNarrowestThatFit) {
  Write("a.csv",
        "i,l,f,d,s,none,na\n1,1,1,1,1,,-\n2147483647,2147483648,1e10,1e300,x,,"
        "7\n");
  auto input =
      Run(CsvInputFn(Path("a.csv"), {.na_value = "-", .rows = InOrder(2)}));
  ASSERT_OK(input.status());
  std::map<std::string, DataType> types;
  for (const auto& [key, feature] : input.input().features) {
    types[key] = feature.dtype();
  }
  EXPECT_EQ(types, (std::map<std::string, DataType>{{"i", DT_INT32},
                                                    {"l", DT_INT64},
                                                    {"f", DT_FLOAT},
                                                    {"d", DT_DOUBLE},
                                                    {"s", DT_STRING},
                                                    {"none", DT_STRING},
                                                    {"na", DT_INT32}}));
  EXPECT_THAT(input.All("na"), ElementsAre(Dense{0, 7}));
}

TEST_F(EstimatorInputsTest, CsvColumnsMayBeGivenAndSelected) {
  Write("a.csv", "1;2;3\n4;;6\n");
  CsvInputOptions options;
  options.column_names = {{"a", "b", "c"}};
  options.column_defaults = {{"b", Tensor::Scalar(int32_t{9})}};
  options.select_columns = {"c", "b"};
  options.field_delim = ';';
  options.rows = InOrder(2);
  auto input = Run(CsvInputFn(Path("a.csv"), options));
  ASSERT_OK(input.status());
  EXPECT_THAT(input.input().features, SizeIs(2));
  EXPECT_THAT(input.All("b"), ElementsAre(Dense{2, 9}));
  input.Begin();
  EXPECT_THAT(input.All("c"), ElementsAre(Dense{3, 6}));
}

TEST_F(EstimatorInputsTest, EachWorkerReadsItsOwnRows) {
  Write("a.csv", "x\n0\n1\n2\n3\n4\n");
  Write("b.csv", "x\n5\n6\n");
  std::vector<std::vector<int32_t>> shards;
  for (int i = 0; i < 3; ++i) {
    RowOptions rows = InOrder(10);
    rows.shard = {.num_shards = 3, .index = i};
    auto input = Run(CsvInputFn(Path("*.csv"), {.rows = rows}));
    ASSERT_OK(input.status());
    const auto all = input.All("x");
    ASSERT_THAT(all, SizeIs(1));
    shards.push_back(all[0]);
  }
  EXPECT_THAT(shards, ElementsAre(Dense{0, 3, 6}, Dense{1, 4}, Dense{2, 5}));
}

TEST_F(EstimatorInputsTest, RowsAreTransformedShuffledAndRepeated) {
  Write("a.csv", "x\n0\n1\n2\n3\n4\n");
  RowOptions rows;
  rows.batch_size = 4;
  rows.num_epochs = 2;
  rows.seed = 1;
  rows.transform = [](const ops::Dataset& all) {
    return all
        .Filter([](const Scope& scope, const std::vector<Output>& row) {
          return ops::Less(scope, row[0], 4);
        })
        .Cache();
  };
  auto input = Run(CsvInputFn(Path("a.csv"), {.rows = rows}));
  ASSERT_OK(input.status());
  const auto all = input.All("x");
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0], UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_THAT(all[1], UnorderedElementsAre(0, 1, 2, 3));
  rows.num_epochs.reset();
  auto endless = Run(CsvInputFn(Path("a.csv"), {.rows = rows}));
  ASSERT_OK(endless.status());
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto batch, endless.Next("x"));
    EXPECT_EQ(batch[0].num_elements(), 4);
  }
}

TEST_F(EstimatorInputsTest, CsvErrorsNameFileAndColumn) {
  EXPECT_THAT(CsvError({}),
              StatusIs(absl::StatusCode::kNotFound, "No file matches"));
  Write("a.csv", "x,y\n1,2\n");
  EXPECT_THAT(CsvError({.label_name = "z"}),
              StatusIs(kInvalid,
                       "'z' is not among the columns of the input: "
                       "x, y"));
  EXPECT_THAT(CsvError({.label_name = "y", .select_columns = {"x"}}),
              StatusIs(kInvalid, "'y' is not among"));
  EXPECT_THAT(CsvError({.select_columns = {"w"}}),
              StatusIs(kInvalid, "select_columns has 'w'"));
  EXPECT_THAT(CsvError({.column_defaults = {{"w", Tensor::Scalar(1)}}}),
              StatusIs(kInvalid, "column_defaults has 'w'"));
  EXPECT_THAT(
      CsvError({.column_defaults = {{"x", Tensor::Vector<float>({1, 2})}}}),
      StatusIs(kInvalid, "column_defaults of 'x' must be a scalar"));
  RowOptions rows;
  rows.shard = {.num_shards = 2, .index = 2};
  EXPECT_THAT(CsvError({.rows = rows}), StatusIs(kInvalid, "it is 2 of 2"));
  Write("b.csv", "x,z\n1,2\n");
  EXPECT_THAT(CsvError({}), StatusIs(kInvalid, "b.csv' is x,z"));
  Write("b.csv", "x,x\n1,2\n");
  EXPECT_THAT(CsvError({}, "b.csv"), StatusIs(kInvalid, "are called 'x'"));
  Write("b.csv", "x,y\n1,2,3\n");
  EXPECT_THAT(CsvError({}, "b.csv"), StatusIs(kInvalid, "b.csv' has 3 fields"));
  EXPECT_THAT(CsvError({}, "b.csv"), StatusIs(kInvalid, "Line 2 of"));
  Write("b.csv", "");
  EXPECT_THAT(CsvError({}, "b.csv"), StatusIs(kInvalid, "is empty"));
}

TEST_F(EstimatorInputsTest, FieldOfOtherTypeExplainsInference) {
  std::string rows = "name,age,x\n";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&rows, "a,", i, ",\n");
  Write("a.csv", rows + "b,1.5,\n");
  auto input = Run(CsvInputFn(
      Path("a.csv"), {.select_columns = {"age"}, .rows = InOrder(101)}));
  ASSERT_OK(input.status());
  EXPECT_THAT(
      input.Next("age"),
      StatusIs(kInvalid,
               "a.csv: Field 1 (column 'age') in record is not a valid int32: "
               "1.5. The type is inferred from the first 100 rows; set "
               "column_defaults of 'age' (line 102 of the file)"));
}

// ---- Examples ----

// The following functions return serialized parts of an Example. Each feature
// is an int64 list or a bytes list.
std::string Field(int number, const std::string& bytes) {
  return absl::StrCat(std::string(1, static_cast<char>(number << 3 | 2)),
                      std::string(1, static_cast<char>(bytes.size())), bytes);
}
std::string Entry(const std::string& key, int kind, const std::string& list) {
  return Field(1, Field(1, key) + Field(2, Field(kind, list)));
}
std::string Example(int age, const std::vector<std::string>& jobs) {
  std::string list;
  for (const std::string& job : jobs) list += Field(1, job);
  return Field(1, Entry("age", 3, Field(1, std::string(1, char(age)))) +
                      Entry("job", 1, list));
}

TEST_F(EstimatorInputsTest, ExamplesAreParsedPerColumnSpecs) {
  {
    summary::RecordWriter writer(
        files_.NewWritableFile(Path("a.tfrecord")).value());
    ASSERT_OK(writer.WriteRecord(Example(30, {"cook", "smith"})));
    ASSERT_OK(writer.WriteRecord(Example(40, {})));
    ASSERT_OK(writer.WriteRecord(Example(50, {"cook"})));
    ASSERT_OK(writer.Close());
  }
  ASSERT_OK_AND_ASSIGN(
      ParseSpec spec,
      feature_column::MakeParseExampleSpec(
          {feature_column::CategoricalColumnWithHashBucket("job", 10)}));
  ASSERT_OK(feature_column::AddToSpec(
      "age", FixedLenFeature{.shape = {1}, .dtype = DT_INT64}, spec));
  auto input = Run(ExamplesInputFn(Path("*.tfrecord"), spec,
                                   {.label_key = "age", .rows = InOrder(2)}));
  ASSERT_OK(input.status());
  EXPECT_THAT(input.input().features, SizeIs(1));
  EXPECT_TRUE(input.input().features.at("job").is_sparse());
  ASSERT_OK_AND_ASSIGN(const auto batch, input.Next("job"));
  EXPECT_THAT(batch[0].flat<std::string>(), ElementsAre("cook", "smith"));
  EXPECT_THAT(batch[1].flat<int64_t>(), ElementsAre(30, 40));

  // Labels parsed with VarLenFeature are sparse sets.
  auto sets = Run(ExamplesInputFn(Path("*.tfrecord"), spec,
                                  {.label_key = "job", .rows = InOrder(2)}));
  ASSERT_OK(sets.status());
  EXPECT_FALSE(sets.input().labels);
  ASSERT_TRUE(sets.input().sparse_labels.values);
  EXPECT_EQ(sets.input().sparse_labels.values.dtype(), DT_STRING);

  const auto says = [&](const ExamplesInputOptions& options,
                        const std::string& pattern, const char* text) {
    EXPECT_THAT(std::string(Run(ExamplesInputFn(Path(pattern), spec, options))
                                .status()
                                .message()),
                HasSubstr(text));
  };
  says({.label_key = "wage"}, "*.tfrecord", "'wage' is not among the columns");
  says({}, "*.tfrecords", "No file matches");
}

// ---- tensors in memory ----

// Returns one text per batch, with the values of feature "x" and its labels.
absl::StatusOr<std::vector<std::string>> AllRows(const InputFn& input_fn,
                                                 Process* process) {
  const Scope root = Scope::Root();
  ASSIGN_OR_RETURN(const InputTensors input, input_fn(root));
  const Operation init = ops::LocalVariablesInitializer(root);
  ASSIGN_OR_RETURN(const auto session,
                   Session::Connect("", root, {.process = process}));
  RETURN_IF_ERROR(session->Run(init));
  train::Coordinator coordinator;
  RETURN_IF_ERROR(train::StartQueueRunners(root, *session, coordinator));
  std::vector<std::string> rows;
  while (true) {
    const auto batch =
        session->Run({}, std::vector<Output>{input.features.at("x").dense(),
                                             input.features.at("name").dense(),
                                             input.labels});
    if (absl::IsOutOfRange(batch.status())) break;
    RETURN_IF_ERROR(batch.status());
    for (int64_t i = 0; i < (*batch)[0].num_elements(); ++i) {
      rows.push_back(absl::StrCat((*batch)[0].flat<int32_t>()[i], " ",
                                  (*batch)[1].flat<std::string>()[i], " ",
                                  (*batch)[2].flat<double>()[2 * i + 1]));
    }
  }
  coordinator.RequestStop();
  RETURN_IF_ERROR(coordinator.Join());
  return rows;
}

class TensorInputTest : public EstimatorInputsTest {
 protected:
  static InputFn Five(RunConfig::Shard shard) {
    TensorInputOptions options;
    options.batch_size = 2;
    options.shard = shard;
    Tensor labels(DT_DOUBLE, TensorShape({5, 2}));
    for (int i = 0; i < 10; ++i) labels.mutable_flat<double>()[i] = i;
    return TensorInputFn(
        {{"x", Tensor::Vector<int32_t>({0, 1, 2, 3, 4})},
         {"name", Tensor::Vector<std::string>({"a", "b", "c", "d", "e"})}},
        labels, options);
  }
};

TEST_F(TensorInputTest, EachShardReadsItsOwnRows) {
  const auto rows = [&](int of, int index) {
    const auto all = AllRows(Five({of, index}), &process_);
    EXPECT_OK(all.status());
    return all.value_or(std::vector<std::string>());
  };
  EXPECT_THAT(rows(1, 0),
              ElementsAre("0 a 1", "1 b 3", "2 c 5", "3 d 7", "4 e 9"));
  EXPECT_THAT(rows(2, 0), ElementsAre("0 a 1", "2 c 5", "4 e 9"));
  EXPECT_THAT(rows(2, 1), ElementsAre("1 b 3", "3 d 7"));
  EXPECT_THAT(rows(5, 4), ElementsAre("4 e 9"));
}

TEST_F(TensorInputTest, InvalidOptionsAreExplained) {
  const auto error = [](const InputFn& input_fn) {
    return std::string(input_fn(Scope::Root()).status().message());
  };
  EXPECT_THAT(error(Five({6, 5})), HasSubstr("there are only 5"));
  EXPECT_THAT(error(Five({2, 2})), HasSubstr("it is 2 of 2"));
  EXPECT_THAT(error(Five({0, 0})), HasSubstr("it is 0 of 0"));
  EXPECT_THAT(error(Five({2, -1})), HasSubstr("it is -1 of 2"));
  const Tensor rows(DT_FLOAT, TensorShape({2, 16}));
  TensorInputOptions small;
  small.max_bytes = 64;
  EXPECT_THAT(
      error(TensorInputFn({{"x", rows}}, Tensor(), small)),
      AllOf(HasSubstr("have 128 bytes"), HasSubstr("Write them as TFRecords")));
  small.shard = {2, 1};
  EXPECT_OK(TensorInputFn({{"x", rows}}, Tensor(), small)(Scope::Root()));
  const std::string text(1000, 'x');
  EXPECT_THAT(error(TensorInputFn({{"x", Tensor::Vector<int32_t>({1})}},
                                  Tensor::Vector<std::string>({text}),
                                  {.max_bytes = 1000})),
              HasSubstr("Write them as TFRecords"));
}

}  // namespace
}  // namespace weft::estimator
