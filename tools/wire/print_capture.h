// Captured messages of the bus (docs/operations/wire_capture.md) as text for
// people.
#ifndef WEFT_TOOLS_WIRE_PRINT_CAPTURE_H_
#define WEFT_TOOLS_WIRE_PRINT_CAPTURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

// One block a message: when, which way and over which connection; its envelope
// and body, field by field; the sizes of its attachments. What can't be read as
// what it should be is said to be so. Times are UTC.
absl::StatusOr<std::string> PrintCapture(absl::string_view file);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_WIRE_PRINT_CAPTURE_H_
