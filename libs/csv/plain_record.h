// Splitting of CSV records without quotes and line ends, as most are, sixteen
// characters at a time.
//
// Threads: stateless function.
#ifndef WEFT_LIBS_CSV_PLAIN_RECORD_H_
#define WEFT_LIBS_CSV_PLAIN_RECORD_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/csv/record.h"

namespace weft {

// Sets `fields` to the fields that SplitCsvRecord would return. Returns false
// if the record has quotes or line ends, or another number of fields than
// `fields`: use the slower SplitCsvRecord for such a record.
bool SplitPlainCsvRecord(absl::string_view record, const CsvFormat& format,
                         absl::Span<const int64_t> selected,
                         absl::Span<absl::string_view> fields);

}  // namespace weft

#endif  // WEFT_LIBS_CSV_PLAIN_RECORD_H_
