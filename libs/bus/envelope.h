// Envelope is the header of each message: who sent it, what the body is, and
// how its attachments arrive. schemas/envelope.fbs defines the format.
//
// Decoding trusts nothing: the FlatBuffers verifier runs first, and every
// number is checked before it is used for an allocation or as an index. Errors
// are INVALID_ARGUMENT and name the defect; the receiver should close the
// connection.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BUS_ENVELOPE_H_
#define WEFT_LIBS_BUS_ENVELOPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/bus/blob.h"
#include "libs/bus/message.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// The numbers of schemas::Kind. A later version may have more.
enum class MessageKind : uint8_t {
  kRequest = 0,
  kReply = 1,
  kOneWay = 2,
  kCancel = 3,
  kUnknown = 4,  // a kind that this version does not know
};

// The maximum number of attachments of one message: more than a callable may
// fetch.
inline constexpr size_t kMaxAttachments = 131072;

// The maximum number of open streams of one peer; beyond it the bookkeeping
// would cost more than the bytes. Senders use at most half of it, because a
// stream may have ended for the sender but not yet for the receiver.
inline constexpr size_t kMaxOpenStreams = 65536;
inline constexpr size_t kMaxUnsentStreams = kMaxOpenStreams / 2;

struct AttachmentInfo {
  uint64_t num_bytes = 0;
  // 0: the attachment is one of the frames. Adjacent streamed attachments
  // (ignoring frames between them) may share a stream, which carries their
  // bytes one after the other.
  uint64_t stream = 0;
};

struct Envelope {
  MessageKind kind = MessageKind::kOneWay;
  uint8_t method = 0;  // 0: no body
  uint64_t call_id = 0;
  int64_t time_remaining_us = -1;  // negative: no deadline
  absl::Status error;              // only in a reply
  absl::InlinedVector<AttachmentInfo, 2> attachments;
  StepTag step;  // only in a one-way message
};

// Returns INVALID_ARGUMENT: "Bad message: " and the defect.
absl::Status BadMessage(absl::string_view what);

Blob EncodeEnvelope(const Envelope& envelope);

// A message of the control channel: [envelope] [body] [small attachments].
struct ControlMessage {
  Envelope envelope;
  Blob body;  // empty if there is none
  // The attachments with stream 0, in order.
  absl::InlinedVector<Blob, 2> small;
};

// Checks the frames against their envelope.
absl::StatusOr<ControlMessage> DecodeControlMessage(Frames frames);

// The header of each chunk; see schemas/envelope.fbs. In addition: a
// ChunkHeader alone whose stream is not 0 ends that stream at `offset`; the
// rest of it will never arrive (its call was cancelled).
struct ChunkInfo {
  uint64_t stream = 0;
  uint64_t offset = 0;
  uint64_t stream_bytes = 0;
};

Blob EncodeChunkHeader(const ChunkInfo& chunk);

// A message of the bulk channel: [header] [bytes], or [header] alone.
struct Chunk {
  ChunkInfo info;
  bool alone = false;
  Blob bytes;
};

// Checks the frames, and that the chunk lies within its stream.
absl::StatusOr<Chunk> DecodeChunk(const Frames& frames);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ENVELOPE_H_
