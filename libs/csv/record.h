// Splitting of CSV records into fields with RFC 4180's quoting, as TensorFlow
// does. Fields are bytes; they are neither trimmed nor converted.
//
// A field that begins with a quote is quoted: it ends at the next single quote
// and may contain delimiters and line ends, and each quote written twice. A
// quote within an unquoted field is an error.
//
// TensorFlow has two rules for line ends, one for the records of DecodeCSV and
// one for the files of CSVDataset. There is a function for each.
//
// Threads: stateless functions; CsvFields is thread-compatible.
#ifndef WEFT_LIBS_CSV_RECORD_H_
#define WEFT_LIBS_CSV_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft {

struct CsvFormat {
  char delimiter = ',';
  bool has_quotes = true;  // false: quotes are ordinary characters
};

// CsvFields holds the fields of one record. Its memory is reused for the next
// record. The views point into the record's text and into this object.
class CsvFields {
 public:
  size_t size() const { return fields_.size(); }
  absl::string_view operator[](size_t i) const {
    const Field& field = fields_[i];
    const absl::string_view text = field.is_unescaped ? unescaped_ : text_;
    return text.substr(field.begin, field.size);
  }

 private:
  friend class CsvSplitter;
  // A part of text_ or, if the field has escaped quotes, of unescaped_.
  struct Field {
    size_t begin = 0, size = 0;
    bool is_unescaped = false;
  };

  absl::string_view text_;
  std::string unescaped_;
  std::vector<Field> fields_;
};

// Splits `record`, which is all text of one record, as DecodeCSV does: line
// ends between fields are skipped, a line end within an unquoted field is an
// error, and an empty record has no fields. `selected` are the indices of the
// fields to return, ascending; empty selects all. The rest of the record is not
// checked. `record` must outlive the use of `fields`.
//
// INVALID_ARGUMENT, with TensorFlow's texts, for misplaced quotes or line ends.
// Too few fields are not an error.
absl::Status SplitCsvRecord(absl::string_view record, const CsvFormat& format,
                            absl::Span<const int64_t> selected,
                            CsvFields& fields);

// Appends the next line of a file to the text of an unfinished record. Returns
// the whole text, or the text as before at the end of the file.
using CsvMoreText = absl::FunctionRef<absl::StatusOr<absl::string_view>()>;

// Splits the record of a file that begins at `next` in `text`, as CSVDataset
// does: "\n", "\r" and "\r\n" end a record unless they are quoted, and an empty
// line is a record of one empty field. Calls `more` when a quoted field does
// not end within the text. Moves `next` behind the record and its line end.
// The text returned last must outlive the use of `fields`.
//
// INVALID_ARGUMENT, with TensorFlow's texts, for misplaced quotes: the first
// error of the record, which is read completely. RESOURCE_EXHAUSTED if the
// record has more than 2^24 fields, and errors of `more`: then the rest of the
// text is skipped.
absl::Status SplitCsvLine(absl::string_view text, size_t& next,
                          const CsvFormat& format, CsvMoreText more,
                          CsvFields& fields);

}  // namespace weft

#endif  // WEFT_LIBS_CSV_RECORD_H_
