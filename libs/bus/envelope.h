// Envelope: what stands in front of each message: who asked, what the body is,
// and how its attachments come. The formats are schemas/envelope.fbs.
//
// Decoding trusts nothing: the FlatBuffers verifier runs first, and every
// number is checked before anything is reserved or indexed by it. Errors are
// INVALID_ARGUMENT and say what was wrong; the sender has earned a closed
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

// The numbers of schemas::Kind. There may be more in a later version.
enum class MessageKind : uint8_t {
  kRequest = 0,
  kReply = 1,
  kOneWay = 2,
  kCancel = 3,
  kUnknown = 4,  // one that this version does not know
};

// Attachments of one message: all that a callable may fetch, and more.
inline constexpr size_t kMaxAttachments = 131072;

// Streams of one peer that may be open; beyond it the bookkeeping would cost
// more than the bytes. Senders stay at half of it, for a stream that is over
// for its sender may not be so for the receiver yet.
inline constexpr size_t kMaxOpenStreams = 65536;
inline constexpr size_t kMaxUnsentStreams = kMaxOpenStreams / 2;

struct AttachmentInfo {
  uint64_t num_bytes = 0;
  // 0: one of the frames. Neighbours (but for frames between them) may name the
  // same one, which brings their bytes one after the other.
  uint64_t stream = 0;
};

struct Envelope {
  MessageKind kind = MessageKind::kOneWay;
  uint8_t method = 0;  // 0: no body
  uint64_t call_id = 0;
  int64_t time_remaining_us = -1;  // negative: for ever
  absl::Status error;              // only of a reply
  absl::InlinedVector<AttachmentInfo, 2> attachments;
  StepTag step;  // only of a one-way message
};

// INVALID_ARGUMENT: "Bad message: ", and what is wrong with it.
absl::Status BadMessage(absl::string_view what);

Blob EncodeEnvelope(const Envelope& envelope);

// What came on the control lane: [envelope] [body] [small attachments].
struct ControlMessage {
  Envelope envelope;
  Blob body;                           // empty where there is none
  absl::InlinedVector<Blob, 2> small;  // attachments with stream 0, in order
};

// Checks the frames against what their envelope says of them.
absl::StatusOr<ControlMessage> DecodeControlMessage(Frames frames);

// In front of each chunk; see schemas/envelope.fbs. In addition to what it says
// there: a ChunkHeader alone whose stream is not 0 ends that stream at
// `offset`; the rest of it will never come (its call was cancelled).
struct ChunkInfo {
  uint64_t stream = 0;
  uint64_t offset = 0;
  uint64_t stream_bytes = 0;
};

Blob EncodeChunkHeader(const ChunkInfo& chunk);

// What came on the bulk lane: [header] [bytes], or [header] alone.
struct Chunk {
  ChunkInfo info;
  bool alone = false;
  Blob bytes;
};

// Checks the frames, and that the chunk lies within its stream.
absl::StatusOr<Chunk> DecodeChunk(const Frames& frames);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ENVELOPE_H_
