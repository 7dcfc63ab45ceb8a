#include "libs/estimator/dataset_inputs.h"

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/ops/data/dataset.h"

namespace weft::estimator {
namespace {

using feature_column::FixedLenFeature;
using feature_column::ParseSpec;
using feature_column::VarLenFeature;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::SizeIs;

class DatasetInputFnTest : public testing::Test {
 protected:
  DatasetInputFnTest() { EXPECT_OK(files_.CreateDirectory("/data")); }
  void Write(const std::string& path, const std::string& text) {
    ASSERT_OK(files_.WriteFileAtomically(path, text));
  }
  absl::StatusOr<InputTensors> BuildCsv(
      CsvInputOptions options, const std::string& pattern = "/data/*.csv") {
    options.rows.file_system = &files_;
    return CsvInputFn(pattern, options)(root_);
  }
  absl::StatusOr<InputTensors> BuildExamples(const ParseSpec& spec,
                                             ExamplesInputOptions options) {
    options.rows.file_system = &files_;
    return ExamplesInputFn("/data/*.tfrecord", spec, options)(root_);
  }
  int Count(const std::string& type) {
    int count = 0;
    for (const Node* node : root_.graph().nodes()) {
      count += node->type() == type;
    }
    return count;
  }

  MemoryFileSystem files_;
  const Scope root_ = Scope::Root();
};

TEST_F(DatasetInputFnTest, HeaderNamesTheFeatures) {
  Write("/data/a.csv", "age,job,income\n30,cook,1.5\n");
  ASSERT_OK_AND_ASSIGN(const InputTensors input,
                       BuildCsv({.label_name = "income"}));
  ASSERT_THAT(input.features, ElementsAre(Key("age"), Key("job")));
  EXPECT_EQ(input.features.at("age").dtype(), DT_INT32);
  EXPECT_EQ(input.features.at("job").dtype(), DT_STRING);
  EXPECT_EQ(input.labels.dtype(), DT_FLOAT);
  EXPECT_THAT(input.initializers, SizeIs(1));
}

TEST_F(DatasetInputFnTest, TypesFitTheRowsOfAllFiles) {
  Write("/data/a.csv", "x\n1\n");
  Write("/data/b.csv", "x\n2.5\n");
  ASSERT_OK_AND_ASSIGN(const InputTensors input, BuildCsv({}));
  EXPECT_EQ(input.features.at("x").dtype(), DT_FLOAT);
}

TEST_F(DatasetInputFnTest, TypeOfColumnDefaultIsUsed) {
  Write("/data/a.csv", "x,y\n1,2\n");
  ASSERT_OK_AND_ASSIGN(
      const InputTensors input,
      BuildCsv({.column_defaults = {{"x", Tensor::Scalar(0.5)}}}));
  EXPECT_EQ(input.features.at("x").dtype(), DT_DOUBLE);
  EXPECT_EQ(input.features.at("y").dtype(), DT_INT32);
}

TEST_F(DatasetInputFnTest, ColumnsMayBeSelected) {
  Write("/data/a.csv", "x,y,z\n1,2,3\n");
  ASSERT_OK_AND_ASSIGN(
      const InputTensors input,
      BuildCsv({.label_name = "z", .select_columns = {"z", "x"}}));
  EXPECT_THAT(input.features, ElementsAre(Key("x")));
  EXPECT_TRUE(input.labels);
}

TEST_F(DatasetInputFnTest, ColumnNamesReplaceTheHeader) {
  Write("/data/a.csv", "1,2\n");
  CsvInputOptions options;
  options.column_names = std::vector<std::string>{"x", "y"};
  ASSERT_OK_AND_ASSIGN(const InputTensors input, BuildCsv(options));
  EXPECT_THAT(input.features, ElementsAre(Key("x"), Key("y")));
  EXPECT_EQ(input.features.at("x").dtype(), DT_INT32);
}

TEST_F(DatasetInputFnTest, BatchSizeIsKnownIfInputNeverEnds) {
  Write("/data/a.csv", "x\n1\n");
  RowOptions endless;
  endless.batch_size = 7;
  ASSERT_OK_AND_ASSIGN(const InputTensors always, BuildCsv({.rows = endless}));
  EXPECT_EQ(always.features.at("x").dense().shape(), PartialShape({7}));
  RowOptions once = endless;
  once.num_epochs = 1;
  ASSERT_OK_AND_ASSIGN(const InputTensors input, BuildCsv({.rows = once}));
  EXPECT_EQ(input.features.at("x").dense().shape(), PartialShape({-1}));
}

TEST_F(DatasetInputFnTest, RowsPassOnlyTheWantedSteps) {
  Write("/data/a.csv", "x\n1\n");
  RowOptions rows;
  rows.num_epochs = 1;
  rows.shuffle = false;
  rows.prefetch_buffer_size = 0;
  ASSERT_OK(BuildCsv({.rows = rows}).status());
  EXPECT_EQ(Count("BatchDatasetV2"), 1);
  for (const char* type : {"ShardDataset", "RepeatDataset", "PrefetchDataset",
                           "ShuffleDatasetV3", "ShuffleDatasetV2"}) {
    EXPECT_EQ(Count(type), 0) << type;
  }
}

TEST_F(DatasetInputFnTest, WorkerShardIsApplied) {
  Write("/data/a.csv", "x\n1\n");
  RowOptions rows;
  rows.shard = {.num_shards = 3, .index = 1};
  ASSERT_OK(BuildCsv({.rows = rows}).status());
  EXPECT_EQ(Count("ShardDataset"), 1);
  EXPECT_EQ(Count("RepeatDataset"), 1);
  EXPECT_EQ(Count("PrefetchDataset"), 1);
}

TEST_F(DatasetInputFnTest, RowOptionsAreChecked) {
  Write("/data/a.csv", "x\n1\n");
  RowOptions wrong[6];
  wrong[0].batch_size = 0;
  wrong[1].num_epochs = 0;
  wrong[2].shuffle_buffer_size = 0;
  wrong[3].prefetch_buffer_size = -1;
  wrong[4].shard = {.num_shards = 2, .index = 2};
  wrong[5].shard = {.num_shards = 0, .index = 0};
  for (const RowOptions& rows : wrong) {
    EXPECT_THAT(BuildCsv({.rows = rows}).status(),
                StatusIs(kInvalid, "RowOptions: "));
    EXPECT_THAT(BuildExamples({}, {.rows = rows}).status(),
                StatusIs(kInvalid, "RowOptions: "));
  }
}

TEST_F(DatasetInputFnTest, CsvErrorsNameTheColumn) {
  Write("/data/a.csv", "x,y\n1,2\n");
  EXPECT_THAT(BuildCsv({.label_name = "z"}).status(),
              StatusIs(kInvalid, "The label 'z' is not among"));
  EXPECT_THAT(
      BuildCsv({.select_columns = {"z"}}).status(),
      StatusIs(kInvalid, "select_columns has 'z', which is not a column"));
  EXPECT_THAT(
      BuildCsv({.column_defaults = {{"z", Tensor::Scalar(1)}}}).status(),
      StatusIs(kInvalid, "column_defaults has 'z'"));
  EXPECT_THAT(BuildCsv({.column_defaults = {{"x", Tensor()}}}).status(),
              StatusIs(kInvalid, "column_defaults of 'x' must be a scalar"));
  EXPECT_THAT(
      BuildCsv({}, "/data/*.txt").status(),
      StatusIs(absl::StatusCode::kNotFound, "No file matches '/data/*.txt'"));
}

TEST_F(DatasetInputFnTest, FilesMustHaveTheSameHeader) {
  Write("/data/a.csv", "x,y\n1,2\n");
  Write("/data/b.csv", "x,z\n1,2\n");
  EXPECT_THAT(BuildCsv({}).status(),
              StatusIs(kInvalid,
                       "that of '/data/a.csv' is x,y and that of '/data/b.csv' "
                       "is x,z."));
}

TEST_F(DatasetInputFnTest, NullDatasetIsRejected) {
  const auto input =
      DatasetInputFn([](const Scope&) -> absl::StatusOr<ops::Dataset> {
        return ops::Dataset();
      })(root_);
  EXPECT_THAT(input.status(), StatusIs(kInvalid, "Dataset is null"));
}

TEST_F(DatasetInputFnTest, ErrorOfTheDatasetIsReturned) {
  const auto input =
      DatasetInputFn([](const Scope&) -> absl::StatusOr<ops::Dataset> {
        return absl::PermissionDeniedError("no data");
      })(root_);
  EXPECT_THAT(input.status(),
              StatusIs(absl::StatusCode::kPermissionDenied, "no data"));
}

TEST_F(DatasetInputFnTest, ExamplesAreParsedBySpec) {
  Write("/data/a.tfrecord", "");
  ASSERT_OK_AND_ASSIGN(
      const InputTensors input,
      BuildExamples(
          {{"age", FixedLenFeature{.shape = {1}}},
           {"job", VarLenFeature{DT_STRING}},
           {"label", FixedLenFeature{.shape = {}, .dtype = DT_INT64}}},
          {.label_key = "label"}));
  ASSERT_THAT(input.features, ElementsAre(Key("age"), Key("job")));
  EXPECT_TRUE(input.features.at("job").is_sparse());
  EXPECT_EQ(input.labels.dtype(), DT_INT64);
  EXPECT_FALSE(input.sparse_labels.values);
  EXPECT_THAT(input.initializers, SizeIs(1));
}

TEST_F(DatasetInputFnTest, LabelsMayBeSparse) {
  Write("/data/a.tfrecord", "");
  ASSERT_OK_AND_ASSIGN(const InputTensors input,
                       BuildExamples({{"tags", VarLenFeature{DT_STRING}}},
                                     {.label_key = "tags"}));
  EXPECT_THAT(input.features, IsEmpty());
  EXPECT_FALSE(input.labels);
  EXPECT_EQ(input.sparse_labels.values.dtype(), DT_STRING);
}

TEST_F(DatasetInputFnTest, LabelMustBeInTheSpec) {
  EXPECT_THAT(BuildExamples({{"age", FixedLenFeature{}}}, {.label_key = "job"})
                  .status(),
              StatusIs(kInvalid,
                       "The label 'job' is not among the columns of "
                       "the input: age."));
}

}  // namespace
}  // namespace weft::estimator
