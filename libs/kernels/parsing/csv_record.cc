#include "libs/kernels/parsing/csv_record.h"

#include <emmintrin.h>

#include <bit>
#include <cstddef>
#include <cstring>

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
    // An empty field follows a final delimiter.
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

  // Keeps the last field if it is selected; returns true when no more fields
  // are needed.
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
    std::string* unquoted = nullptr;  // set at the first quote
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

// Sixteen characters at a time. Each mask has a bit for each character, the
// first in the lowest bit.
constexpr size_t kStep = 16;

class Characters {
 public:
  // REQUIRES: there are this many characters.
  explicit Characters(const char* from)
      : all_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))) {}

  unsigned MaskOf(char c) const { return ToMask(Are(c)); }
  bool Has(char a, char b, char c) const {
    return ToMask(_mm_or_si128(Are(a), _mm_or_si128(Are(b), Are(c)))) != 0;
  }

 private:
  __m128i Are(char c) const { return _mm_cmpeq_epi8(all_, _mm_set1_epi8(c)); }
  static unsigned ToMask(__m128i which) {
    return static_cast<unsigned>(_mm_movemask_epi8(which));
  }

  const __m128i all_;
};

// Records the selected fields.
class WantedFields {
 public:
  WantedFields(const std::vector<int64_t>& columns,
               absl::Span<absl::string_view> fields)
      : columns_(columns), fields_(fields) {}

  // Returns false once no more fields are needed, or there is no room.
  bool Add(const char* begin, const char* end) {
    const bool is_wanted = columns_.empty() || columns_[found_] == column_;
    ++column_;
    if (!is_wanted) return true;
    if (found_ == fields_.size()) {
      is_too_many_ = true;
      return false;
    }
    fields_[found_] = {begin, static_cast<size_t>(end - begin)};
    ++found_;
    return columns_.empty() || found_ < fields_.size();
  }
  bool IsFull() const { return found_ == fields_.size() && !is_too_many_; }

 private:
  const std::vector<int64_t>& columns_;
  const absl::Span<absl::string_view> fields_;
  size_t found_ = 0;
  int64_t column_ = 0;
  bool is_too_many_ = false;
};

}  // namespace

bool SplitPlainCsvRecord(absl::string_view record, const CsvFormat& format,
                         absl::Span<absl::string_view> fields) {
  if (record.empty()) return fields.empty();
  if (IsLineEndOrQuote(format.delimiter)) return false;
  const char quote = format.has_quotes ? '"' : '\n';
  WantedFields wanted(format.columns, fields);
  const char* begin = record.data();
  const char* const end = begin + record.size();
  for (const char* at = begin; at < end; at += kStep) {
    const size_t left = static_cast<size_t>(end - at);
    char padded[kStep] = {};
    if (left < kStep) std::memcpy(padded, at, left);
    const Characters characters(left < kStep ? padded : at);
    if (characters.Has(quote, '\n', '\r')) return false;
    unsigned found = characters.MaskOf(format.delimiter);
    if (left < kStep) found &= (1u << left) - 1;
    for (; found != 0; found &= found - 1) {
      const char* const delimiter = at + std::countr_zero(found);
      if (!wanted.Add(begin, delimiter)) return wanted.IsFull();
      begin = delimiter + 1;
    }
  }
  wanted.Add(begin, end);
  return wanted.IsFull();
}

absl::Status SplitCsvRecord(absl::string_view record, const CsvFormat& format,
                            CsvFields& fields) {
  fields.values.clear();
  fields.unquoted.clear();
  return CsvSplitter(record, format, fields).SplitAll();
}

}  // namespace weft
