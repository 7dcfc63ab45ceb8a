// The messages between a client and a master: the requests and replies of the
// role Master (libs/protocol/master/master.h).
//
// schemas/session.fbs defines the format. Threads: functions without state.
// Input is untrusted; errors are as in message_reader.h. Writing fails only for
// messages with tensors (tensor_codec.h).
#ifndef WEFT_LIBS_PROTOCOL_MASTER_MASTER_MESSAGES_H_
#define WEFT_LIBS_PROTOCOL_MASTER_MASTER_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/bus/message.h"
#include "libs/protocol/master/master.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft::protocol {

bus::Message WriteCreateSession(const SessionConfig& config);
absl::StatusOr<SessionConfig> ReadCreateSession(bus::Message message);

struct CreatedSession {
  uint64_t session = 0;
  absl::Duration lease;  // how long the session outlives a lost connection
};
bus::Message WriteCreateSessionReply(const CreatedSession& created);
absl::StatusOr<CreatedSession> ReadCreateSessionReply(bus::Message message);

struct ExtendSessionRequest {
  uint64_t session = 0;
  GraphExtension extension;
};
bus::Message WriteExtendSession(uint64_t session,
                                const GraphExtension& extension);
absl::StatusOr<ExtendSessionRequest> ReadExtendSession(bus::Message message);
bus::Message WriteExtendSessionReply(const ExtensionResult& result);
absl::StatusOr<ExtensionResult> ReadExtendSessionReply(bus::Message message);

bus::Message WriteCloseSession(uint64_t session);
absl::StatusOr<uint64_t> ReadCloseSession(bus::Message message);

struct MakeCallableRequest {
  uint64_t session = 0;
  CallableSpec spec;
};
bus::Message WriteMakeCallable(uint64_t session, const CallableSpec& spec);
absl::StatusOr<MakeCallableRequest> ReadMakeCallable(bus::Message message);
bus::Message WriteMakeCallableReply(uint64_t callable);
absl::StatusOr<uint64_t> ReadMakeCallableReply(bus::Message message);

struct CallableId {
  uint64_t session = 0;
  uint64_t callable = 0;
};

struct RunCallableRequest {
  uint64_t session = 0;
  uint64_t callable = 0;
  std::vector<Tensor> feeds;
  size_t num_fetches = 0;
  // The indices of feeds and fetches of a partial run; otherwise empty.
  std::vector<int> feed_indices;
  std::vector<int> fetch_indices;
  absl::Duration timeout = absl::InfiniteDuration();
  MetadataWanted wanted;
};
absl::StatusOr<bus::Message> WriteRunCallable(uint64_t session,
                                              uint64_t callable,
                                              const CallableRun& run);
absl::StatusOr<RunCallableRequest> ReadRunCallable(bus::Message message,
                                                   Allocator& allocator);
// Return whether reading the message takes only microseconds. `message` may
// have any type.
bool IsRunCallableReadSoon(const bus::Message& message);
bool IsRunCallableReplyReadSoon(const bus::Message& message);
// Reads which callable a RunCallable names, without allocating memory for its
// feeds.
absl::StatusOr<CallableId> ReadRunCallableIds(bus::Message message);
// RefusedFeed names the first missing feed of a RunCallable whose attachments
// were dropped.
struct RefusedFeed {
  uint64_t session = 0;
  uint64_t callable = 0;
  size_t feed = 0;
};
absl::StatusOr<RefusedFeed> ReadRefusedFeed(bus::Message message,
                                            size_t attachment);
struct RunCallableAnswer {
  std::vector<Tensor> fetches;
  RunMetadata metadata;
};
// `metadata` is null unless it was requested.
absl::StatusOr<bus::Message> WriteRunCallableReply(
    absl::Span<const Tensor> fetches, const RunMetadata* metadata = nullptr);
// Returns exactly `num_fetches` fetches.
absl::StatusOr<RunCallableAnswer> ReadRunCallableReply(bus::Message message,
                                                       size_t num_fetches,
                                                       Allocator& allocator);

using ReleaseCallableRequest = CallableId;
bus::Message WriteReleaseCallable(uint64_t session, uint64_t callable);
absl::StatusOr<CallableId> ReadReleaseCallable(bus::Message message);

struct ResetRequest {
  std::vector<std::string> containers;
  std::vector<std::string> device_filters;
};
bus::Message WriteReset(const std::vector<std::string>& containers,
                        const std::vector<std::string>& device_filters);
absl::StatusOr<ResetRequest> ReadReset(bus::Message message);

bus::Message WriteListDevices();
absl::Status ReadListDevices(bus::Message message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_MASTER_MESSAGES_H_
