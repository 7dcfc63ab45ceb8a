#include "libs/bus/envelope.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/bus/flat_blob_inl.h"
#include "schemas/envelope_generated.h"

namespace weft::bus {
namespace {

using flatbuffers::Offset;

Offset<flatbuffers::Vector<Offset<schemas::Attachment>>> PackAttachments(
    flatbuffers::FlatBufferBuilder& builder, const Envelope& envelope) {
  if (envelope.attachments.empty()) return 0;
  absl::InlinedVector<Offset<schemas::Attachment>, 8> attachments;
  for (const AttachmentInfo& info : envelope.attachments) {
    attachments.push_back(
        schemas::CreateAttachment(builder, info.num_bytes, info.stream));
  }
  return builder.CreateVector(attachments.data(), attachments.size());
}

MessageKind UnpackKind(schemas::Kind kind) {
  const auto number = static_cast<uint8_t>(kind);
  return number < static_cast<uint8_t>(MessageKind::kUnknown)
             ? static_cast<MessageKind>(number)
             : MessageKind::kUnknown;
}

absl::Status UnpackAttachments(const schemas::Envelope& packed,
                               Envelope* envelope) {
  const auto* attachments = packed.attachments();
  if (attachments == nullptr) return absl::OkStatus();
  if (attachments->size() > kMaxAttachments)
    return BadMessage("too many attachments");
  uint64_t total = 0;
  for (const schemas::Attachment* attachment : *attachments) {
    const uint64_t bytes = attachment->num_bytes();
    if (bytes > std::numeric_limits<int64_t>::max() - total) {
      return BadMessage("attachments larger than any memory");
    }
    total += bytes;
    if (bytes == 0 && attachment->stream() != 0)
      return BadMessage("an empty stream");
    envelope->attachments.push_back({bytes, attachment->stream()});
  }
  return absl::OkStatus();
}

absl::Status CheckFields(const Envelope& envelope, bool has_error) {
  const bool one_way = envelope.kind == MessageKind::kOneWay;
  if (envelope.kind == MessageKind::kUnknown) return absl::OkStatus();
  if (one_way != (envelope.call_id == 0))
    return BadMessage("call_id and kind differ");
  if (has_error && envelope.kind != MessageKind::kReply) {
    return BadMessage("an error in a message that is not a reply");
  }
  if (has_error && (envelope.method != 0 || !envelope.attachments.empty())) {
    return BadMessage("an error with a body");
  }
  if (envelope.method == 0 && !envelope.attachments.empty()) {
    return BadMessage("attachments without a body");
  }
  if (envelope.method == 0 && (envelope.kind == MessageKind::kRequest ||
                               envelope.kind == MessageKind::kOneWay)) {
    return BadMessage("no body");
  }
  return absl::OkStatus();
}

absl::StatusOr<Envelope> DecodeEnvelope(const Blob& frame) {
  const Blob aligned = Aligned(frame);
  const auto* packed =
      VerifiedRoot<schemas::Envelope>(aligned, schemas::EnvelopeIdentifier());
  if (packed == nullptr) return BadMessage("the envelope is damaged");
  Envelope envelope;
  envelope.kind = UnpackKind(packed->kind());
  envelope.method = packed->method();
  envelope.call_id = packed->call_id();
  envelope.time_remaining_us = packed->time_remaining_us();
  envelope.step = {packed->master_incarnation(), packed->step()};
  if (packed->error() != nullptr)
    envelope.error = UnpackError(*packed->error());
  RETURN_IF_ERROR(UnpackAttachments(*packed, &envelope));
  RETURN_IF_ERROR(CheckFields(envelope, packed->error() != nullptr));
  return envelope;
}

}  // namespace

absl::Status BadMessage(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("Bad message: ", what));
}

Blob EncodeEnvelope(const Envelope& envelope) {
  SmallBuilder builder;
  const auto attachments = PackAttachments(*builder, envelope);
  Offset<schemas::Error> error;
  if (!envelope.error.ok()) error = PackError(*builder, envelope.error);
  schemas::FinishEnvelopeBuffer(
      *builder,
      schemas::CreateEnvelope(
          *builder, static_cast<schemas::Kind>(envelope.kind), envelope.method,
          envelope.call_id, envelope.time_remaining_us, error, attachments,
          envelope.step.master_incarnation, envelope.step.step));
  return builder.ToBlob();
}

absl::StatusOr<ControlMessage> DecodeControlMessage(Frames frames) {
  if (frames.empty()) return BadMessage("no frames");
  ControlMessage message;
  ASSIGN_OR_RETURN(message.envelope, DecodeEnvelope(frames[0]));
  size_t next = 1;
  if (message.envelope.method != 0) {
    if (frames.size() < 2) return BadMessage("the body is missing");
    message.body = std::move(frames[next++]);
  }
  for (const AttachmentInfo& info : message.envelope.attachments) {
    if (info.stream != 0) continue;
    if (next == frames.size()) return BadMessage("an attachment is missing");
    if (frames[next].size() != info.num_bytes) {
      return BadMessage("an attachment of another size than declared");
    }
    message.small.push_back(std::move(frames[next++]));
  }
  if (next != frames.size()) return BadMessage("more frames than declared");
  return message;
}

Blob EncodeChunkHeader(const ChunkInfo& chunk) {
  const auto header = std::make_shared<schemas::ChunkHeader>(
      chunk.stream, chunk.offset, chunk.stream_bytes);
  return Blob(header, header.get(), sizeof(schemas::ChunkHeader));
}

absl::StatusOr<Chunk> DecodeChunk(const Frames& frames) {
  if (frames.empty() || frames.size() > 2 ||
      frames[0].size() != sizeof(schemas::ChunkHeader)) {
    return BadMessage("not a chunk");
  }
  schemas::ChunkHeader header;
  std::memcpy(&header, frames[0].data(), sizeof(header));
  Chunk chunk;
  chunk.info = {header.stream(), header.offset(), header.stream_bytes()};
  chunk.alone = frames.size() == 1;
  if (chunk.info.stream == 0) {
    if (!chunk.alone) return BadMessage("a chunk of stream 0");
    return chunk;
  }
  if (chunk.info.stream_bytes == 0 ||
      chunk.info.stream_bytes >
          static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ||
      chunk.info.offset > chunk.info.stream_bytes) {
    return BadMessage("a chunk outside of its stream");
  }
  if (chunk.alone) return chunk;
  chunk.bytes = frames[1];
  if (chunk.bytes.size() == 0 ||
      chunk.bytes.size() > chunk.info.stream_bytes - chunk.info.offset) {
    return BadMessage("a chunk larger than what is left of its stream");
  }
  return chunk;
}

}  // namespace weft::bus
