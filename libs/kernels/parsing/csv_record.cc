#include "libs/kernels/parsing/csv_record.h"

#include <utility>

#include "libs/base/status.h"

namespace weft {
namespace {

class RecordReader {
 public:
  RecordReader(absl::string_view record, const CsvFormat& format)
      : rest_(record),
        format_(format),
        ends_with_delimiter_(!record.empty() &&
                             record.back() == format.delimiter) {}

  absl::StatusOr<std::vector<std::string>> ReadAll() {
    SkipLineEnds();
    while (!rest_.empty()) {
      const bool is_quoted = format_.has_quotes && rest_.front() == '"';
      RETURN_IF_ERROR(is_quoted ? ReadQuoted() : ReadPlain());
      if (EndField()) return std::move(fields_);
      SkipLineEnds();
    }
    // What follows a last delimiter is an empty field.
    if (ends_with_delimiter_) EndField();
    return std::move(fields_);
  }

 private:
  void SkipLineEnds() {
    while (!rest_.empty() && IsLineEnd(rest_.front())) rest_.remove_prefix(1);
  }
  static bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }
  bool AtDelimiter() const {
    return !rest_.empty() && rest_.front() == format_.delimiter;
  }
  char Next() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void SkipDelimiter() {
    if (AtDelimiter()) rest_.remove_prefix(1);
  }

  // Keeps the field just read if it is wanted; true when none is wanted any
  // more.
  bool EndField() {
    const std::vector<int64_t>& columns = format_.columns;
    const bool is_wanted =
        columns.empty() || columns[fields_.size()] == column_;
    ++column_;
    if (is_wanted) fields_.push_back(std::move(field_));
    field_.clear();
    return !columns.empty() && fields_.size() == columns.size();
  }

  absl::Status ReadPlain() {
    while (!rest_.empty() && !AtDelimiter()) {
      const char c = Next();
      if (IsLineEnd(c) || (format_.has_quotes && c == '"')) {
        return absl::InvalidArgumentError(
            "Unquoted fields cannot have quotes/CRLFs inside");
      }
      field_ += c;
    }
    SkipDelimiter();
    return absl::OkStatus();
  }

  absl::Status ReadQuoted() {
    Next();
    while (!rest_.empty()) {
      const char c = Next();
      if (c != '"') {
        field_ += c;
      } else if (rest_.empty() || AtDelimiter()) {
        SkipDelimiter();
        return absl::OkStatus();
      } else if (Next() == '"') {
        field_ += '"';
      } else {
        return absl::InvalidArgumentError(
            "Quote inside a string has to be escaped by another quote");
      }
    }
    return absl::InvalidArgumentError(
        "Quoted field has to end with quote followed by delim or end");
  }

  absl::string_view rest_;
  const CsvFormat& format_;
  const bool ends_with_delimiter_;
  int64_t column_ = 0;
  std::string field_;
  std::vector<std::string> fields_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitCsvRecord(
    absl::string_view record, const CsvFormat& format) {
  return RecordReader(record, format).ReadAll();
}

}  // namespace weft
