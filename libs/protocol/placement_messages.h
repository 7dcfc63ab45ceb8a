// What a session's master asks of the coordinator when its graph grows, to and
// from messages: Place and its reply (libs/protocol/coordinator.h).
//
// A graph travels as a message of its own inside the request, so that it may be
// larger than a control message; text that repeats is written once: 100,000
// nodes take some 10 MB.
//
// The format: schemas/coordinator.fbs. Threads: functions without state. What
// is read may come from anywhere; errors are as in message_reader.h, and what
// is too large to travel is RESOURCE_EXHAUSTED.
#ifndef WEFT_LIBS_PROTOCOL_PLACEMENT_MESSAGES_H_
#define WEFT_LIBS_PROTOCOL_PLACEMENT_MESSAGES_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/bus/message.h"
#include "libs/protocol/coordinator.h"

namespace weft::protocol {

// No graph is placed with more at once.
inline constexpr size_t kMaxPlacementNodes = size_t{1} << 24;

struct PlaceCall {
  PlacementRequest request;
  // How long before the call's deadline the answer is wanted; not negative.
  absl::Duration answer_time;
};
absl::StatusOr<bus::Message> WritePlace(const PlacementRequest& request,
                                        absl::Duration answer_time);
// Positions of inputs lie in the graph.
absl::StatusOr<PlaceCall> ReadPlace(bus::Message message);

absl::StatusOr<bus::Message> WritePlaceReply(const PlacementReply& reply);
// With a device for each of `num_nodes`; reasons for all of them or none.
absl::StatusOr<PlacementReply> ReadPlaceReply(bus::Message message,
                                              size_t num_nodes);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_PLACEMENT_MESSAGES_H_
