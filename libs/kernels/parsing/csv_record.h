// Parsing of one CSV record with RFC 4180's quoting, as in TensorFlow. Fields
// are bytes; they are neither trimmed nor converted.
//
// Line ends between fields are skipped. Line ends and quotes within an unquoted
// field are errors. A quoted field may hold anything, with each quote written
// twice. An empty record has no fields.
#ifndef WEFT_LIBS_KERNELS_PARSING_CSV_RECORD_H_
#define WEFT_LIBS_KERNELS_PARSING_CSV_RECORD_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft {

struct CsvFormat {
  char delimiter = ',';
  bool has_quotes = true;  // false: quotes are ordinary characters
  // The fields to return, ascending; empty: all. The rest of the record is not
  // checked.
  std::vector<int64_t> columns;
};

// The fields of a record; the memory is reused for the next one.
struct CsvFields {
  // Views of the record, or of `unquoted`.
  std::vector<absl::string_view> values;
  // Fields with escaped quotes, unescaped.
  std::deque<std::string> unquoted;
};

// Returns the selected fields; they live as long as the record.
// INVALID_ARGUMENT, with TensorFlow's texts, for misplaced quotes or line ends;
// too few fields are not an error here.
absl::Status SplitCsvRecord(absl::string_view record, const CsvFormat& format,
                            CsvFields& fields);

// Returns the selected fields of a record without quotes and line ends, as most
// are. Returns false for other records, and if the number of fields is not that
// of `fields`: use the slower SplitCsvRecord for these.
bool SplitPlainCsvRecord(absl::string_view record, const CsvFormat& format,
                         absl::Span<absl::string_view> fields);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_CSV_RECORD_H_
