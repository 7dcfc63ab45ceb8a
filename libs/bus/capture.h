// Captures: messages of a Wire written down, to be looked at later with
// `bazel run //tools:weft -- wire FILE`. capturing_wire.h makes them. The
// format is docs/operations/wire_capture.md.
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
  std::string bytes;  // the first of them, perhaps not all
};

struct CapturedMessage {
  absl::Time time;
  ConnectionId connection = 0;
  Lane lane = Lane::kControl;
  bool received = false;  // else sent
  std::vector<CapturedFrame> frames;
};

// What a capture begins with.
absl::string_view CaptureHeader();
// A message, as it stands in the file. Of each frame no more than
// `max_frame_bytes` are kept.
std::string EncodeCapture(absl::Time time, ConnectionId connection, Lane lane,
                          bool received, const Frames& frames,
                          size_t max_frame_bytes);

// All messages of a file. INVALID_ARGUMENT where it is none, or cut short.
absl::StatusOr<std::vector<CapturedMessage>> ReadCapture(
    absl::string_view file);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_CAPTURE_H_
