// The messages between a session's master and the coordinator when a graph is
// extended: Place and its reply (libs/protocol/coordinator/coordinator.h).
//
// A graph is a nested message inside the request, so that it may be larger than
// a control message. Repeated text is written once: 100,000 nodes take about 10
// MB.
//
// schemas/coordinator.fbs defines the format. Threads: functions without state.
// Input is untrusted; errors are as in message_reader.h, and RESOURCE_EXHAUSTED
// if a message is too large.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_PLACEMENT_MESSAGES_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_PLACEMENT_MESSAGES_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/bus/message.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft::protocol {

// The maximum number of nodes placed at once.
inline constexpr size_t kMaxPlacementNodes = size_t{1} << 24;

struct PlaceCall {
  PlacementRequest request;
  // How long before the call's deadline the answer is needed; not negative.
  absl::Duration answer_time;
};
absl::StatusOr<bus::Message> WritePlace(const PlacementRequest& request,
                                        absl::Duration answer_time);
// Reads the request. Checks that the indices of inputs are those of nodes of
// the graph.
absl::StatusOr<PlaceCall> ReadPlace(bus::Message message);

absl::StatusOr<bus::Message> WritePlaceReply(const PlacementReply& reply);
// Reads the reply. Checks that it has a device for each of the `num_nodes`
// nodes, and reasons for all of them or none.
absl::StatusOr<PlacementReply> ReadPlaceReply(bus::Message message,
                                              size_t num_nodes);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_PLACEMENT_MESSAGES_H_
