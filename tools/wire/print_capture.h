// PrintCapture formats captured messages of the bus
// (docs/operations/wire_capture.md) as text.
#ifndef WEFT_TOOLS_WIRE_PRINT_CAPTURE_H_
#define WEFT_TOOLS_WIRE_PRINT_CAPTURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

// Returns one block of text for each message: its time, direction and
// connection, its envelope and body field by field, and the sizes of its
// attachments. Unparsable parts are marked as such. Times are UTC.
absl::StatusOr<std::string> PrintCapture(absl::string_view file);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_WIRE_PRINT_CAPTURE_H_
