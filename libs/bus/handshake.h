// Handshake encodes and decodes the bus's own messages: HELLO and its answer,
// Heartbeat, Credit, Goodbye. schemas/peer.fbs defines the formats.
//
// Decoding trusts nothing; errors are INVALID_ARGUMENT.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BUS_HANDSHAKE_H_
#define WEFT_LIBS_BUS_HANDSHAKE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/bus/blob.h"
#include "libs/bus/message.h"

namespace weft::bus {

// The protocol versions that this code supports.
inline constexpr uint32_t kNewestVersion = 2;
inline constexpr uint32_t kOldestVersion = 2;

// The numbers of these messages in schemas::Body.
inline constexpr uint8_t kHelloMethod = 1;
inline constexpr uint8_t kHelloReplyMethod = 2;
inline constexpr uint8_t kHeartbeatMethod = 3;
inline constexpr uint8_t kCreditMethod = 4;
inline constexpr uint8_t kGoodbyeMethod = 28;

struct Hello {
  uint32_t newest_version = kNewestVersion;
  uint32_t oldest_version = kOldestVersion;
  Identity self;
  std::string destination;  // empty: any task
};
Blob EncodeHello(const Hello& hello);
absl::StatusOr<Hello> DecodeHello(const Blob& body);

struct HelloReply {
  uint32_t version = kNewestVersion;
  Identity self;
  uint16_t bulk_port = 0;
  uint32_t max_control_bytes = 0;
  uint64_t credit_bytes = 0;
  uint64_t bulk_token = 0;
};
Blob EncodeHelloReply(const HelloReply& reply);
absl::StatusOr<HelloReply> DecodeHelloReply(const Blob& body);

// See schemas/peer.fbs.
struct HeartbeatBody {
  uint64_t sequence = 0;
  uint64_t answers = 0;
  uint64_t busy_us = 0;
};
Blob EncodeHeartbeat(const HeartbeatBody& heartbeat);
absl::StatusOr<HeartbeatBody> DecodeHeartbeat(const Blob& body);

Blob EncodeCredit(uint64_t bytes);
absl::StatusOr<uint64_t> DecodeCredit(const Blob& body);

Blob EncodeGoodbye(const absl::Status& why);
// Decodes the reason of a Goodbye into *why, which is never OK afterwards.
absl::Status DecodeGoodbye(const Blob& body, absl::Status* why);

// Returns whether `self` accepts `hello`: FAILED_PRECONDITION if it is from
// another cluster or for another task, UNIMPLEMENTED if there is no common
// version. A process that does not know its cluster yet, such as any client,
// matches every cluster.
absl::Status CheckHello(const Identity& self, const Hello& hello);
// Returns whether the dialer of `destination` accepts the answer.
absl::Status CheckHelloReply(const Identity& self,
                             const std::string& destination,
                             const HelloReply& reply);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_HANDSHAKE_H_
