#include "libs/kernels/data/csv_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/csv/field.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/parsing/csv_columns.h"

namespace weft {

CsvFile::CsvFile(const CsvOptions& options, std::unique_ptr<InputStream> stream,
                 uint64_t position)
    : options_(options),
      stream_(std::move(stream)),
      lines_(*stream_, {.keeps_ends = true}),
      records_(options.format, /*at_start=*/position == 0,
               [this](std::string& line) { return lines_.ReadLine(line); }),
      begin_(position) {}

absl::Status CsvFile::SkipHeader() {
  const absl::StatusOr<bool> has = records_.Next();
  if (has.ok() && *has) return absl::OkStatus();
  if (!has.ok() && !absl::IsInvalidArgument(has.status())) return has.status();
  header_error_ = absl::InvalidArgumentError(
      absl::StrCat("Can't read header of file: ",
                   has.ok() ? "it is empty" : has.status().message()));
  return absl::OkStatus();
}

absl::StatusOr<bool> CsvFile::Read(Allocator& allocator,
                                   DatasetElement* element) {
  RETURN_IF_ERROR(std::exchange(header_error_, absl::OkStatus()));
  absl::StatusOr<bool> has = records_.Next();
  if (has.ok() && !*has) return false;
  absl::Status status = has.status();
  if (status.ok()) status = SetAll(allocator, element);
  if (status.ok()) return true;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " (", Place(), ")"));
}

std::string CsvFile::Place() const {
  const int64_t line = records_.line();
  if (begin_ == 0) return absl::StrCat("line ", line, " of the file");
  return absl::StrCat("line ", line, " behind byte ", begin_, " of the file");
}

absl::Status CsvFile::SetAll(Allocator& allocator,
                             DatasetElement* element) const {
  const size_t columns = options_.defaults.size();
  element->resize(columns);
  const std::vector<int64_t>& selected = options_.selected;
  const std::vector<int64_t>& excluded = options_.excluded;
  size_t column = 0;
  for (size_t i = 0; i < records_.fields().size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    if (!selected.empty()) {
      if (column == columns) break;
      if (selected[column] != number) continue;
    } else if (std::binary_search(excluded.begin(), excluded.end(), number)) {
      continue;
    }
    if (column == columns) return WrongFieldCount();
    RETURN_IF_ERROR(Set(allocator, column, i, &(*element)[column]));
    ++column;
  }
  return column == columns ? absl::OkStatus() : WrongFieldCount();
}

absl::Status CsvFile::WrongFieldCount() const {
  const std::vector<int64_t>& selected = options_.selected;
  const size_t expected =
      selected.empty() ? options_.defaults.size() + options_.excluded.size()
                       : static_cast<size_t>(selected.back()) + 1;
  return absl::InvalidArgumentError(absl::StrCat(
      "Expect ", selected.empty() ? "" : "at least ", expected,
      " fields but have ", records_.fields().size(), " in record"));
}

std::string CsvFile::NameOfField(size_t column, size_t number) const {
  const std::string& name = options_.names[column];
  return absl::StrCat(
      "Field ", number,
      name.empty() ? "" : absl::StrCat(" (column '", name, "')"));
}

absl::Status CsvFile::Set(Allocator& allocator, size_t column, size_t number,
                          Tensor* to) const {
  const absl::string_view field = records_.fields()[number];
  const Tensor& otherwise = options_.defaults[column];
  return DispatchType(
      CsvFieldTypes{}, otherwise.dtype(),
      [&]<typename T>(TypeTag<T>) -> absl::Status {
        ASSIGN_OR_RETURN(
            *to, Tensor::Allocate(allocator, otherwise.dtype(), TensorShape()));
        T& value = to->mutable_scalar<T>();
        if (field.empty() || field == options_.na_value) {
          if (otherwise.num_elements() == 1) {
            value = otherwise.flat<T>()[0];
            return absl::OkStatus();
          }
          return absl::InvalidArgumentError(
              absl::StrCat(NameOfField(column, number),
                           " is required but missing in record!"));
        }
        if (ParseCsvField(field, value)) return absl::OkStatus();
        const std::string& reason = options_.type_reasons[column];
        return absl::InvalidArgumentError(absl::StrCat(
            NameOfField(column, number), " in record is not a valid ",
            DataTypeName(otherwise.dtype()), ": ", field,
            reason.empty() ? "" : ". The type is ", reason));
      });
}

}  // namespace weft
