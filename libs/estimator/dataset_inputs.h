// Input functions of data sets: any Dataset, csv files by their headers,
// TFRecords of Examples. TensorFlow's input_fn that returns a Dataset, with
// make_csv_dataset and make_batched_features_dataset.
//
//   InputFn train = CsvInputFn("/data/train-*.csv", {
//       .label_name = "income", .rows = {.batch_size = 128,
//                                        .shard = config.InputShard()}});
//
// Each training, evaluation or prediction begins the data anew. All runs on the
// task that trains. Which files there are, what their headers say and what
// types their columns have is looked at in this program, when the input is
// built; the task reads them.
//
// What is wrong, building the input says: NOT_FOUND where no file matches, else
// INVALID_ARGUMENT, naming file, column or key.
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

// Makes the data set, in the scope.
using DatasetFn =
    std::function<absl::StatusOr<ops::Dataset>(const Scope& scope)>;

// Elements are batches. Components are features by their names; that of
// `label_name` is the labels, which there are none of where it is empty.
InputFn DatasetInputFn(DatasetFn dataset_fn, std::string label_name = "");

// What becomes of rows, or records, before they are batches.
struct RowOptions {
  int64_t batch_size = 128;
  std::optional<int64_t> num_epochs;  // none: without end
  bool shuffle = true;
  int64_t shuffle_buffer_size = 10000;
  std::optional<int64_t> seed;       // of the shuffling
  int64_t prefetch_buffer_size = 1;  // batches
  // Each so many'th row only, so that workers have their own.
  RunConfig::Shard shard;
  // Of all rows, before they are sharded and shuffled: a filter of one's own, a
  // cache. The components keep names and types. May be null.
  std::function<ops::Dataset(const ops::Dataset& rows)> transform;
  // Where this program finds the files; null: on the machine.
  FileSystem* file_system = nullptr;
};

struct CsvInputOptions {
  std::string label_name;  // the column of labels; empty: there are none
  // Of files without a header; none: the first line of each file, which must be
  // the same in all.
  std::optional<std::vector<std::string>> column_names;
  // What is read instead of an empty field, by column: a scalar, whose type is
  // the column's; a vector without elements where it must not be empty. Of
  // other columns 0 or "", of the first of the types int32, int64, float,
  // double and string that takes the fields of the first 100 rows.
  std::map<std::string, Tensor> column_defaults;
  std::vector<std::string> select_columns;  // empty: all
  char field_delim = ',';
  bool use_quote_delim = true;
  std::string na_value;  // as good as an empty field
  RowOptions rows;
};
// Rows of the files that match, sorted by their names.
InputFn CsvInputFn(std::string file_pattern, CsvInputOptions options = {});

struct ExamplesInputOptions {
  // Of the features; empty: there are no labels. Those of a VarLenFeature are
  // InputTensors::sparse_labels.
  std::string label_key;
  std::string compression_type;  // "", "GZIP" or "ZLIB"
  RowOptions rows;
};
// Examples, serialized in the TFRecords that match, parsed as `features` say:
// MakeParseExampleSpec of the columns, and the label.
InputFn ExamplesInputFn(std::string file_pattern,
                        feature_column::ParseSpec features,
                        ExamplesInputOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_DATASET_INPUTS_H_
