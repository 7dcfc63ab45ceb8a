// ReadInput.
#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/estimator/inputs.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "tools/conformance/estimator_model.h"

namespace weft::conformance {
namespace {

using Cells = std::vector<std::vector<std::string>>;  // by row
using Json = nlohmann::json;

// By name of column.
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
  return absl::DataLossError(absl::StrCat("'", text, "' is no number"));
}

absl::StatusOr<DataType> TypeOf(const std::string& name) {
  if (name == "float32") return DT_FLOAT;
  if (name == "int64") return DT_INT64;
  if (name == "string") return DT_STRING;
  return absl::InvalidArgumentError(absl::StrCat("dtype ", name));
}

// [rows, width]; what a row lacks is empty or 0.
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

// The tensors of one feature; of a multivalent one also how many values each
// row has.
absl::Status AddFeature(const std::string& name, const Json& spec,
                        const std::vector<std::string>& column,
                        std::map<std::string, Tensor>& tensors) {
  ASSIGN_OR_RETURN(const DataType dtype,
                   TypeOf(spec.at("dtype").get<std::string>()));
  const bool is_list = spec.contains("length") || spec.contains("multivalent");
  Cells cells;
  size_t width = 0;
  for (const std::string& cell : column) {
    std::vector<std::string> values = {cell};
    if (is_list) values = absl::StrSplit(cell, '|', absl::SkipEmpty());
    width = std::max(width, values.size());
    cells.push_back(std::move(values));
  }
  ASSIGN_OR_RETURN(tensors[name],
                   Table(cells, dtype, static_cast<int64_t>(width)));
  const auto rows = static_cast<int64_t>(cells.size());
  if (!is_list) {
    ASSIGN_OR_RETURN(tensors[name],
                     tensors[name].Reshaped(TensorShape({rows})));
  }
  if (!spec.contains("multivalent")) return absl::OkStatus();
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
  const auto names = spec.at("columns").get<std::vector<std::string>>();
  ASSIGN_OR_RETURN(const DataType dtype,
                   TypeOf(spec.at("dtype").get<std::string>()));
  Cells cells;
  for (const std::string& name : names) {
    const auto& column = columns.at(name);
    cells.resize(column.size());
    for (size_t i = 0; i < column.size(); ++i) cells[i].push_back(column[i]);
  }
  ASSIGN_OR_RETURN(const Tensor table,
                   Table(cells, dtype, static_cast<int64_t>(names.size())));
  if (names.size() > 1) return table;
  return table.Reshaped(TensorShape({table.dim(0)}));
}

// The first values of each row, as many as its length says.
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

absl::StatusOr<estimator::InputFn> ReadInput(FileSystem& fs,
                                             const std::string& path,
                                             const Json& data,
                                             const Reading& reading) {
  ASSIGN_OR_RETURN(const auto columns, ReadCsv(fs, path));
  std::map<std::string, Tensor> tensors;
  std::vector<std::string> multivalent;
  for (const auto& [name, spec] : data.at("features").items()) {
    if (columns.count(name) == 0) {
      return absl::DataLossError(absl::StrCat(path, " has no column ", name));
    }
    RETURN_IF_ERROR(AddFeature(name, spec, columns.at(name), tensors));
    if (spec.contains("multivalent")) multivalent.push_back(name);
  }
  ASSIGN_OR_RETURN(Tensor labels, Labels(data.at("label"), columns));
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
