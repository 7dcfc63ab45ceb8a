#include "libs/kernels/data/csv_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/parsing/csv_field.h"

namespace weft {
namespace {

// The maximum total size of a record's lines, and of each line.
constexpr size_t kMostRecordBytes = size_t{2} << 30;
// Limits the number of fields, because each takes more memory than its
// delimiter.
constexpr size_t kMostFields = size_t{1} << 24;

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

}  // namespace

CsvFile::CsvFile(const CsvOptions& options, std::unique_ptr<InputStream> stream,
                 uint64_t position)
    : options_(options),
      stream_(std::move(stream)),
      lines_(*stream_, {.keeps_ends = true}),
      begin_(position) {}

absl::Status CsvFile::SkipHeader() {
  const absl::StatusOr<bool> has = Split();
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
  absl::StatusOr<bool> has = Split();
  if (has.ok() && !*has) return false;
  absl::Status status = has.status();
  if (status.ok()) status = SetAll(allocator, element);
  if (status.ok()) return true;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " (", Place(), ")"));
}

std::string CsvFile::Place() const {
  if (begin_ == 0) return absl::StrCat("line ", record_line_, " of the file");
  return absl::StrCat("line ", record_line_, " behind byte ", begin_,
                      " of the file");
}

absl::StatusOr<bool> CsvFile::AppendLine() {
  if (line_.size() > kMostRecordBytes) {
    SkipLine();
    return absl::ResourceExhaustedError(absl::StrCat(
        "a quoted field has more than ", kMostRecordBytes, " bytes"));
  }
  std::string more;
  const absl::Status status = lines_.ReadLine(more);
  if (absl::IsOutOfRange(status)) return false;
  RETURN_IF_ERROR(status);
  ++lines_read_;
  line_.append(more);
  return true;
}

absl::StatusOr<bool> CsvFile::Split() {
  fields_.clear();
  unquoted_.clear();
  if (next_ == line_.size()) {
    next_ = 0;
    const absl::Status status = lines_.ReadLine(line_);
    if (absl::IsOutOfRange(status)) return false;
    RETURN_IF_ERROR(status);
    ++lines_read_;
  }
  record_line_ = lines_read_;
  absl::Status error;
  bool has_more = true;
  while (has_more) {
    if (fields_.size() == kMostFields) {
      SkipLine();
      return absl::ResourceExhaustedError(
          absl::StrCat("a record has more than ", kMostFields, " fields"));
    }
    const bool is_quoted =
        options_.has_quotes && next_ < line_.size() && line_[next_] == '"';
    const absl::Status status = is_quoted ? ReadQuoted() : ReadPlain();
    if (!status.ok() && !absl::IsInvalidArgument(status)) {
      SkipLine();
      return status;
    }
    error.Update(status);
    ASSIGN_OR_RETURN(has_more, EndField());
  }
  RETURN_IF_ERROR(error);
  return true;
}

absl::Status CsvFile::ReadPlain() {
  const size_t begin = next_;
  const char delimiter = options_.delimiter;
  const size_t size = line_.size();
  const char* const text = line_.data();
  bool has_quote = false;
  for (; next_ < size; ++next_) {
    const char c = text[next_];
    if (c == delimiter || IsLineEnd(c)) break;
    has_quote = has_quote || c == '"';
  }
  fields_.push_back({begin, next_ - begin, false});
  if (!has_quote || !options_.has_quotes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "Unquoted fields cannot have quotes inside");
}

bool CsvFile::IsAtEndOfField() const {
  if (next_ == line_.size()) return true;
  const char c = line_[next_];
  return c == options_.delimiter || IsLineEnd(c);
}

absl::Status CsvFile::ReadQuoted() {
  const size_t begin = unquoted_.size();
  absl::Status error;
  ++next_;
  while (true) {
    const size_t quote = line_.find('"', next_);
    if (quote == std::string::npos) {
      unquoted_.append(line_, next_, std::string::npos);
      next_ = line_.size();
      ASSIGN_OR_RETURN(const bool has_line, AppendLine());
      if (has_line) continue;
      return absl::InvalidArgumentError(
          "Reached end of file without closing quoted field in record");
    }
    unquoted_.append(line_, next_, quote - next_);
    next_ = quote + 1;
    if (IsAtEndOfField()) break;
    if (line_[next_] != '"') {
      error = absl::InvalidArgumentError(
          "Quote inside a string has to be escaped by another quote");
      continue;
    }
    unquoted_ += '"';
    ++next_;
  }
  fields_.push_back({begin, unquoted_.size() - begin, true});
  return error;
}

absl::StatusOr<bool> CsvFile::EndField() {
  if (next_ == line_.size()) return false;
  const char c = line_[next_++];
  if (c == options_.delimiter) return true;
  const bool has_newline =
      c == '\r' && next_ < line_.size() && line_[next_] == '\n';
  if (has_newline) ++next_;
  return false;
}

absl::string_view CsvFile::View(const Field& field) const {
  const std::string& text = field.is_unquoted ? unquoted_ : line_;
  return absl::string_view(text).substr(field.begin, field.size);
}

absl::Status CsvFile::SetAll(Allocator& allocator,
                             DatasetElement* element) const {
  const size_t columns = options_.defaults.size();
  element->resize(columns);
  const std::vector<int64_t>& selected = options_.selected;
  const std::vector<int64_t>& excluded = options_.excluded;
  size_t column = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
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
  return absl::InvalidArgumentError(
      absl::StrCat("Expect ", selected.empty() ? "" : "at least ", expected,
                   " fields but have ", fields_.size(), " in record"));
}

std::string CsvFile::NameOfField(size_t column, size_t number) const {
  const std::string& name = options_.names[column];
  return absl::StrCat(
      "Field ", number,
      name.empty() ? "" : absl::StrCat(" (column '", name, "')"));
}

absl::Status CsvFile::Set(Allocator& allocator, size_t column, size_t number,
                          Tensor* to) const {
  const absl::string_view field = View(fields_[number]);
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
