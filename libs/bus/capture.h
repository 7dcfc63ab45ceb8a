// Captures are recorded messages of a Wire, to be inspected later with `bazel
// run //tools:weft -- wire FILE`. capturing_wire.h writes them;
// docs/operations/wire_capture.md describes the format.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BUS_CAPTURE_H_
#define WEFT_LIBS_BUS_CAPTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/bus/wire.h"

namespace weft::bus {

struct CapturedFrame {
  uint64_t size = 0;
  std::string bytes;  // the first bytes, perhaps not all
};

struct CapturedMessage {
  absl::Time time;
  ConnectionId connection = 0;
  ChannelKind channel_kind = ChannelKind::kControl;
  bool received = false;  // otherwise sent
  std::vector<CapturedFrame> frames;
};

// Returns the beginning of a capture file.
absl::string_view CaptureHeader();
// Encodes a message for the file. Keeps at most `max_frame_bytes` of each
// frame.
std::string EncodeCapture(absl::Time time, ConnectionId connection,
                          ChannelKind channel_kind, bool received,
                          const Frames& frames, size_t max_frame_bytes);

// Returns all messages of a file. INVALID_ARGUMENT if it is not a capture, or
// truncated.
absl::StatusOr<std::vector<CapturedMessage>> ReadCapture(
    absl::string_view file);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_CAPTURE_H_
