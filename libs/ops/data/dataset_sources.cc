// The sources of datasets.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/data/dataset.h"
#include "libs/ops/data/dataset_maker.h"

namespace weft::ops {
namespace {

// The types and shapes of components, from values of the graph or from
// constants.
absl::StatusOr<ElementSpec> SpecOfTensors(
    const InputList& tensors, const std::vector<std::string>& names) {
  ElementSpec element;
  for (const Input& input : tensors) {
    if (input.value()) {
      element.push_back({input.value()->dtype(), input.value()->shape()});
    } else if (input.output()) {
      element.push_back(
          {RemoveRefType(input.output().dtype()), input.output().shape()});
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("component ", element.size(), " is missing"));
    }
  }
  if (element.empty()) {
    return absl::InvalidArgumentError(
        "a dataset must have at least one component");
  }
  RETURN_IF_ERROR(SetNames(names, element));
  return element;
}

absl::Status TakeRows(ElementSpec& element) {
  int64_t rows = PartialShape::kUnknown;
  for (Component& component : element) {
    if (component.shape.has_rank() && component.shape.rank() == 0) {
      return absl::InvalidArgumentError(
          "Unbatching a tensor is only supported for rank >= 1");
    }
    const int64_t own = component.shape.has_rank() ? component.shape.dim(0)
                                                   : PartialShape::kUnknown;
    if (own != PartialShape::kUnknown) {
      if (rows != PartialShape::kUnknown && rows != own) {
        return absl::InvalidArgumentError(
            absl::StrCat("Dimensions ", rows, " and ", own,
                         " are not compatible: the components must have the "
                         "same number of rows"));
      }
      rows = own;
    }
    component.shape = RowOf(component.shape);
  }
  return absl::OkStatus();
}

Dataset Tensors(const Scope& scope, const std::string& op,
                const InputList& tensors, const std::vector<std::string>& names,
                bool are_rows, AttrMap attrs = {}) {
  absl::StatusOr<ElementSpec> element = SpecOfTensors(tensors, names);
  absl::Status status = element.status();
  if (status.ok() && are_rows) status = TakeRows(*element);
  scope.UpdateStatus(Annotate(status, op));
  if (!scope.ok())
    return DatasetMaker::Null(scope, ElementSpec(tensors.size()));
  return DatasetMaker::Add(scope, op, tensors, *std::move(element),
                           std::move(attrs));
}

ElementSpec OneString() { return {{DT_STRING, PartialShape::Scalar()}}; }

using FilesDataset =
    std::function<Dataset(const Scope& scope, const Input& filenames)>;

// Reads one file after another, or several round robin.
Dataset ReadFiles(const Scope& scope, const Input& filenames,
                  const FileDatasetOptions& options, const FilesDataset& make) {
  if (!options.num_parallel_reads) return make(scope, filenames);
  const Output files = scope.WithName("").ToOutput(filenames, "filenames");
  if (!files) return DatasetMaker::Null(scope, OneString());
  const bool is_one = files.shape().has_rank() && files.shape().rank() == 0;
  const Scope rest = scope.WithName("");
  const Dataset names = is_one ? Dataset::FromTensors(rest, {files})
                               : Dataset::FromTensorSlices(rest, {files});
  return names.In(scope).Interleave(
      [&](const Scope& s, const std::vector<Output>& v) {
        return make(s, v[0]);
      },
      {.cycle_length = *options.num_parallel_reads,
       .num_parallel_calls = *options.num_parallel_reads});
}

}  // namespace

Dataset Dataset::FromTensors(const Scope& scope, const InputList& tensors,
                             const std::vector<std::string>& names) {
  return Tensors(scope, "TensorDataset", tensors, names, /*are_rows=*/false);
}

Dataset Dataset::FromTensorSlices(const Scope& scope, const InputList& tensors,
                                  const std::vector<std::string>& names) {
  return Tensors(scope, "TensorSliceDataset", tensors, names,
                 /*are_rows=*/true);
}

Dataset Dataset::Range(const Scope& scope, const Input& stop) {
  return Range(scope, 0, stop);
}

Dataset Dataset::Range(const Scope& scope, const Input& start,
                       const Input& stop, const Input& step) {
  return DatasetMaker::Add(scope, "RangeDataset", {start, stop, step},
                           {{DT_INT64, PartialShape::Scalar()}});
}

Dataset Dataset::Zip(const std::vector<Dataset>& datasets) {
  ElementSpec element;
  InputList inputs;
  bool are_there = !datasets.empty();
  for (const Dataset& dataset : datasets) {
    are_there = are_there && dataset;
    inputs.emplace_back(dataset.variant_);
    element.insert(element.end(), dataset.element_.begin(),
                   dataset.element_.end());
  }
  if (!are_there) {
    return DatasetMaker::Null(datasets.empty() ? Dataset() : datasets[0],
                              std::move(element));
  }
  return DatasetMaker::Add(*datasets[0].scope_, "ZipDataset", inputs,
                           std::move(element),
                           {{"N", static_cast<int64_t>(datasets.size())}});
}

Dataset Dataset::ListFiles(const Scope& scope, const Input& pattern,
                           const ListFilesOptions& options) {
  const Scope inner = scope.CompositeScope("list_files");
  const Output files = inner.AddOutput("MatchingFiles", {pattern});
  const Output count =
      inner.AddOutput("Size", {files}, {{"out_type", DT_INT64}});
  const Output some = inner.AddOutput("Greater", {count, int64_t{0}});
  const Node* check =
      inner.WithName("assert_not_empty")
          .AddNode("Assert", {some, "No files matched pattern:", pattern});
  if (check == nullptr) return DatasetMaker::Null(inner, OneString());
  const Output matched = inner.WithControlDependencies({Operation(check)})
                             .AddOutput("Identity", {files});
  const Dataset found = Tensors(inner, "TensorSliceDataset", {matched}, {},
                                /*are_rows=*/true, {{"is_files", true}});
  if (!options.shuffle || !found) return found.In(scope.WithName(""));
  const Output buffer = inner.AddOutput("Maximum", {count, int64_t{1}});
  return found.Shuffle(buffer, {.seed = options.seed}).In(scope.WithName(""));
}

Dataset TextLineDataset(const Scope& scope, const Input& filenames,
                        const FileDatasetOptions& options) {
  return ReadFiles(scope, filenames, options,
                   [&](const Scope& s, const Input& files) {
                     return DatasetMaker::Add(
                         s, "TextLineDataset",
                         {files, options.compression_type, options.buffer_size},
                         OneString());
                   });
}

Dataset TFRecordDataset(const Scope& scope, const Input& filenames,
                        const FileDatasetOptions& options) {
  return ReadFiles(scope, filenames, options,
                   [&](const Scope& s, const Input& files) {
                     return DatasetMaker::Add(
                         s, "TFRecordDataset",
                         {files, options.compression_type, options.buffer_size},
                         OneString());
                   });
}

Dataset FixedLengthRecordDataset(const Scope& scope, const Input& filenames,
                                 int64_t record_bytes,
                                 const FixedLengthOptions& options) {
  return ReadFiles(
      scope, filenames, options.files, [&](const Scope& s, const Input& files) {
        return DatasetMaker::Add(
            s, "FixedLengthRecordDatasetV2",
            {files, options.header_bytes, record_bytes, options.footer_bytes,
             options.files.buffer_size, options.files.compression_type},
            OneString());
      });
}

namespace {

Tensor Int64s(const std::vector<int64_t>& values) {
  Tensor tensor(DT_INT64, TensorShape({static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(),
            tensor.mutable_flat<int64_t>().begin());
  return tensor;
}

}  // namespace

Dataset CsvDataset(const Scope& scope, const Input& filenames,
                   const InputList& record_defaults,
                   const CsvOptions& options) {
  absl::StatusOr<ElementSpec> element =
      SpecOfTensors(record_defaults, options.names);
  scope.UpdateStatus(Annotate(element.status(), "CsvDataset"));
  if (!scope.ok())
    return DatasetMaker::Null(scope, ElementSpec(record_defaults.size()));
  for (Component& column : *element) column.shape = PartialShape::Scalar();
  InputList inputs = {filenames,           options.compression_type,
                      options.buffer_size, options.header,
                      options.field_delim, options.use_quote_delim,
                      options.na_value,    Int64s(options.select_cols)};
  inputs.insert(inputs.end(), record_defaults.begin(), record_defaults.end());
  inputs.emplace_back(Int64s({}));  // excluded
  AttrMap attrs;
  if (!options.names.empty()) attrs["_column_names"] = options.names;
  if (!options.type_reasons.empty()) {
    attrs["_type_reasons"] = options.type_reasons;
  }
  return DatasetMaker::Add(scope, "CSVDatasetV2", inputs, *std::move(element),
                           std::move(attrs));
}

namespace {

// Returns `dataset` with the component `label` moved to the end.
Dataset LabelLast(const Dataset& dataset, const std::string& label) {
  if (!dataset || label.empty()) return dataset;
  std::vector<std::string> names;
  size_t at = dataset.element().size();
  for (size_t i = 0; i < dataset.element().size(); ++i) {
    const std::string& name = dataset.element()[i].name;
    if (name == label) at = i;
    if (name != label) names.push_back(name);
  }
  if (at == dataset.element().size()) {
    dataset.scope().UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "`label_name` provided must be one of the columns: '", label, "'")));
    return DatasetMaker::Null(dataset, dataset.element());
  }
  names.push_back(label);
  return dataset.Map(
      [at](const Scope&, std::vector<Output> v) {
        std::rotate(v.begin() + at, v.begin() + at + 1, v.end());
        return v;
      },
      {.names = names});
}

}  // namespace

Dataset MakeCsvDataset(const Scope& scope, const Input& file_pattern,
                       const Input& batch_size,
                       const std::vector<std::string>& column_names,
                       const InputList& column_defaults,
                       const MakeCsvDatasetOptions& options) {
  const Dataset files = Dataset::ListFiles(
      scope, file_pattern,
      {.shuffle = options.shuffle, .seed = options.shuffle_seed});
  CsvOptions csv = options.csv;
  csv.names = column_names;
  Dataset rows =
      files.FlatMap([&](const Scope& s, const std::vector<Output>& v) {
        return CsvDataset(s, v[0], column_defaults, csv);
      });
  rows = LabelLast(rows, options.label_name);
  if (options.shuffle) {
    rows = rows.Shuffle(options.shuffle_buffer_size,
                        {.seed = options.shuffle_seed});
  }
  rows = rows.Repeat(options.num_epochs.value_or(-1));
  // If the dataset is endless, all batches are full.
  return rows.Batch(batch_size, {.drop_remainder = !options.num_epochs})
      .Prefetch(options.prefetch_buffer_size);
}

Dataset ParseExampleDataset(const Dataset& input,
                            const std::vector<FixedLenFeature>& features,
                            int64_t num_parallel_calls) {
  std::vector<FixedLenFeature> sorted = features;
  absl::c_sort(sorted, [](const FixedLenFeature& a, const FixedLenFeature& b) {
    return a.key < b.key;
  });
  if (!input) return input;
  ElementSpec element;
  std::vector<std::string> keys;
  std::vector<PartialShape> shapes;
  DataTypeVector types;
  InputList inputs = {input.variant(), num_parallel_calls};
  for (const FixedLenFeature& feature : sorted) {
    keys.push_back(feature.key);
    shapes.push_back(feature.shape);
    types.push_back(feature.dtype);
    inputs.emplace_back(feature.default_value.value_or(
        Tensor(feature.dtype, TensorShape({0}))));
    element.push_back({feature.dtype,
                       Batched(feature.shape, PartialShape::kUnknown),
                       feature.key});
  }
  return DatasetMaker::Add(input.scope(), "ParseExampleDatasetV2", inputs,
                           std::move(element),
                           {{"dense_keys", keys},
                            {"dense_shapes", shapes},
                            {"Tdense", types},
                            {"sparse_keys", std::vector<std::string>()},
                            {"sparse_types", DataTypeVector()}});
}

}  // namespace weft::ops
