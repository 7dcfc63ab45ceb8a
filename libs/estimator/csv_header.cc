#include "libs/estimator/csv_header.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/csv/field.h"
#include "libs/csv/record_reader.h"

namespace weft::estimator {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

// LeadingLines holds the lines of the first MiB of a file.
class LeadingLines {
 public:
  static absl::StatusOr<LeadingLines> Read(FileSystem& files,
                                           const std::string& path) {
    ASSIGN_OR_RETURN(const auto file, files.NewRandomAccessFile(path));
    std::string text(kMaxBytes, '\0');
    ASSIGN_OR_RETURN(const size_t size,
                     file->Read(0, text.size(), text.data()));
    text.resize(size);
    return LeadingLines(std::move(text));
  }

  // Replaces `line` by the next line, with its end. OUT_OF_RANGE behind the
  // last line. A line that crosses the limit is not returned.
  absl::Status ReadLine(std::string& line) {
    const size_t end = text_.find('\n', next_);
    const bool has_end = end != std::string::npos;
    is_cut_ = !has_end && text_.size() == kMaxBytes;
    if (is_cut_ || next_ == text_.size()) return absl::OutOfRangeError("");
    line = text_.substr(next_, has_end ? end + 1 - next_ : end);
    next_ += line.size();
    return absl::OkStatus();
  }

  // Whether the last call found a line that crosses the limit.
  bool is_cut() const { return is_cut_; }

 private:
  explicit LeadingLines(std::string text) : text_(std::move(text)) {}

  std::string text_;
  size_t next_ = 0;
  bool is_cut_ = false;
};

std::vector<std::string> ToStrings(const CsvFields& fields) {
  std::vector<std::string> strings;
  for (size_t i = 0; i < fields.size(); ++i) strings.emplace_back(fields[i]);
  return strings;
}

template <typename T>
bool Parses(const std::string& field) {
  T value;
  return ParseCsvField(field, value);
}

// Whether the field is a finite decimal number, once rounded to a T.
template <typename T>
bool ParsesFinite(const std::string& field) {
  T value;
  const bool is_hexadecimal = field.find_first_of("xX") != std::string::npos;
  return !is_hexadecimal && ParseCsvField(field, value) && std::isfinite(value);
}

bool Holds(DataType type, const std::string& field) {
  switch (type) {
    case DT_INT32:
      return Parses<int32_t>(field);
    case DT_INT64:
      return Parses<int64_t>(field);
    case DT_FLOAT:
      return ParsesFinite<float>(field);
    case DT_DOUBLE:
      return ParsesFinite<double>(field);
    default:
      return true;
  }
}

}  // namespace

absl::StatusOr<std::vector<CsvRecord>> ReadCsvRecords(FileSystem& files,
                                                      const std::string& path,
                                                      const CsvFormat& format,
                                                      size_t count) {
  ASSIGN_OR_RETURN(LeadingLines lines, LeadingLines::Read(files, path));
  CsvRecordReader reader(
      format, /*at_start=*/true,
      [&lines](std::string& line) { return lines.ReadLine(line); });
  std::vector<CsvRecord> records;
  while (records.size() < count) {
    const absl::StatusOr<bool> has_record = reader.Next();
    if (lines.is_cut()) break;
    if (!has_record.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Line ", reader.line(), " of '", path,
                       "' is malformed: ", has_record.status().message()));
    }
    if (!*has_record) return records;
    records.push_back({reader.line(), ToStrings(reader.fields())});
  }
  if (count == 0 || !records.empty()) return records;
  return absl::InvalidArgumentError(
      absl::StrCat("The first record of '", path, "' has more than ", kMaxBytes,
                   " bytes; is it a csv file with lines?"));
}

DataType WidenedType(DataType so_far, const std::string& field,
                     const std::string& na_value) {
  if (field.empty() || field == na_value) return so_far;
  bool is_wide_enough = so_far == DT_INVALID;
  for (const DataType type : {DT_INT32, DT_INT64, DT_FLOAT, DT_DOUBLE}) {
    is_wide_enough = is_wide_enough || type == so_far;
    if (is_wide_enough && Holds(type, field)) return type;
  }
  return DT_STRING;
}

}  // namespace weft::estimator
