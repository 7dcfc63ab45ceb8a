#include "libs/bus/connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/bus/handshake.h"

namespace weft::bus {
namespace {

// The maximum number of attachments that are frames of their message, and of
// streams of their own: beyond it, several attachments share a stream.
constexpr size_t kMaxInlineFrames = 1024;
constexpr size_t kMaxOwnStreams = 256;
constexpr uint64_t kSharedBytes = 1 << 20;

absl::Status TooLarge(uint64_t size, uint64_t limit) {
  return absl::InvalidArgumentError(absl::StrCat(
      "A message of ", size, " bytes is larger than the ", limit,
      " that the other end accepts; send large data as attachments"));
}

// OnItsWay owns an inline attachment, and counts it until it is sent.
struct OnItsWay {
  OnItsWay(std::shared_ptr<const void> attachment, uint64_t size,
           std::shared_ptr<std::atomic<uint64_t>> sum)
      : owner(std::move(attachment)), bytes(size), total(std::move(sum)) {}
  ~OnItsWay() { total->fetch_sub(bytes, std::memory_order_relaxed); }
  OnItsWay(const OnItsWay&) = delete;
  OnItsWay& operator=(const OnItsWay&) = delete;

  const std::shared_ptr<const void> owner;
  const uint64_t bytes;
  const std::shared_ptr<std::atomic<uint64_t>> total;
};

}  // namespace

Connection::Connection(ConnectionOptions options)
    : options_(std::move(options)),
      outgoing_(options_.chunk_bytes, options_.credit_bytes,
                options_.max_unsent_bytes),
      incoming_(*options_.memory, options_.credit_bytes,
                options_.max_held_bytes, options_.incoming_for_steps) {
  if (options_.traffic) options_.traffic->connections_opened.Add();
}

Connection::~Connection() {
  if (options_.traffic) options_.traffic->connections_closed.Add();
}

absl::Status Connection::SendFrames(ConnectionId connection, Frames frames,
                                    uint64_t size) {
  RETURN_IF_ERROR(options_.wire->Send(connection, std::move(frames)));
  if (options_.traffic) options_.traffic->sent.Add(size);
  return absl::OkStatus();
}

void Connection::CountReceived(uint64_t size) const {
  if (options_.traffic) options_.traffic->received.Add(size);
}

bool Connection::IsSentWithMessage(Blob& attachment) {
  const uint64_t size = attachment.size();
  // An attachment without an owner would be copied, and the count would end at
  // once.
  if (size > options_.medium_bytes || attachment.owner() == nullptr) {
    return false;
  }
  const uint64_t before = medium_->fetch_add(size, std::memory_order_relaxed);
  auto keep = std::make_shared<OnItsWay>(attachment.owner(), size, medium_);
  if (before + size > options_.medium_window) return false;
  attachment = Blob(std::move(keep), attachment.data(), size);
  return true;
}

Envelope Connection::Address(Outgoing& outgoing) {
  Envelope envelope;
  envelope.kind = outgoing.kind;
  envelope.method = outgoing.message.method;
  envelope.call_id = outgoing.call_id;
  envelope.time_remaining_us = outgoing.time_remaining_us;
  envelope.error = outgoing.error;
  if (outgoing.kind == MessageKind::kOneWay) {
    envelope.step = outgoing.message.step;
  }
  // Many small attachments together are large as well, so their total within
  // the message is limited, too.
  uint64_t room = options_.max_sent_bytes / 2;
  size_t num_frames = 0, num_own = 0;
  // The number of the stream that several attachments share, and its size.
  uint64_t shared = 0, shared_bytes = 0;
  for (Blob& attachment : outgoing.message.attachments) {
    const uint64_t size = attachment.size();
    const bool small = size < options_.inline_bytes;
    const bool fits = size <= room && num_frames < kMaxInlineFrames;
    AttachmentInfo info = {size, 0};
    if (size == 0 || (fits && (small || IsSentWithMessage(attachment)))) {
      room -= size;
      ++num_frames;
    } else if (!small && num_own < kMaxOwnStreams) {
      info.stream = NextStream();
      ++num_own;
      shared = 0;
    } else {
      if (shared == 0 || size > kSharedBytes - shared_bytes) {
        shared = NextStream();
        shared_bytes = 0;
      }
      info.stream = shared;
      shared_bytes = std::min(kSharedBytes, shared_bytes + size);
    }
    envelope.attachments.push_back(info);
  }
  return envelope;
}

void Connection::AddStreams(const Envelope& envelope, Message& message,
                            bool counts) {
  const auto& attachments = envelope.attachments;
  uint64_t stream = 0;
  OutgoingStreams::Parts parts;
  for (size_t i = 0; i <= attachments.size(); ++i) {
    const uint64_t next = i < attachments.size() ? attachments[i].stream : 0;
    if (i < attachments.size() && next == 0) continue;
    if (next != stream && stream != 0) {
      outgoing_.Add(stream, {envelope.call_id, envelope.step},
                    std::exchange(parts, {}), counts);
    }
    stream = next;
    if (next != 0) parts.push_back(std::move(message.attachments[i]));
  }
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
  size_t num_streams = 0;
  uint64_t last_stream = 0;
  for (size_t i = 0; i < envelope.attachments.size(); ++i) {
    const AttachmentInfo& info = envelope.attachments[i];
    if (info.stream == 0) {
      frames.push_back(std::move(message.attachments[i]));
    } else {
      streamed += info.num_bytes;
      num_streams += info.stream != last_stream;
      last_stream = info.stream;
    }
  }
  const uint64_t size = SizeOf(frames);
  if (size > options_.max_sent_bytes) {
    return TooLarge(size, options_.max_sent_bytes);
  }
  // A request does not count, because its caller keeps the data anyway until
  // the request is answered.
  const bool counts = outgoing.kind != MessageKind::kRequest;
  const uint64_t reserved = counts ? streamed : 0;
  if (streamed > 0) RETURN_IF_ERROR(outgoing_.Reserve(reserved, num_streams));
  absl::Status sent = SendFrames(options_.control, std::move(frames), size);
  if (!sent.ok() && streamed > 0) outgoing_.GiveUp(reserved, num_streams);
  if (!sent.ok() || streamed == 0) return sent;
  AddStreams(envelope, message, counts);
  if (closed_.load(std::memory_order_acquire)) Reclaim(outgoing_.AbandonAll());
  Pump();
  return absl::OkStatus();
}

absl::Status Connection::Receive(Frames frames, IsWanted is_wanted,
                                 Deliver deliver) {
  const uint64_t size = SizeOf(frames);
  if (size > options_.max_received_bytes) {
    return absl::InvalidArgumentError("Bad message: it is too large");
  }
  CountReceived(size);
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
  IncomingStreams::Dropped dropped;
  absl::StatusOr<std::optional<Incoming>> complete =
      incoming_.Expect(std::move(message), wanted, &dropped);
  Reclaim(std::move(dropped));
  RETURN_IF_ERROR(complete.status());
  options_.need_bulk();
  if (complete->has_value()) return deliver(**std::move(complete));
  return absl::OkStatus();
}

absl::Status Connection::ReceiveCredit(const Blob& body) {
  ASSIGN_OR_RETURN(const uint64_t bytes, DecodeCredit(body));
  RETURN_IF_ERROR(outgoing_.AddCredit(bytes));
  Pump();
  return absl::OkStatus();
}

absl::Status Connection::ReceiveBulk(const Frames& frames, Deliver deliver) {
  CountReceived(SizeOf(frames));
  ASSIGN_OR_RETURN(const Chunk chunk, DecodeChunk(frames));
  if (chunk.info.stream == 0) {
    return absl::InvalidArgumentError("Bad message: a second bulk token");
  }
  ASSIGN_OR_RETURN(IncomingStreams::Received received,
                   incoming_.Receive(chunk));
  Reclaim(std::move(received.dropped));
  if (received.credit > 0) {
    Envelope envelope;
    envelope.method = kCreditMethod;
    Frames credit = {EncodeEnvelope(envelope), EncodeCredit(received.credit)};
    const uint64_t size = SizeOf(credit);
    // If this fails, the connection is closing anyway.
    (void)SendFrames(options_.control, std::move(credit), size);
  }
  if (!received.complete.has_value()) return absl::OkStatus();
  return deliver(*std::move(received.complete));
}

void Connection::AttachBulk(ConnectionId bulk) {
  {
    absl::MutexLock lock(&mutex_);
    bulk_ = bulk;
  }
  Pump();
}

void Connection::Abandon(uint64_t call_id) {
  Reclaim(outgoing_.Abandon(call_id));
  Reclaim(incoming_.Abandon(call_id));
  Pump();
}

void Connection::AbandonStep(const StepTag& step) {
  if (step == StepTag()) return;  // a message without a step
  if (!incoming_.HasSteps() && !outgoing_.HasSteps()) return;
  if (options_.traffic) options_.traffic->connections_searched.Add();
  Reclaim(outgoing_.AbandonStep(step));
  Reclaim(incoming_.AbandonStep(step));
  // Sends the headers that cancel the streams at the other end.
  Pump();
}

void Connection::Close() {
  closed_.store(true, std::memory_order_release);
  Reclaim(outgoing_.AbandonAll());
  Reclaim(incoming_.AbandonAll());
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
    while (outgoing_.Next(&chunk)) {
      const uint64_t size = SizeOf(chunk);
      if (!SendFrames(bulk, std::move(chunk), size).ok()) break;
    }
    mutex_.Lock();
  }
  pumping_ = false;
}

}  // namespace weft::bus
