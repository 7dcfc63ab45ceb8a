// EventsCheck: the kind `events`: what an event file that TensorFlow wrote says
// to our reader. RecordsCheck: of the kind `records` the half that needs no
// steps: the file that our writer makes of its records.
#ifndef WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"

namespace weft::conformance {

// OK if the records of `file` are what the case's `events` say, in their order,
// and there are no others; else the message says which differs.
absl::Status CheckEvents(const Case& test_case, FileSystem& fs);

// OK if there are no `records_hex`, or a file of them has the bytes of
// plain.tfrecord.
absl::Status CheckRecords(const Case& test_case, FileSystem& fs);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_EVENTS_CHECK_H_
