// EventsCheck implements the case kind `events`: our reader reads an event file
// written by TensorFlow. RecordsCheck implements the part of kind `records`
// that needs no steps: the bytes that our writer produces for the records.
#ifndef WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"

namespace weft::conformance {

// OK if the records of `file` match the case's `events`, in order, and there
// are no others; otherwise the message names the difference.
absl::Status CheckEvents(const Case& test_case, FileSystem& fs);

// OK if there are no `records_hex`, or a file of them has the bytes of
// plain.tfrecord.
absl::Status CheckRecords(const Case& test_case, FileSystem& fs);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_
