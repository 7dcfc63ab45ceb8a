// The messages between tasks, masters, tools and the coordinator: the requests
// and replies of the role Coordinator (libs/protocol/coordinator/coordinator.h)
// except Place (placement_messages.h).
//
// schemas/coordinator.fbs defines the format. Threads: functions without state.
// Input is untrusted; errors are as in message_reader.h. Reports and cluster
// states are sent as nested messages, so that they may be larger than a control
// message; more than 1 GiB of them is RESOURCE_EXHAUSTED.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_MESSAGES_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/bus/message.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft::protocol {

absl::StatusOr<bus::Message> WriteJoin(const JoinRequest& request);
absl::StatusOr<JoinRequest> ReadJoin(bus::Message message);
bus::Message WriteJoinReply(const JoinReply& reply);
// Reads the reply, whose heartbeat interval must be positive.
absl::StatusOr<JoinReply> ReadJoinReply(bus::Message message);

absl::StatusOr<bus::Message> WriteHeartbeat(const HeartbeatRequest& request);
absl::StatusOr<HeartbeatRequest> ReadHeartbeat(bus::Message message);
bus::Message WriteHeartbeatReply(const HeartbeatReply& reply);
absl::StatusOr<HeartbeatReply> ReadHeartbeatReply(bus::Message message);

bus::Message WriteLeave(const LeaveRequest& request);
absl::StatusOr<LeaveRequest> ReadLeave(bus::Message message);

bus::Message WriteEndSession(uint64_t session);
absl::StatusOr<uint64_t> ReadEndSession(bus::Message message);

struct ForgetContainersRequest {
  std::vector<std::string> containers;
  std::vector<std::string> device_filters;
};
bus::Message WriteForgetContainers(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters);
absl::StatusOr<ForgetContainersRequest> ReadForgetContainers(
    bus::Message message);

// A request for the devices of the cluster. The answer is a list of devices
// (common_messages.h).
struct ListClusterDevicesCall {
  std::vector<std::string> device_filters;
  // How long before the call's deadline the answer is needed; not negative.
  absl::Duration answer_time;
};
bus::Message WriteListClusterDevices(
    const std::vector<std::string>& device_filters, absl::Duration answer_time);
absl::StatusOr<ListClusterDevicesCall> ReadListClusterDevices(
    bus::Message message);

bus::Message WriteGetCluster(const ClusterQuery& query);
absl::StatusOr<ClusterQuery> ReadGetCluster(bus::Message message);
absl::StatusOr<bus::Message> WriteClusterStatus(const ClusterStatus& status);
absl::StatusOr<ClusterStatus> ReadClusterStatus(bus::Message message);

bus::Message WriteShutdown();
absl::Status ReadShutdown(bus::Message message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_MESSAGES_H_
