#include "libs/estimator/dataset_inputs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/keys_of.h"
#include "libs/base/status.h"
#include "libs/estimator/csv_header.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/data/iterator.h"

namespace weft::estimator {
namespace {

using feature_column::ParseSpec;

constexpr size_t kRowsForTypes = 100;

absl::Status CheckRows(const RowOptions& rows) {
  const RunConfig::Shard& shard = rows.shard;
  if (rows.batch_size >= 1 && rows.num_epochs.value_or(1) >= 1 &&
      rows.shuffle_buffer_size >= 1 && rows.prefetch_buffer_size >= 0 &&
      shard.num_shards >= 1 && shard.index >= 0 &&
      shard.index < shard.num_shards) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "RowOptions: batch_size, num_epochs and shuffle_buffer_size must be at "
      "least 1, prefetch_buffer_size 0, and the shard one of its num_shards; "
      "it is ",
      shard.index, " of ", shard.num_shards, "."));
}

// Sorted.
absl::StatusOr<std::vector<std::string>> FilesOf(FileSystem& files,
                                                 const std::string& pattern) {
  ASSIGN_OR_RETURN(auto paths, files.GetMatchingPaths(pattern));
  if (!paths.empty()) return paths;
  return absl::NotFoundError(absl::StrCat("No file matches '", pattern,
                                          "'; the input has nothing to read."));
}

Tensor AsVector(const std::vector<std::string>& texts) {
  return Tensor::Vector<std::string>(texts);
}

// Batches of rows. Batches may span epochs.
ops::Dataset Batches(ops::Dataset rows, const RowOptions& options) {
  if (options.transform) rows = options.transform(rows);
  if (options.shard.num_shards > 1) {
    rows = rows.Shard(static_cast<int64_t>(options.shard.num_shards),
                      static_cast<int64_t>(options.shard.index));
  }
  if (options.shuffle) {
    rows = rows.Shuffle(options.shuffle_buffer_size, {.seed = options.seed});
  }
  if (options.num_epochs != 1) {
    rows = rows.Repeat(options.num_epochs.value_or(-1));
  }
  rows = rows.Batch(options.batch_size,
                    {.drop_remainder = !options.num_epochs.has_value()});
  return options.prefetch_buffer_size > 0
             ? rows.Prefetch(options.prefetch_buffer_size)
             : rows;
}

// The elements of each step, and the initializers.
struct Started {
  std::vector<Output> components;
  Operation initializer;
};

absl::StatusOr<Started> Start(const Scope& scope, const ops::Dataset& dataset) {
  RETURN_IF_ERROR(scope.status());
  if (!dataset) {
    return absl::InvalidArgumentError("The input's Dataset is null.");
  }
  const ops::Iterator iterator = dataset.In(scope).MakeInitializableIterator(
      {.initialize_with_tables = false});
  Started started{iterator.GetNext(scope), iterator.initializer()};
  RETURN_IF_ERROR(scope.status());
  return started;
}

absl::Status TakeComponent(const ops::Component& component,
                           const Output& output, const std::string& label_name,
                           InputTensors& input) {
  if (component.name.empty()) {
    return absl::InvalidArgumentError(
        "A component of the input's Dataset has no name, so no column finds "
        "it; give names: WithNames, or MapOptions::names.");
  }
  if (!label_name.empty() && component.name == label_name) {
    input.labels = output;
    return absl::OkStatus();
  }
  if (input.features.emplace(component.name, output).second) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Two components of the input's Dataset are called '",
                   component.name, "'; give them different names."));
}

absl::Status NoLabel(const std::string& name, absl::string_view among) {
  return absl::InvalidArgumentError(
      absl::StrCat("The label '", name,
                   "' is not among the columns of the input: ", among, "."));
}

// ---- csv ----

bool IsBlank(const CsvRecord& record) {
  return record.fields.size() == 1 && record.fields[0].empty();
}

class CsvColumns {
 public:
  CsvColumns(FileSystem& files, std::vector<std::string> paths,
             const CsvInputOptions& options)
      : files_(files),
        paths_(std::move(paths)),
        options_(options),
        format_{options.field_delim, options.use_quote_delim} {}

  // Determines the results of the methods below.
  absl::Status Look() {
    RETURN_IF_ERROR(FindNames());
    RETURN_IF_ERROR(Select());
    RETURN_IF_ERROR(CheckKnown());
    return FindDefaults();
  }

  bool has_header() const { return !options_.column_names.has_value(); }
  // Indices of the selected columns, in file order.
  const std::vector<int64_t>& selected() const { return selected_; }
  const std::vector<std::string>& names() const { return selected_names_; }
  const InputList& defaults() const { return defaults_; }
  const std::vector<std::string>& type_reasons() const { return type_reasons_; }

 private:
  absl::StatusOr<std::vector<std::string>> HeaderOf(const std::string& path) {
    ASSIGN_OR_RETURN(const auto records,
                     ReadCsvRecords(files_, path, format_, 1));
    const bool has_names = !records.empty() && !IsBlank(records[0]);
    if (has_names) return records[0].fields;
    return absl::InvalidArgumentError(
        absl::StrCat(records.empty() ? "" : "The first line of ", "'", path,
                     "' is empty, but the first line should name the columns; "
                     "add them, or set column_names."));
  }

  absl::Status FindNames() {
    if (options_.column_names) {
      names_ = *options_.column_names;
    } else {
      ASSIGN_OR_RETURN(names_, HeaderOf(paths_[0]));
    }
    std::set<std::string> seen;
    for (const std::string& name : names_) {
      if (seen.insert(name).second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Two columns of '", paths_[0], "' are called '", name,
                       "'; rename one."));
    }
    return has_header() ? CheckHeaders() : absl::OkStatus();
  }

  // The names are those of the first file.
  absl::Status CheckHeaders() {
    for (size_t i = 1; i < paths_.size(); ++i) {
      const std::string& path = paths_[i];
      ASSIGN_OR_RETURN(const auto header, HeaderOf(path));
      if (header == names_) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "All csv files must have the same header, but that of '", paths_[0],
          "' is ", absl::StrJoin(names_, ","), " and that of '", path, "' is ",
          absl::StrJoin(header, ","), "."));
    }
    return absl::OkStatus();
  }

  bool Has(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }

  absl::Status CheckKnown() const {
    const std::string all = absl::StrJoin(names_, ", ");
    for (const auto& [name, value] : options_.column_defaults) {
      if (Has(name)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("column_defaults has '", name,
                       "', which is not a column of the files: ", all, "."));
    }
    if (options_.label_name.empty()) return absl::OkStatus();
    const auto& read = selected_names_;
    if (std::find(read.begin(), read.end(), options_.label_name) !=
        read.end()) {
      return absl::OkStatus();
    }
    return NoLabel(options_.label_name, absl::StrJoin(read, ", "));
  }

  absl::Status Select() {
    const auto& wanted = options_.select_columns;
    for (const std::string& name : wanted) {
      if (Has(name)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("select_columns has '", name,
                       "', which is not a column of the files: ",
                       absl::StrJoin(names_, ", "), "."));
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      if (!wanted.empty() &&
          std::find(wanted.begin(), wanted.end(), names_[i]) == wanted.end()) {
        continue;
      }
      selected_.push_back(static_cast<int64_t>(i));
      selected_names_.push_back(names_[i]);
    }
    return absl::OkStatus();
  }

  absl::Status FindDefaults() {
    ASSIGN_OR_RETURN(const InferredTypes inferred, FindTypes());
    for (size_t i = 0; i < selected_names_.size(); ++i) {
      const auto given = options_.column_defaults.find(selected_names_[i]);
      if (given != options_.column_defaults.end()) {
        RETURN_IF_ERROR(CheckDefault(given->first, given->second));
        defaults_.emplace_back(given->second);
        type_reasons_.emplace_back();
      } else {
        defaults_.emplace_back(
            Tensor(inferred.types[selected_[i]], TensorShape()));
        type_reasons_.push_back(absl::StrCat(
            "inferred from the first ", inferred.rows,
            " rows; set column_defaults of '", selected_names_[i], "'"));
      }
    }
    return absl::OkStatus();
  }

  static absl::Status CheckDefault(const std::string& name,
                                   const Tensor& value) {
    if (value.IsInitialized() && value.num_elements() <= 1) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "column_defaults of '", name,
        "' must be a scalar, or a vector without elements where the column "
        "must not be empty."));
  }

  struct InferredTypes {
    std::vector<DataType> types;  // types of the file's columns
    size_t rows = 0;              // inspected rows
  };
  absl::StatusOr<InferredTypes> FindTypes() {
    InferredTypes inferred;
    auto& [types, rows] = inferred;
    types.resize(names_.size(), DT_INVALID);
    for (const std::string& path : paths_) {
      if (rows >= kRowsForTypes) break;
      ASSIGN_OR_RETURN(auto records,
                       ReadCsvRecords(files_, path, format_,
                                      kRowsForTypes - rows + has_header()));
      if (has_header() && !records.empty()) records.erase(records.begin());
      rows += records.size();
      for (const auto& record : records) {
        RETURN_IF_ERROR(Widen(path, record, types));
      }
    }
    std::replace(types.begin(), types.end(), DT_INVALID, DT_STRING);
    return inferred;
  }

  absl::Status Widen(const std::string& path, const CsvRecord& record,
                     std::vector<DataType>& types) const {
    const std::vector<std::string>& fields = record.fields;
    if (fields.size() != types.size()) {
      const std::string line =
          absl::StrCat("Line ", record.line, " of '", path, "'");
      return absl::InvalidArgumentError(
          IsBlank(record)
              ? absl::StrCat(line, " is empty; delete it.")
              : absl::StrCat(line, " has ", fields.size(),
                             " fields, but there are ", types.size(),
                             " columns; it begins with '", fields[0], "'."));
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      types[i] = WidenedType(types[i], fields[i], options_.na_value);
    }
    return absl::OkStatus();
  }

  FileSystem& files_;
  const std::vector<std::string> paths_;
  const CsvInputOptions& options_;
  const CsvFormat format_;
  std::vector<std::string> names_;  // of the file
  std::vector<int64_t> selected_;
  std::vector<std::string> selected_names_;
  InputList defaults_;
  std::vector<std::string> type_reasons_;  // empty where the type was given
};

absl::StatusOr<ops::Dataset> CsvBatches(const Scope& scope,
                                        const std::string& pattern,
                                        const CsvInputOptions& options) {
  RETURN_IF_ERROR(CheckRows(options.rows));
  LocalFileSystem local;
  FileSystem& files =
      options.rows.file_system ? *options.rows.file_system : local;
  ASSIGN_OR_RETURN(const auto paths, FilesOf(files, pattern));
  CsvColumns columns(files, paths, options);
  RETURN_IF_ERROR(columns.Look());
  ops::CsvOptions csv;
  csv.header = columns.has_header();
  csv.field_delim = std::string(1, options.field_delim);
  csv.use_quote_delim = options.use_quote_delim;
  csv.na_value = options.na_value;
  csv.select_cols = columns.selected();
  csv.names = columns.names();
  csv.type_reasons = columns.type_reasons();
  return Batches(
      ops::CsvDataset(scope, AsVector(paths), columns.defaults(), csv),
      options.rows);
}

// ---- Examples ----

absl::Status CheckLabel(const ParseSpec& features, const std::string& label) {
  if (label.empty() || features.contains(label)) return absl::OkStatus();
  return NoLabel(label, KeysOf(features));
}

absl::StatusOr<InputTensors> ExamplesInput(
    const Scope& scope, const std::string& pattern, const ParseSpec& features,
    const ExamplesInputOptions& options) {
  RETURN_IF_ERROR(CheckRows(options.rows));
  RETURN_IF_ERROR(CheckLabel(features, options.label_key));
  LocalFileSystem local;
  FileSystem& files =
      options.rows.file_system ? *options.rows.file_system : local;
  ASSIGN_OR_RETURN(const auto paths, FilesOf(files, pattern));
  const ops::Dataset records = ops::TFRecordDataset(
      scope, AsVector(paths), {.compression_type = options.compression_type});
  ASSIGN_OR_RETURN(const Started started,
                   Start(scope, Batches(records, options.rows)));
  InputTensors input;
  input.initializers = {started.initializer};
  input.features =
      feature_column::ParseExample(scope, started.components[0], features);
  RETURN_IF_ERROR(scope.status());
  if (options.label_key.empty()) return input;
  const auto label = input.features.find(options.label_key);
  if (label->second.is_sparse()) {
    input.sparse_labels = label->second.sparse();
  } else {
    input.labels = label->second.dense();
  }
  input.features.erase(label);
  return input;
}

}  // namespace

InputFn DatasetInputFn(DatasetFn dataset_fn, std::string label_name) {
  return
      [dataset_fn = std::move(dataset_fn), label_name = std::move(label_name)](
          const Scope& scope) -> absl::StatusOr<InputTensors> {
        const Scope inner = scope.SubScope("dataset_input");
        ASSIGN_OR_RETURN(const ops::Dataset dataset, dataset_fn(inner));
        ASSIGN_OR_RETURN(const Started started, Start(inner, dataset));
        InputTensors input;
        input.initializers = {started.initializer};
        std::vector<std::string> names;
        for (size_t i = 0; i < started.components.size(); ++i) {
          const ops::Component& component = dataset.element()[i];
          names.push_back(component.name);
          RETURN_IF_ERROR(TakeComponent(component, started.components[i],
                                        label_name, input));
        }
        if (!label_name.empty() && !input.labels) {
          return NoLabel(label_name, absl::StrJoin(names, ", "));
        }
        return input;
      };
}

InputFn CsvInputFn(std::string file_pattern, CsvInputOptions options) {
  const std::string label_name = options.label_name;
  return DatasetInputFn(
      [pattern = std::move(file_pattern), options = std::move(options)](
          const Scope& scope) { return CsvBatches(scope, pattern, options); },
      label_name);
}

InputFn ExamplesInputFn(std::string file_pattern, ParseSpec features,
                        ExamplesInputOptions options) {
  return [pattern = std::move(file_pattern), features = std::move(features),
          options = std::move(options)](const Scope& scope) {
    return ExamplesInput(scope.SubScope("examples_input"), pattern, features,
                         options);
  };
}

}  // namespace weft::estimator
