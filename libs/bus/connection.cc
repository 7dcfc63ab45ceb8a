#include "libs/bus/connection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/bus/greeting.h"

namespace weft::bus {
namespace {

absl::Status TooLarge(uint64_t size, uint64_t limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("A message of ", size, " bytes is larger than the ", limit,
                   " that the other end takes; large data belongs into "
                   "attachments"));
}

}  // namespace

Connection::Connection(ConnectionOptions options)
    : options_(std::move(options)),
      outgoing_(options_.chunk_bytes, options_.credit_bytes,
                options_.max_unsent_bytes),
      incoming_(*options_.memory, options_.credit_bytes,
                options_.max_held_bytes) {}

Envelope Connection::Address(const Outgoing& outgoing) {
  Envelope envelope;
  envelope.kind = outgoing.kind;
  envelope.method = outgoing.message.method;
  envelope.call_id = outgoing.call_id;
  envelope.time_remaining_us = outgoing.time_remaining_us;
  envelope.error = outgoing.error;
  // Many small ones together are large as well.
  uint64_t room = options_.max_sent_bytes / 2;
  for (const Blob& attachment : outgoing.message.attachments) {
    AttachmentInfo info = {attachment.size(), 0};
    const bool small =
        attachment.size() < options_.inline_bytes && attachment.size() <= room;
    if (small || attachment.size() == 0) {
      room -= attachment.size();
    } else {
      info.stream = next_stream_.fetch_add(1, std::memory_order_relaxed);
    }
    envelope.attachments.push_back(info);
  }
  return envelope;
}

absl::Status Connection::Send(Outgoing outgoing) {
  if (closed_.load(std::memory_order_acquire)) {
    return absl::UnavailableError("The connection is closed");
  }
  Message& message = outgoing.message;
  if (message.method == 0 && outgoing.error.ok() &&
      outgoing.kind != MessageKind::kCancel) {
    return absl::InvalidArgumentError("A message needs a method");
  }
  if (message.attachments.size() > kMaxAttachments) {
    return absl::InvalidArgumentError(
        absl::StrCat("A message has at most ", kMaxAttachments,
                     " attachments, not ", message.attachments.size()));
  }
  const Envelope envelope = Address(outgoing);
  Frames frames = {EncodeEnvelope(envelope)};
  if (envelope.method != 0) frames.push_back(std::move(message.body));
  uint64_t streamed = 0;
  for (size_t i = 0; i < envelope.attachments.size(); ++i) {
    if (envelope.attachments[i].stream == 0) {
      frames.push_back(std::move(message.attachments[i]));
    } else {
      streamed += envelope.attachments[i].num_bytes;
    }
  }
  const uint64_t size = SizeOf(frames);
  if (size > options_.max_sent_bytes) {
    return TooLarge(size, options_.max_sent_bytes);
  }
  // Whoever asks holds what it sends anyway, until it has its answer.
  const bool counts = streamed > 0 && outgoing.kind != MessageKind::kRequest;
  if (counts) RETURN_IF_ERROR(outgoing_.Reserve(streamed));
  absl::Status sent = options_.wire->Send(options_.control, std::move(frames));
  if (!sent.ok() && counts) outgoing_.GiveUp(streamed);
  if (!sent.ok() || streamed == 0) return sent;
  for (size_t i = 0; i < envelope.attachments.size(); ++i) {
    const uint64_t stream = envelope.attachments[i].stream;
    if (stream == 0) continue;
    outgoing_.Add(stream, outgoing.call_id, std::move(message.attachments[i]),
                  counts);
  }
  if (closed_.load(std::memory_order_acquire)) outgoing_.AbandonAll();
  Pump();
  return absl::OkStatus();
}

absl::Status Connection::Receive(Frames frames, IsWanted is_wanted,
                                 Deliver deliver) {
  if (SizeOf(frames) > options_.max_received_bytes) {
    return absl::InvalidArgumentError("Bad message: it is too large");
  }
  ASSIGN_OR_RETURN(ControlMessage message,
                   DecodeControlMessage(std::move(frames)));
  const Envelope& envelope = message.envelope;
  if (envelope.kind == MessageKind::kOneWay &&
      envelope.method == kCreditMethod) {
    return ReceiveCredit(message.body);
  }
  if (message.small.size() == envelope.attachments.size()) {
    Incoming incoming;
    incoming.message.method = envelope.method;
    incoming.message.body = std::move(message.body);
    incoming.message.attachments.assign(
        std::make_move_iterator(message.small.begin()),
        std::make_move_iterator(message.small.end()));
    incoming.envelope = std::move(message.envelope);
    return deliver(std::move(incoming));
  }
  const bool wanted = envelope.kind != MessageKind::kCancel &&
                      envelope.kind != MessageKind::kUnknown &&
                      is_wanted(envelope);
  ASSIGN_OR_RETURN(std::optional<Incoming> complete,
                   incoming_.Expect(std::move(message), wanted));
  options_.need_bulk();
  if (complete.has_value()) return deliver(*std::move(complete));
  return absl::OkStatus();
}

absl::Status Connection::ReceiveCredit(const Blob& body) {
  ASSIGN_OR_RETURN(const uint64_t bytes, DecodeCredit(body));
  RETURN_IF_ERROR(outgoing_.AddCredit(bytes));
  Pump();
  return absl::OkStatus();
}

absl::Status Connection::ReceiveBulk(const Frames& frames, Deliver deliver) {
  ASSIGN_OR_RETURN(const Chunk chunk, DecodeChunk(frames));
  if (chunk.info.stream == 0) {
    return absl::InvalidArgumentError("Bad message: a second bulk token");
  }
  ASSIGN_OR_RETURN(IncomingStreams::Landed landed, incoming_.Land(chunk));
  if (landed.credit > 0) {
    Envelope envelope;
    envelope.method = kCreditMethod;
    // When it fails the connection is closing anyway.
    (void)options_.wire->Send(options_.control, {EncodeEnvelope(envelope),
                                                 EncodeCredit(landed.credit)});
  }
  if (!landed.complete.has_value()) return absl::OkStatus();
  return deliver(*std::move(landed.complete));
}

void Connection::AttachBulk(ConnectionId bulk) {
  {
    absl::MutexLock lock(&mutex_);
    bulk_ = bulk;
  }
  Pump();
}

void Connection::Abandon(uint64_t call_id) {
  outgoing_.Abandon(call_id);
  incoming_.Abandon(call_id);
  Pump();
}

void Connection::Close() {
  closed_.store(true, std::memory_order_release);
  outgoing_.AbandonAll();
  incoming_.AbandonAll();
}

void Connection::Pump() {
  if (outgoing_.IsEmpty()) return;
  absl::MutexLock lock(&mutex_);
  if (bulk_ == 0) {
    mutex_.Unlock();
    options_.need_bulk();
    mutex_.Lock();
    return;
  }
  pump_again_ = true;
  if (pumping_) return;
  pumping_ = true;
  const ConnectionId bulk = bulk_;
  while (std::exchange(pump_again_, false)) {
    mutex_.Unlock();
    Frames chunk;
    while (outgoing_.Next(&chunk) &&
           options_.wire->Send(bulk, std::move(chunk)).ok()) {
    }
    mutex_.Lock();
  }
  pumping_ = false;
}

}  // namespace weft::bus
