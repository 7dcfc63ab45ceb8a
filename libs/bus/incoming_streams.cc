#include "libs/bus/incoming_streams.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft::bus {
namespace {

bool IsOfStep(const Envelope& envelope) {
  return envelope.kind == MessageKind::kOneWay && envelope.step != StepTag();
}

}  // namespace

// A stream that is being received: the bytes of one attachment, or of several
// attachments one after the other.
struct IncomingStreams::Stream {
  uint64_t id = 0;
  uint64_t total = 0;
  uint64_t received = 0;
  uint64_t held = 0;  // counted in held_
  bool began = false;
  bool ended = false;    // no further chunks will come
  bool claimed = false;  // a message has referred to it
  ReceiveMemory::Buffer room;
  absl::Status refused;  // why its bytes are discarded
  std::shared_ptr<Waiting> message;
  // The attachments that use the stream are those of the message's attachments
  // [first, last) that name it.
  size_t first = 0;
  size_t last = 0;
};

// A message that waits for its streams.
struct IncomingStreams::Waiting {
  Waiting() = default;
  ~Waiting() {
    if (count != nullptr) count->Add(-1);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  Incoming incoming;
  size_t num_open = 0;  // number of streams that have not ended
  uint64_t held = 0;    // counted in held_
  bool taken = false;
  OpenCount* count = nullptr;  // the counter of the step that includes it
};

IncomingStreams::IncomingStreams(ReceiveMemory& memory, uint64_t window,
                                 uint64_t quota,
                                 std::shared_ptr<OpenCount> for_steps)
    : memory_(memory),
      window_(window),
      quota_(quota),
      for_steps_(std::move(for_steps)) {}

absl::Status IncomingStreams::OverQuota(uint64_t bytes) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "No room for ", bytes, " bytes: ", held_, " of the ", quota_,
      " that one peer may make this task hold are taken. Send less at once, or "
      "raise max_held_bytes_per_peer there."));
}

bool IncomingStreams::FitsQuota(uint64_t bytes, uint64_t beyond) const {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const uint64_t limit = quota_ + std::min(beyond, kMost - quota_);
  return held_ <= limit && bytes <= limit - held_;
}

absl::Status IncomingStreams::Hold(uint64_t bytes, uint64_t beyond) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return absl::OkStatus();
  if (!FitsQuota(bytes, beyond)) return OverQuota(bytes);
  held_ += bytes;
  return absl::OkStatus();
}

void IncomingStreams::Release(uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  ReleaseHeld(&bytes);
}

absl::StatusOr<std::shared_ptr<IncomingStreams::Stream>>
IncomingStreams::FindOrAdd(uint64_t id, uint64_t bytes) {
  const auto found = streams_.find(id);
  if (found != streams_.end()) {
    if (found->second->total != bytes)
      return BadMessage("a stream of two sizes");
    return found->second;
  }
  if (streams_.size() >= kMaxOpenStreams) return BadMessage("too many streams");
  auto stream = std::make_shared<Stream>();
  stream->id = id;
  stream->total = bytes;
  streams_.emplace(id, stream);
  return stream;
}

absl::StatusOr<std::optional<Incoming>> IncomingStreams::Expect(
    ControlMessage message, bool wanted, Dropped* dropped) {
  auto waiting = std::make_shared<Waiting>();
  Incoming& incoming = waiting->incoming;
  uint64_t bytes = message.body.size();
  for (const Blob& blob : message.small) bytes += blob.size();
  incoming.message.method = message.envelope.method;
  incoming.message.body = std::move(message.body);
  incoming.message.attachments.resize(message.envelope.attachments.size());
  incoming.envelope = std::move(message.envelope);
  if (IsOfStep(incoming.envelope)) {
    waiting->count = &for_steps_;
    for_steps_.Add(1);
  }

  const auto& attachments = incoming.envelope.attachments;
  size_t next_small = 0;
  for (size_t i = 0; i < attachments.size(); ++i) {
    if (attachments[i].stream != 0) continue;
    incoming.message.attachments[i] = std::move(message.small[next_small++]);
  }

  absl::MutexLock lock(&mutex_);
  waiting->taken = !wanted || closed_;
  if (closed_) {
    Fail(waiting, absl::UnavailableError("The connection is closed"), dropped);
    return std::nullopt;
  }
  if (!wanted) {
    incoming.received =
        absl::CancelledError("Its receiver does not wait for it any more");
  } else if (!FitsQuota(bytes)) {
    incoming.received = OverQuota(bytes);
  } else {
    waiting->held = bytes;
    held_ += bytes;
  }
  for (size_t i = 0; i < attachments.size();) {
    if (attachments[i].stream == 0) {
      ++i;
    } else {
      ASSIGN_OR_RETURN(i, Claim(waiting, i, dropped));
    }
  }
  if (!incoming.received.ok()) Fail(waiting, incoming.received, dropped);
  return TakeIfComplete(waiting);
}

absl::StatusOr<size_t> IncomingStreams::Claim(
    const std::shared_ptr<Waiting>& waiting, size_t first, Dropped* dropped) {
  const auto& attachments = waiting->incoming.envelope.attachments;
  const uint64_t id = attachments[first].stream;
  uint64_t bytes = 0;  // the decoder has added up all of them
  size_t last = first;
  for (; last < attachments.size(); ++last) {
    if (attachments[last].stream == 0) continue;
    if (attachments[last].stream != id) break;
    bytes += attachments[last].num_bytes;
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Stream> stream, FindOrAdd(id, bytes));
  if (stream->claimed) return BadMessage("a stream that is named twice");
  stream->claimed = true;
  stream->message = waiting;
  stream->first = first;
  stream->last = last;
  ++waiting->num_open;
  if (!stream->refused.ok() && waiting->incoming.received.ok()) {
    waiting->incoming.received = stream->refused;
    waiting->incoming.refused = first;
  }
  if (!waiting->incoming.received.ok()) {
    Discard(stream.get(), waiting->incoming.received, dropped);
  }
  if (stream->ended) Settle(stream);
  return last;
}

void IncomingStreams::Settle(const std::shared_ptr<Stream>& stream) {
  const std::shared_ptr<Waiting> waiting = std::move(stream->message);
  stream->message = nullptr;
  streams_.erase(stream->id);
  if (waiting == nullptr) return;
  --waiting->num_open;
  waiting->held += std::exchange(stream->held, 0);
  if (!stream->refused.ok()) return;
  const auto& infos = waiting->incoming.envelope.attachments;
  const Blob all(std::move(stream->room.owner), stream->room.data,
                 stream->total);
  uint64_t begin = 0;
  for (size_t i = stream->first; i < stream->last; ++i) {
    if (infos[i].stream != stream->id) continue;
    waiting->incoming.message.attachments[i] =
        all.Part(begin, infos[i].num_bytes);
    begin += infos[i].num_bytes;
  }
}

void IncomingStreams::ReleaseHeld(uint64_t* held) {
  if (!closed_) held_ -= *held;
  *held = 0;
}

void IncomingStreams::Discard(Stream* stream, const absl::Status& why,
                              Dropped* dropped) {
  if (stream->refused.ok()) stream->refused = why;
  dropped->push_back(Blob(std::move(stream->room.owner), nullptr, 0));
  stream->room = {};
  ReleaseHeld(&stream->held);
}

void IncomingStreams::Fail(const std::shared_ptr<Waiting>& waiting,
                           const absl::Status& why, Dropped* dropped) {
  Incoming& incoming = waiting->incoming;
  if (incoming.received.ok()) incoming.received = why;
  for (const AttachmentInfo& info : incoming.envelope.attachments) {
    auto it = streams_.find(info.stream);
    if (it == streams_.end() || it->second->message != waiting) continue;
    Discard(it->second.get(), why, dropped);
    it->second->message = nullptr;
  }
  for (Blob& blob : incoming.message.attachments) {
    dropped->push_back(std::move(blob));
  }
  incoming.message.attachments.clear();
  // The message will not be delivered, so its body is dropped.
  if (waiting->taken) {
    dropped->push_back(std::exchange(incoming.message.body, Blob()));
  }
  waiting->num_open = 0;
}

std::optional<Incoming> IncomingStreams::TakeIfComplete(
    const std::shared_ptr<Waiting>& waiting) {
  if (waiting->num_open > 0) return std::nullopt;
  const bool wanted = !std::exchange(waiting->taken, true);
  const bool is_request =
      waiting->incoming.envelope.kind == MessageKind::kRequest;
  if (wanted && is_request && waiting->incoming.received.ok()) {
    waiting->incoming.held = std::exchange(waiting->held, 0);
  }
  ReleaseHeld(&waiting->held);
  if (!wanted) return std::nullopt;
  return std::move(waiting->incoming);
}

absl::Status IncomingStreams::Check(const Chunk& chunk,
                                    const Stream& stream) const {
  if (stream.ended) return BadMessage("a chunk after the end of its stream");
  if (chunk.info.offset != stream.received)
    return BadMessage("a chunk out of turn");
  if (chunk.bytes.size() > window_ - owed_credit_) {
    return BadMessage("a chunk for which there was no credit");
  }
  return absl::OkStatus();
}

absl::StatusOr<IncomingStreams::Received> IncomingStreams::Receive(
    const Chunk& chunk) {
  const uint64_t size = chunk.bytes.size();
  std::shared_ptr<Stream> stream;
  bool first = false;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return Received{};
    ASSIGN_OR_RETURN(stream,
                     FindOrAdd(chunk.info.stream, chunk.info.stream_bytes));
    RETURN_IF_ERROR(Check(chunk, *stream));
    first = !std::exchange(stream->began, true) && stream->refused.ok();
  }
  Dropped dropped;
  if (first && !chunk.alone) Reserve(stream, &dropped);
  // The copy keeps the memory alive if the stream is abandoned meanwhile.
  ReceiveMemory::Buffer room;
  {
    absl::MutexLock lock(&mutex_);
    room = stream->room;
  }
  if (room.data != nullptr && size > 0) {
    std::memcpy(room.data + chunk.info.offset, chunk.bytes.data(), size);
  }
  return Finish(stream, size, chunk.alone, std::move(dropped));
}

void IncomingStreams::Reserve(const std::shared_ptr<Stream>& stream,
                              Dropped* dropped) {
  bool fits = false;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || !stream->refused.ok()) return;
    fits = FitsQuota(stream->total);
    if (fits) {
      stream->held = stream->total;
      held_ += stream->total;
    } else {
      stream->refused = OverQuota(stream->total);
    }
  }
  if (!fits) return;
  auto room = memory_.Reserve(stream->total);
  absl::MutexLock lock(&mutex_);
  if (!room.ok()) {
    Discard(stream.get(), room.status(), dropped);
  } else if (closed_ || !stream->refused.ok()) {
    dropped->push_back(Blob(std::move(room->owner), nullptr, 0));
    ReleaseHeld(&stream->held);
  } else {
    stream->room = *std::move(room);
  }
}

IncomingStreams::Received IncomingStreams::Finish(
    const std::shared_ptr<Stream>& stream, uint64_t bytes, bool given_up,
    Dropped dropped) {
  Received received;
  absl::MutexLock lock(&mutex_);
  if (closed_) {
    received.dropped = std::move(dropped);
    return received;
  }
  stream->received += bytes;
  // Marks the end of the stream only when its bytes are in place, because a
  // message that names the stream may arrive on the other channel at any time.
  stream->ended = given_up || stream->received == stream->total;
  owed_credit_ += bytes;
  if (owed_credit_ >= (window_ + 3) / 4) {
    received.credit = std::exchange(owed_credit_, 0);
  }
  if (stream->ended && stream->received < stream->total) {
    // The error is marked as derived, because the sender reports the reason for
    // the failure.
    Discard(stream.get(),
            MarkDerived(absl::CancelledError("Its sender gave it up")),
            &dropped);
  }
  const std::shared_ptr<Waiting> waiting = stream->message;
  if (waiting != nullptr && !stream->refused.ok()) {
    if (waiting->incoming.received.ok())
      waiting->incoming.refused = stream->first;
    Fail(waiting, stream->refused, &dropped);
  }
  if (stream->ended && stream->claimed) Settle(stream);
  if (waiting != nullptr) received.complete = TakeIfComplete(waiting);
  received.dropped = std::move(dropped);
  return received;
}

IncomingStreams::Dropped IncomingStreams::Abandon(uint64_t call_id) {
  return AbandonIf([&](const Envelope& it) { return it.call_id == call_id; });
}

IncomingStreams::Dropped IncomingStreams::AbandonStep(const StepTag& step) {
  return AbandonIf([&](const Envelope& it) {
    return it.kind == MessageKind::kOneWay && it.step == step;
  });
}

IncomingStreams::Dropped IncomingStreams::AbandonIf(
    absl::FunctionRef<bool(const Envelope&)> is_meant) {
  const absl::Status why =
      absl::CancelledError("Its receiver does not wait for it any more");
  Dropped dropped;
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Waiting>> found;
  for (const auto& [id, stream] : streams_) {
    const auto& message = stream->message;
    if (message == nullptr) continue;
    if (!message->taken && is_meant(message->incoming.envelope)) {
      message->taken = true;
      found.push_back(message);
    }
  }
  for (const auto& waiting : found) {
    Fail(waiting, why, &dropped);
    TakeIfComplete(waiting);
  }
  return dropped;
}

IncomingStreams::Dropped IncomingStreams::AbandonAll() {
  Dropped dropped;
  StreamMap streams;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  held_ = 0;
  streams.swap(streams_);
  for (const auto& [id, stream] : streams) {
    dropped.push_back(Blob(std::move(stream->room.owner), nullptr, 0));
    stream->room = {};  // a chunk may be about to be written to the room
    if (stream->message == nullptr) continue;
    for (Blob& blob : stream->message->incoming.message.attachments) {
      dropped.push_back(std::exchange(blob, Blob()));
    }
    dropped.push_back(
        std::exchange(stream->message->incoming.message.body, Blob()));
  }
  return dropped;
}

uint64_t IncomingStreams::held_bytes() const {
  absl::MutexLock lock(&mutex_);
  return held_;
}

}  // namespace weft::bus
