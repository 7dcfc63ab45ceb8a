// Method identifies the request or reply in a message of the roles; the numbers
// of schemas::Body (schemas/body.fbs), for headers and for code that dispatches
// messages.
#ifndef WEFT_LIBS_PROTOCOL_METHOD_H_
#define WEFT_LIBS_PROTOCOL_METHOD_H_

#include <cstdint>

namespace weft::protocol {

enum class Method : uint8_t {
  kDone = 5,
  // Of a Master.
  kCreateSession = 6,
  kCreateSessionReply = 7,
  kExtendSession = 8,
  kExtendSessionReply = 9,
  kCloseSession = 10,
  kMakeCallable = 11,
  kMakeCallableReply = 12,
  kRunCallable = 13,
  kRunCallableReply = 14,
  kReleaseCallable = 15,
  kReset = 16,
  kListDevices = 17,
  kListDevicesReply = 18,
  // Of a Worker.
  kCreateWorkerSession = 19,
  kDeleteWorkerSession = 20,
  kRegisterPartition = 21,
  kDeregisterPartition = 22,
  kRunPartition = 23,
  kRunPartitionReply = 24,
  kAbort = 25,
  kClearContainers = 26,
  kPushes = 27,
  kGetStatus = 29,
  // Of a Coordinator.
  kJoinCluster = 30,
  kJoinClusterReply = 31,
  kTaskHeartbeat = 32,
  kTaskHeartbeatReply = 33,
  kLeaveCluster = 34,
  kPlace = 35,
  kPlaceReply = 36,
  kEndSession = 37,
  kForgetContainers = 38,
  kListClusterDevices = 39,
  kGetCluster = 40,
  kGetClusterReply = 41,
  kShutdownCluster = 42,
  // Of a Worker.
  kDescribeWaits = 47,
  kDescribeWaitsReply = 48,
  // Of Files.
  kFileOperation = 49,
  kFileOperationReply = 50,
  // Of a Worker.
  kHoldSteps = 51,
  kHoldStepsReply = 52,
  kRegisterPartitionReply = 53,
};

// The maximum number of feeds, and of fetches, of a callable.
inline constexpr uint32_t kMaxCallableEdges = 65536;

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_METHOD_H_
