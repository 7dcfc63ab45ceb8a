// Messages used by several roles, and helpers for their answers.
//
// schemas/body.fbs defines the format. Threads: functions without state. Input
// is untrusted; errors are as in message_reader.h.
#ifndef WEFT_LIBS_PROTOCOL_COMMON_MESSAGES_H_
#define WEFT_LIBS_PROTOCOL_COMMON_MESSAGES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/bus/handler.h"
#include "libs/device/device.h"

namespace weft::protocol {

// For a caller: converts the error of reading the answer of `who` to INTERNAL
// if no correct task would have sent that answer.
absl::Status BadReply(absl::string_view who, const absl::Status& status);

// For replies that always take long to read: the trace of a step.
inline bool IsNeverReadSoon(const bus::Message& /*reply*/) { return false; }

// For a service: sends the reply, or fails the call with the error.
void Answer(bus::IncomingCall& call, absl::StatusOr<bus::Message> reply);

bus::Message WriteDone();
absl::Status ReadDone(bus::Message message);

bus::Message WriteDevices(absl::Span<const DeviceAttributes> devices);
absl::StatusOr<std::vector<DeviceAttributes>> ReadDevices(bus::Message message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COMMON_MESSAGES_H_
