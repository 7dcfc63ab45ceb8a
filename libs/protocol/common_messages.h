// Messages that several roles use, and what they do with answers.
//
// The format: schemas/body.fbs. Threads: functions without state. What is read
// may come from anywhere; errors are as in message_reader.h.
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

// For a caller: what another task of ours would not have answered is INTERNAL.
// `status` is what came of reading the answer of `who`.
absl::Status BadReply(absl::string_view who, const absl::Status& status);

// For a reply that takes long to read whatever it brings: what ran in a step.
inline bool IsNeverReadSoon(const bus::Message& /*reply*/) { return false; }

// For a service: replies, or fails with the error.
void Answer(bus::IncomingCall& call, absl::StatusOr<bus::Message> reply);

bus::Message WriteDone();
absl::Status ReadDone(bus::Message message);

bus::Message WriteDevices(absl::Span<const DeviceAttributes> devices);
absl::StatusOr<std::vector<DeviceAttributes>> ReadDevices(bus::Message message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COMMON_MESSAGES_H_
