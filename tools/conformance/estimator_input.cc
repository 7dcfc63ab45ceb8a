// Implements ReadData and ReadInput.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/estimator/inputs.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "tools/conformance/estimator_fields.h"
#include "tools/conformance/estimator_model.h"

namespace weft::conformance {
namespace {

using Cells = std::vector<std::vector<std::string>>;  // by row
using Json = nlohmann::json;

// Reads a csv file. Returns its columns by name.
absl::StatusOr<std::map<std::string, std::vector<std::string>>> ReadCsv(
    FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, fs.ReadFile(path));
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty())
    return absl::DataLossError(absl::StrCat(path, " is empty"));
  for (std::string& line : lines) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
  }
  const std::vector<std::string> header = absl::StrSplit(lines[0], ',');
  std::map<std::string, std::vector<std::string>> columns;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    if (fields.size() != header.size()) {
      return absl::DataLossError(absl::StrCat(path, ": line ", i + 1, " has ",
                                              fields.size(), " fields"));
    }
    for (size_t j = 0; j < fields.size(); ++j) {
      columns[header[j]].push_back(fields[j]);
    }
  }
  return columns;
}

absl::Status SetValue(const std::string& text, int64_t at, Tensor& tensor) {
  bool fits = true;
  if (tensor.dtype() == DT_STRING) {
    tensor.mutable_flat<std::string>()[at] = text;
  } else if (tensor.dtype() == DT_INT64) {
    fits = absl::SimpleAtoi(text, &tensor.mutable_flat<int64_t>()[at]);
  } else {
    fits = absl::SimpleAtof(text, &tensor.mutable_flat<float>()[at]);
  }
  if (fits) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("'", text, "' is not a number"));
}

// Returns a tensor of shape [rows, width]. Missing values at the end of a row
// are empty or 0.
absl::StatusOr<Tensor> Table(const Cells& cells, DataType dtype,
                             int64_t width) {
  const auto rows = static_cast<int64_t>(cells.size());
  Tensor table(dtype, TensorShape({rows, width}));
  for (int64_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < cells[i].size(); ++j) {
      RETURN_IF_ERROR(
          SetValue(cells[i][j], i * width + static_cast<int64_t>(j), table));
    }
  }
  return table;
}

std::string LengthName(const std::string& name) { return name + "/length"; }

// The description of a feature or of the label of a case.
struct FeatureSpec {
  DataType dtype = DT_INVALID;
  bool is_multivalent = false;
  std::optional<int64_t> length;  // number of values per row
};

absl::StatusOr<FeatureSpec> ReadFeature(const std::string& name,
                                        const Json& json) {
  Fields fields(json, absl::StrCat("the feature ", name));
  FeatureSpec spec;
  ASSIGN_OR_RETURN(const auto dtype, fields.Get<std::string>("dtype"));
  ASSIGN_OR_RETURN(spec.dtype, DtypeOf(dtype));
  RETURN_IF_ERROR(fields.Take("multivalent", spec.is_multivalent));
  RETURN_IF_ERROR(fields.Take("length", spec.length));
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return spec;
}

// Adds the tensors of one feature. A multivalent feature also gets a tensor
// with the number of values in each row.
absl::Status AddFeature(const std::string& name, const FeatureSpec& spec,
                        const std::vector<std::string>& column,
                        std::map<std::string, Tensor>& tensors) {
  const bool is_list = spec.length || spec.is_multivalent;
  Cells cells;
  size_t width = 0;
  for (const std::string& cell : column) {
    std::vector<std::string> values = {cell};
    if (is_list) values = absl::StrSplit(cell, '|', absl::SkipEmpty());
    if (spec.length && static_cast<int64_t>(values.size()) != *spec.length) {
      return absl::DataLossError(absl::StrCat("'", cell, "' of ", name, " has ",
                                              values.size(), " values, not ",
                                              *spec.length));
    }
    width = std::max(width, values.size());
    cells.push_back(std::move(values));
  }
  ASSIGN_OR_RETURN(tensors[name],
                   Table(cells, spec.dtype, static_cast<int64_t>(width)));
  const auto rows = static_cast<int64_t>(cells.size());
  if (!is_list) {
    ASSIGN_OR_RETURN(tensors[name],
                     tensors[name].Reshaped(TensorShape({rows})));
  }
  if (!spec.is_multivalent) return absl::OkStatus();
  Tensor lengths(DT_INT32, TensorShape({rows}));
  for (int64_t i = 0; i < rows; ++i) {
    lengths.mutable_flat<int32_t>()[i] = static_cast<int32_t>(cells[i].size());
  }
  tensors[LengthName(name)] = lengths;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Labels(
    const Json& spec,
    const std::map<std::string, std::vector<std::string>>& columns) {
  Fields fields(spec, "the label");
  ASSIGN_OR_RETURN(const auto names,
                   fields.Get<std::vector<std::string>>("columns"));
  ASSIGN_OR_RETURN(const auto dtype_name, fields.Get<std::string>("dtype"));
  ASSIGN_OR_RETURN(const DataType dtype, DtypeOf(dtype_name));
  RETURN_IF_ERROR(fields.CheckAllTaken());
  Cells cells;
  for (const std::string& name : names) {
    const auto column = columns.find(name);
    if (column == columns.end()) {
      return absl::DataLossError(
          absl::StrCat("the csv file has no column ", name));
    }
    cells.resize(column->second.size());
    for (size_t i = 0; i < column->second.size(); ++i) {
      cells[i].push_back(column->second[i]);
    }
  }
  ASSIGN_OR_RETURN(const Tensor table,
                   Table(cells, dtype, static_cast<int64_t>(names.size())));
  if (names.size() > 1) return table;
  return table.Reshaped(TensorShape({table.dim(0)}));
}

// Returns the first values of each row of `table` as a sparse tensor. `lengths`
// are the numbers of values per row.
ops::SparseOutputs Multivalent(const Scope& scope, const Output& table,
                               const Output& lengths) {
  const Output positions =
      ops::Range(scope, 0, static_cast<int32_t>(table.shape().dim(1)), 1);
  const Output is_value = ops::Less(scope, ops::ExpandDims(scope, positions, 0),
                                    ops::ExpandDims(scope, lengths, 1));
  const Output indices = ops::Where(scope, is_value);
  return {indices, ops::GatherNd(scope, table, indices),
          ops::Shape(scope, table, {.out_type = DT_INT64})};
}

}  // namespace

absl::StatusOr<DataType> DtypeOf(const std::string& name) {
  if (name == "float32") return DT_FLOAT;
  if (name == "int64") return DT_INT64;
  if (name == "string") return DT_STRING;
  return UnknownHere(absl::StrCat("the dtype ", name));
}

absl::StatusOr<DataSpec> ReadData(const Json& json) {
  Fields fields(json, "data");
  DataSpec spec;
  ASSIGN_OR_RETURN(spec.train, fields.Get<std::string>("train"));
  ASSIGN_OR_RETURN(spec.eval, fields.Get<std::string>("eval"));
  ASSIGN_OR_RETURN(spec.train_batch, fields.Get<int64_t>("train_batch"));
  ASSIGN_OR_RETURN(spec.eval_batch, fields.Get<int64_t>("eval_batch"));
  ASSIGN_OR_RETURN(const Json* features, fields.GetObject("features"));
  ASSIGN_OR_RETURN(const Json* label, fields.GetObject("label"));
  spec.features = *features;
  spec.label = *label;
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return spec;
}

absl::StatusOr<estimator::InputFn> ReadInput(FileSystem& fs,
                                             const std::string& path,
                                             const DataSpec& data,
                                             const Reading& reading) {
  ASSIGN_OR_RETURN(const auto columns, ReadCsv(fs, path));
  std::map<std::string, Tensor> tensors;
  std::vector<std::string> multivalent;
  for (const auto& [name, json] : data.features.items()) {
    if (columns.count(name) == 0) {
      return absl::DataLossError(absl::StrCat(path, " has no column ", name));
    }
    ASSIGN_OR_RETURN(const FeatureSpec spec, ReadFeature(name, json));
    RETURN_IF_ERROR(AddFeature(name, spec, columns.at(name), tensors));
    if (spec.is_multivalent) multivalent.push_back(name);
  }
  ASSIGN_OR_RETURN(Tensor labels, Labels(data.label, columns));
  estimator::TensorInputOptions options;
  options.batch_size = reading.batch_size;
  if (reading.repeat) options.num_epochs = std::nullopt;
  auto dense =
      estimator::TensorInputFn(std::move(tensors), std::move(labels), options);
  return [dense, multivalent](
             const Scope& scope) -> absl::StatusOr<estimator::InputTensors> {
    ASSIGN_OR_RETURN(estimator::InputTensors input, dense(scope));
    for (const std::string& name : multivalent) {
      input.features[name] =
          Multivalent(scope, input.features[name].dense(),
                      input.features[LengthName(name)].dense());
      input.features.erase(LengthName(name));
    }
    return input;
  };
}

}  // namespace weft::conformance
