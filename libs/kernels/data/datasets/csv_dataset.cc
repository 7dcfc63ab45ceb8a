// Datasets of the records of csv files.
#include <utility>

#include "libs/kernels/data/csv_file.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/parsing/csv_columns.h"

namespace weft {
namespace {

class CsvDataset : public FilesDataset {
 public:
  CsvDataset(const DatasetOp& op, std::vector<std::string> files,
             Compression compression, CsvOptions options)
      : FilesDataset(op.name, op.element, std::move(files)),
        compression_(compression),
        options_(std::move(options)) {}

 private:
  absl::StatusOr<std::unique_ptr<RecordFile>> Open(
      FileSystem& files, size_t index, uint64_t position) const override {
    ASSIGN_OR_RETURN(auto stream,
                     OpenStream(files, file(index), compression_, position));
    auto file =
        std::make_unique<CsvFile>(options_, std::move(stream), position);
    if (options_.has_header && position == 0) {
      RETURN_IF_ERROR(file->SkipHeader());
    }
    return file;
  }

  const Compression compression_;
  const CsvOptions options_;
};

absl::Status CheckAscending(const std::vector<int64_t>& columns,
                            absl::string_view name) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " should be non-negative indices"));
    }
    if (i > 0 && columns[i] <= columns[i - 1]) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " should be strictly increasing indices"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckColumns(const CsvOptions& options, const DatasetOp& op) {
  RETURN_IF_ERROR(CheckAscending(options.selected, "select_cols"));
  RETURN_IF_ERROR(CheckAscending(options.excluded, "exclude_cols"));
  if (!options.selected.empty() &&
      options.selected.size() != options.defaults.size()) {
    return absl::InvalidArgumentError("select_cols should match output size");
  }
  if (!options.selected.empty() && !options.excluded.empty()) {
    return absl::InvalidArgumentError(
        "Either select_cols or exclude_cols can be given, not both");
  }
  DataTypeVector types;
  for (size_t i = 0; i < options.defaults.size(); ++i) {
    const Tensor& value = options.defaults[i];
    types.push_back(value.dtype());
    RETURN_IF_ERROR(CheckCsvDefault(value, i));
  }
  return CheckElementTypes(op.element, types);
}

// One for each column; empty if the node does not have them.
std::vector<std::string> TextsByColumn(const DatasetOp& op,
                                       absl::string_view attr) {
  auto texts = op.Attr<std::vector<std::string>>(attr).value_or(
      std::vector<std::string>());
  texts.resize(op.element.types.size());
  return texts;
}

absl::StatusOr<CsvOptions> ReadOptions(const DatasetOp& op,
                                       const OpKernelContext& context) {
  CsvOptions options;
  ASSIGN_OR_RETURN(options.has_header, ScalarInput<bool>(context, 3, "header"));
  ASSIGN_OR_RETURN(const std::string delimiter,
                   ScalarInput<std::string>(context, 4, "field_delim"));
  if (delimiter.size() != 1) {
    return absl::InvalidArgumentError("field_delim should be only 1 char");
  }
  options.format.delimiter = delimiter[0];
  ASSIGN_OR_RETURN(options.format.has_quotes,
                   ScalarInput<bool>(context, 5, "use_quote_delim"));
  ASSIGN_OR_RETURN(options.na_value,
                   ScalarInput<std::string>(context, 6, "na_value"));
  ASSIGN_OR_RETURN(options.selected,
                   VectorInput<int64_t>(context, 7, "select_cols"));
  constexpr int kFirstDefault = 8;
  const int end = kFirstDefault + static_cast<int>(op.element.types.size());
  for (int i = kFirstDefault; i < end; ++i) {
    options.defaults.push_back(context.input(i));
  }
  if (context.num_inputs() > end) {
    ASSIGN_OR_RETURN(options.excluded,
                     VectorInput<int64_t>(context, end, "exclude_cols"));
  }
  RETURN_IF_ERROR(CheckColumns(options, op));
  options.names = TextsByColumn(op, "_column_names");
  options.type_reasons = TextsByColumn(op, "_type_reasons");
  return options;
}

absl::StatusOr<DatasetPtr> MakeCsv(const DatasetOp& op,
                                   OpKernelContext& context) {
  ASSIGN_OR_RETURN(auto files,
                   VectorInput<std::string>(context, 0, "filenames"));
  ASSIGN_OR_RETURN(const Compression compression, CompressionInput(context, 1));
  ASSIGN_OR_RETURN(const int64_t buffer_size,
                   ScalarInput<int64_t>(context, 2, "buffer_size"));
  if (buffer_size <= 0) {
    return absl::InvalidArgumentError("buffer_size should be positive");
  }
  ASSIGN_OR_RETURN(CsvOptions options, ReadOptions(op, context));
  return std::make_shared<CsvDataset>(op, std::move(files), compression,
                                      std::move(options));
}

}  // namespace

void RegisterCsvDataset(KernelRegistry& registry) {
  RegisterDataset(registry, "CSVDataset", MakeCsv);
  RegisterDataset(registry, "ExperimentalCSVDataset", MakeCsv);
  RegisterDataset(registry, "CSVDatasetV2", MakeCsv);
}

}  // namespace weft
