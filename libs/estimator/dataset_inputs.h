// Input functions based on datasets: any Dataset, csv files with headers, or
// TFRecords of Examples. They correspond to TensorFlow's input_fn that returns
// a Dataset, with make_csv_dataset and make_batched_features_dataset.
//
//   InputFn train = CsvInputFn("/data/train-*.csv", {
//       .label_name = "income", .rows = {.batch_size = 128,
//                                        .shard = config.InputShard()}});
//
// Each training, evaluation or prediction starts at the beginning of the data.
// The pipeline runs on the task that trains. File names, headers and column
// types are determined in the client process when the input is built; the task
// reads the data.
//
// Errors are returned when the input is built: NOT_FOUND if no file matches;
// otherwise INVALID_ARGUMENT, which names the file, column or key.
#ifndef WEFT_LIBS_ESTIMATOR_DATASET_INPUTS_H_
#define WEFT_LIBS_ESTIMATOR_DATASET_INPUTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/estimator/estimator_spec.h"
#include "libs/estimator/run_config.h"
#include "libs/feature_column/parse_spec.h"
#include "libs/fs/file_system.h"
#include "libs/ops/data/dataset.h"
#include "libs/tensor/tensor.h"

namespace weft::estimator {

// DatasetFn creates the dataset in the given scope.
using DatasetFn =
    std::function<absl::StatusOr<ops::Dataset>(const Scope& scope)>;

// Returns an input function that iterates over a dataset, whose elements must
// be batches. Each named component becomes the feature with its name. Component
// `label_name`, if not empty, becomes the labels.
InputFn DatasetInputFn(DatasetFn dataset_fn, std::string label_name = "");

// RowOptions describes how rows, or records, are shuffled, repeated and
// batched.
struct RowOptions {
  int64_t batch_size = 128;
  std::optional<int64_t> num_epochs;  // null: repeat without end
  bool shuffle = true;
  int64_t shuffle_buffer_size = 10000;
  std::optional<int64_t> seed;       // seed of the shuffling
  int64_t prefetch_buffer_size = 1;  // in batches
  // Shard of the rows that this worker reads.
  RunConfig::Shard shard;
  // Applied to all rows before sharding and shuffling, for example a filter or
  // a cache. It must keep component names and types. May be null.
  std::function<ops::Dataset(const ops::Dataset& rows)> transform;
  // File system with which the client process accesses the files; null: local.
  FileSystem* file_system = nullptr;
};

struct CsvInputOptions {
  std::string label_name;  // label column; empty: no labels
  // Column names, for files without a header. Null: the names are the first
  // line of each file, which must be the same in all files.
  std::optional<std::vector<std::string>> column_names;
  // Values for empty fields, by column. A scalar also defines the column's
  // type. An empty vector means that the column must not be empty. Other
  // columns use 0 or "" for empty fields, and the first of the types int32,
  // int64, float, double and string that fits the first 100 rows. "nan" and
  // "inf" are strings, as in TensorFlow.
  std::map<std::string, Tensor> column_defaults;
  std::vector<std::string> select_columns;  // empty: all columns
  char field_delim = ',';
  bool use_quote_delim = true;
  std::string na_value;  // text that counts as an empty field
  RowOptions rows;
};
// Returns an input function that reads rows of the matching csv files, in the
// order of their names.
InputFn CsvInputFn(std::string file_pattern, CsvInputOptions options = {});

struct ExamplesInputOptions {
  // Name of the label feature; empty: no labels. A VarLenFeature becomes
  // InputTensors::sparse_labels.
  std::string label_key;
  std::string compression_type;  // "", "GZIP" or "ZLIB"
  RowOptions rows;
};
// Returns an input function that reads serialized Examples from the matching
// TFRecord files and parses `features`: the result of MakeParseExampleSpec for
// the columns, plus the label.
InputFn ExamplesInputFn(std::string file_pattern,
                        feature_column::ParseSpec features,
                        ExamplesInputOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_DATASET_INPUTS_H_
