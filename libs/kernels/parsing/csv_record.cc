#include "libs/kernels/parsing/csv_record.h"

#include <algorithm>

#include "libs/base/status.h"

namespace weft {
namespace {

class CsvSplitter {
 public:
  CsvSplitter(absl::string_view record, const CsvFormat& format,
              CsvFields& fields)
      : rest_(record),
        format_(format),
        fields_(fields),
        ends_with_delimiter_(!record.empty() &&
                             record.back() == format.delimiter) {}

  absl::Status SplitAll() {
    SkipLineEnds();
    while (!rest_.empty()) {
      const bool is_quoted = format_.has_quotes && rest_.front() == '"';
      RETURN_IF_ERROR(is_quoted ? ReadQuoted() : ReadPlain());
      if (EndField()) return absl::OkStatus();
      SkipLineEnds();
    }
    // What follows a last delimiter is an empty field.
    if (ends_with_delimiter_) EndField();
    return absl::OkStatus();
  }

 private:
  void SkipLineEnds() {
    while (!rest_.empty() && IsLineEnd(rest_.front())) rest_.remove_prefix(1);
  }
  static bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }
  bool AtDelimiter() const {
    return !rest_.empty() && rest_.front() == format_.delimiter;
  }
  void SkipDelimiter() {
    if (AtDelimiter()) rest_.remove_prefix(1);
  }

  // Keeps the field just read if it is wanted; true when none is wanted any
  // more.
  bool EndField() {
    const std::vector<int64_t>& columns = format_.columns;
    const bool is_wanted =
        columns.empty() || columns[fields_.values.size()] == column_;
    ++column_;
    if (is_wanted) fields_.values.push_back(field_);
    field_ = {};
    return !columns.empty() && fields_.values.size() == columns.size();
  }

  absl::Status ReadPlain() {
    size_t size = 0;
    for (; size < rest_.size() && rest_[size] != format_.delimiter; ++size) {
      const char c = rest_[size];
      if (IsLineEnd(c) || (format_.has_quotes && c == '"')) {
        return absl::InvalidArgumentError(
            "Unquoted fields cannot have quotes/CRLFs inside");
      }
    }
    field_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
    SkipDelimiter();
    return absl::OkStatus();
  }

  absl::Status ReadQuoted() {
    rest_.remove_prefix(1);
    std::string* unquoted = nullptr;  // once there is a quote in it
    while (true) {
      const size_t quote = rest_.find('"');
      if (quote == absl::string_view::npos) {
        return absl::InvalidArgumentError(
            "Quoted field has to end with quote followed by delim or end");
      }
      const absl::string_view part = rest_.substr(0, quote);
      rest_.remove_prefix(quote + 1);
      const bool is_quote =
          !rest_.empty() && rest_.front() == '"' && format_.delimiter != '"';
      if (!is_quote) {
        EndQuoted(part, unquoted);
        if (rest_.empty() || AtDelimiter()) break;
        return absl::InvalidArgumentError(
            "Quote inside a string has to be escaped by another quote");
      }
      if (unquoted == nullptr) unquoted = &fields_.unquoted.emplace_back();
      unquoted->append(part.data(), part.size()).append(1, '"');
      rest_.remove_prefix(1);
    }
    SkipDelimiter();
    return absl::OkStatus();
  }
  void EndQuoted(absl::string_view part, std::string* unquoted) {
    if (unquoted == nullptr) {
      field_ = part;
    } else {
      unquoted->append(part.data(), part.size());
      field_ = *unquoted;
    }
  }

  absl::string_view rest_;
  const CsvFormat& format_;
  CsvFields& fields_;
  const bool ends_with_delimiter_;
  int64_t column_ = 0;
  absl::string_view field_;
};

bool IsLineEndOrQuote(char c) { return c == '\n' || c == '\r' || c == '"'; }

}  // namespace

bool AppendPlainCsvFields(absl::string_view record, const CsvFormat& format,
                          std::vector<absl::string_view>& fields) {
  if (record.empty()) return true;
  if (IsLineEndOrQuote(format.delimiter)) return false;
  const auto last_special =
      std::max(static_cast<unsigned char>('"'),
               static_cast<unsigned char>(format.delimiter));
  const std::vector<int64_t>& columns = format.columns;
  const char* begin = record.data();
  const char* const end = begin + record.size();
  size_t found = 0;
  int64_t column = 0;
  for (const char* at = begin;; ++at) {
    // One comparison for most characters of numbers and names.
    while (at != end && static_cast<unsigned char>(*at) > last_special) ++at;
    if (at != end && *at != format.delimiter) {
      const bool is_text =
          !IsLineEndOrQuote(*at) || (*at == '"' && !format.has_quotes);
      if (is_text) continue;
      return false;
    }
    if (columns.empty()) {
      fields.emplace_back(begin, static_cast<size_t>(at - begin));
    } else if (columns[found] == column) {
      fields.emplace_back(begin, static_cast<size_t>(at - begin));
      if (++found == columns.size()) return true;
    }
    if (at == end) return true;
    ++column;
    begin = at + 1;
  }
}

absl::Status SplitCsvRecord(absl::string_view record, const CsvFormat& format,
                            CsvFields& fields) {
  fields.values.clear();
  fields.unquoted.clear();
  return CsvSplitter(record, format, fields).SplitAll();
}

}  // namespace weft
