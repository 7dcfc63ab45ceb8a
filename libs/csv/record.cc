#include "libs/csv/record.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Limits the number of fields, because each takes more memory than its
// delimiter.
constexpr size_t kMaxFields = size_t{1} << 24;

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

}  // namespace

// CsvSplitter splits one record. The kind of line ends is the only difference
// between records and lines of a file.
class CsvSplitter {
 public:
  enum class LineEnds { kSkipped, kEndRecord };

  CsvSplitter(absl::string_view text, size_t next, const CsvFormat& format,
              LineEnds line_ends, CsvFields& fields)
      : text_(text),
        next_(next),
        format_(format),
        end_record_(line_ends == LineEnds::kEndRecord),
        fields_(fields) {
    fields_.unescaped_.clear();
    fields_.fields_.clear();
  }

  absl::Status SplitRecord(absl::Span<const int64_t> selected) {
    const bool ends_with_delimiter =
        !text_.empty() && text_.back() == format_.delimiter;
    int64_t column = 0;
    bool is_full = false;
    for (SkipLineEnds(); !is_full && !AtEnd(); SkipLineEnds()) {
      RETURN_IF_ERROR(ReadField(NoMoreText));
      if (!AtEnd()) ++next_;  // the delimiter
      is_full = Select(selected, column++);
    }
    if (!is_full && ends_with_delimiter) {
      fields_.fields_.push_back({text_.size(), 0, false});
      Select(selected, column);
    }
    fields_.text_ = text_;
    return absl::OkStatus();
  }

  absl::Status SplitLine(CsvMoreText more) {
    absl::Status error;
    bool has_more = true;
    while (has_more) {
      const absl::Status status = ReadField(more);
      if (!status.ok() && !absl::IsInvalidArgument(status)) {
        next_ = text_.size();
        return status;
      }
      error.Update(status);
      has_more = EndField();
    }
    fields_.text_ = text_;
    return error;
  }

  size_t next() const { return next_; }

 private:
  static absl::StatusOr<absl::string_view> NoMoreText() {
    return absl::string_view();
  }

  bool AtEnd() const { return next_ == text_.size(); }
  void SkipLineEnds() {
    while (!AtEnd() && IsLineEnd(text_[next_])) ++next_;
  }
  bool AtEndOfField() const {
    if (AtEnd()) return true;
    const char c = text_[next_];
    return c == format_.delimiter || (end_record_ && IsLineEnd(c));
  }

  // Drops the last field unless it is selected. Returns whether no more fields
  // are needed.
  bool Select(absl::Span<const int64_t> selected, int64_t column) {
    if (selected.empty()) return false;
    std::vector<CsvFields::Field>& fields = fields_.fields_;
    if (selected[fields.size() - 1] != column) fields.pop_back();
    return fields.size() == selected.size();
  }

  // Skips the delimiter or line end after a field of a line. Returns whether
  // another field follows.
  bool EndField() {
    if (AtEnd()) return false;
    const char c = text_[next_++];
    if (c == format_.delimiter) return true;
    const bool has_newline = c == '\r' && !AtEnd() && text_[next_] == '\n';
    if (has_newline) ++next_;
    return false;
  }

  // Reads a field up to its delimiter or line end.
  absl::Status ReadField(CsvMoreText more) {
    if (fields_.fields_.size() == kMaxFields) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a record has more than ", kMaxFields, " fields"));
    }
    const bool is_quoted =
        format_.has_quotes && !AtEnd() && text_[next_] == '"';
    return is_quoted ? ReadQuoted(more) : ReadPlain();
  }

  absl::Status ReadPlain() {
    const size_t begin = next_;
    const char* const text = text_.data();
    const size_t size = text_.size();
    const char delimiter = format_.delimiter;
    bool has_quote = false, has_line_end = false;
    for (; next_ < size; ++next_) {
      const char c = text[next_];
      if (c == delimiter) break;
      if (IsLineEnd(c)) {
        if (end_record_) break;
        has_line_end = true;
      }
      has_quote |= c == '"';
    }
    fields_.fields_.push_back({begin, next_ - begin, false});
    if (!has_line_end && !(has_quote && format_.has_quotes)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        end_record_ ? "Unquoted fields cannot have quotes inside"
                    : "Unquoted fields cannot have quotes/CRLFs inside");
  }

  // Continues after an unescaped quote, so that the next record of a file
  // begins where TensorFlow's begins.
  absl::Status ReadQuoted(CsvMoreText more) {
    std::string& unescaped = fields_.unescaped_;
    CsvFields::Field field{++next_, 0, false};
    absl::Status error;
    size_t begin = next_;  // of the part that is not in `unescaped`
    while (true) {
      const size_t quote = text_.find('"', next_);
      if (quote == absl::string_view::npos) {
        ASSIGN_OR_RETURN(const bool has_more, Extend(more));
        if (has_more) continue;
        return Unclosed();
      }
      next_ = quote + 1;
      if (AtEndOfField()) {
        AddQuoted(field, begin, quote);
        return error;
      }
      if (text_[next_] != '"') {
        error = absl::InvalidArgumentError(
            "Quote inside a string has to be escaped by another quote");
        if (!end_record_) return error;
        continue;
      }
      if (!field.is_unescaped) field = {unescaped.size(), 0, true};
      unescaped.append(text_.data() + begin, next_ - begin);
      begin = ++next_;
    }
  }

  // Adds a quoted field, whose last part is from `begin` to `end`.
  void AddQuoted(CsvFields::Field field, size_t begin, size_t end) {
    std::string& unescaped = fields_.unescaped_;
    if (field.is_unescaped) {
      unescaped.append(text_.data() + begin, end - begin);
    }
    field.size = (field.is_unescaped ? unescaped.size() : end) - field.begin;
    fields_.fields_.push_back(field);
  }

  // Reads no text twice: searches on in the text that `more` has added.
  absl::StatusOr<bool> Extend(CsvMoreText more) {
    next_ = text_.size();
    if (!end_record_) return false;
    ASSIGN_OR_RETURN(text_, more());
    return next_ < text_.size();
  }
  absl::Status Unclosed() const {
    return absl::InvalidArgumentError(
        end_record_
            ? "Reached end of file without closing quoted field in record"
            : "Quoted field has to end with quote followed by delim or end");
  }

  absl::string_view text_;
  size_t next_;
  const CsvFormat& format_;
  const bool end_record_;
  CsvFields& fields_;
};

absl::Status SplitCsvRecord(absl::string_view record, const CsvFormat& format,
                            absl::Span<const int64_t> selected,
                            CsvFields& fields) {
  return CsvSplitter(record, 0, format, CsvSplitter::LineEnds::kSkipped, fields)
      .SplitRecord(selected);
}

absl::Status SplitCsvLine(absl::string_view text, size_t& next,
                          const CsvFormat& format, CsvMoreText more,
                          CsvFields& fields) {
  CsvSplitter splitter(text, next, format, CsvSplitter::LineEnds::kEndRecord,
                       fields);
  const absl::Status status = splitter.SplitLine(more);
  next = splitter.next();
  return status;
}

}  // namespace weft
