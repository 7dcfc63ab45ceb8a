// Comma-separated values, one record: RFC 4180's quoting, as TensorFlow reads
// it. Fields are bytes; nothing is trimmed or converted.
//
// Between fields line ends are skipped. Within a field that is not quoted they
// are errors, and so are quotes; a field in quotes holds anything, each quote
// written twice. No record at all has no fields.
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
  bool has_quotes = true;  // else a quote is a character like others
  // Which fields to give, ascending; empty: all. What follows the last of them
  // is not looked at.
  std::vector<int64_t> columns;
};

// The fields of a record; its memory is used again for the next one.
struct CsvFields {
  // Of the record, or of `unquoted`.
  std::vector<absl::string_view> values;
  // Those in which quotes stand for quotes.
  std::deque<std::string> unquoted;
};

// The fields wanted; they live as long as the record. INVALID_ARGUMENT, with
// TensorFlow's words, where quotes or line ends are out of place; fewer fields
// than wanted are no error here.
absl::Status SplitCsvRecord(absl::string_view record, const CsvFormat& format,
                            CsvFields& fields);

// The fields wanted of a record without quotes and line ends, as most are.
// False where it has some, or not as many fields as `fields` has room for: it
// is one for SplitCsvRecord, which takes longer.
bool SplitPlainCsvRecord(absl::string_view record, const CsvFormat& format,
                         absl::Span<absl::string_view> fields);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_CSV_RECORD_H_
