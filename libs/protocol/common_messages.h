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

// Returns the error for a caller who could not read the answer of `who`:
// INTERNAL if no correct task would have sent that answer, otherwise `status`.
absl::Status BadReply(absl::string_view who, const absl::Status& status);

// For CallOptions::is_fast, if the reply always takes long to read, as the
// trace of a step does.
inline bool IsNeverReadSoon(const bus::Message& /*reply*/) { return false; }

// Answers the call of a service with the reply, or fails it with the error.
void Answer(bus::IncomingCall& call, absl::StatusOr<bus::Message> reply);

bus::Message WriteDone();
absl::Status ReadDone(bus::Message message);

bus::Message WriteDevices(absl::Span<const DeviceAttributes> devices);
absl::StatusOr<std::vector<DeviceAttributes>> ReadDevices(bus::Message message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COMMON_MESSAGES_H_
