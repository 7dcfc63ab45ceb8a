// EventsCheck implements the case kind `events`: Weft's reader reads an event
// file that TensorFlow wrote. RecordsCheck implements the part of the kind
// `records` that needs no steps: Weft's writer must produce the same bytes for
// the records.
#ifndef WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"

namespace weft::conformance {

// Returns OK if the file has exactly the events of the case, in this order.
// Otherwise the message names the difference.
absl::Status CheckEvents(const Case& test_case, FileSystem& fs);

// Returns OK if the case has no `records_hex`, or if a file of these records
// equals plain.tfrecord.
absl::Status CheckRecords(const Case& test_case, FileSystem& fs);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_
