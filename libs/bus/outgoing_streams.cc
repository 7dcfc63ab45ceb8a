#include "libs/bus/outgoing_streams.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/bus/envelope.h"

namespace weft::bus {

// A chunk has at most half of the credit, so that one chunk can be in flight
// while the credit of another one returns.
OutgoingStreams::OutgoingStreams(size_t chunk_bytes, uint64_t credit_bytes,
                                 uint64_t max_unsent_bytes)
    : chunk_bytes_(std::max<uint64_t>(
          1, std::min<uint64_t>(chunk_bytes, credit_bytes / 2))),
      credit_(credit_bytes),
      credit_bytes_(credit_bytes),
      max_unsent_bytes_(max_unsent_bytes) {}

absl::Status OutgoingStreams::Reserve(uint64_t bytes, size_t num_streams) {
  absl::MutexLock lock(&mutex_);
  if (num_streams > kMaxUnsentStreams - num_streams_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "No room to send ", num_streams, " large values: ", num_streams_,
        " wait for the other end to read them, and ", kMaxUnsentStreams,
        " may. Send or ask for less at once."));
  }
  if (bytes > max_unsent_bytes_ - unsent_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "No room to send ", bytes, " bytes: ", unsent_, " of the ",
        max_unsent_bytes_,
        " that may wait for one peer to read them are taken. Ask for less at "
        "once, or raise max_unsent_bytes_per_peer here."));
  }
  unsent_ += bytes;
  num_streams_ += num_streams;
  return absl::OkStatus();
}

void OutgoingStreams::GiveUp(uint64_t bytes, size_t num_streams) {
  absl::MutexLock lock(&mutex_);
  unsent_ -= bytes;
  num_streams_ -= num_streams;
}

void OutgoingStreams::Add(uint64_t stream, const Source& source, Parts parts,
                          bool counts) {
  Stream added;
  added.id = stream;
  added.source = source;
  for (const Blob& part : parts) added.total += part.size();
  added.unsent = counts ? added.total : 0;
  added.parts = std::move(parts);
  if (source.step != StepTag()) for_steps_.Add(1);
  absl::MutexLock lock(&mutex_);
  streams_.push_back(std::move(added));
}

// Returns a view if one part contains all of the bytes, otherwise a copy.
Blob OutgoingStreams::TakeBytes(Stream& stream, uint64_t size) {
  stream.sent += size;
  std::string joined;
  while (true) {
    const Blob& part = stream.parts[stream.part];
    const uint64_t left = part.size() - stream.sent_of_part;
    const uint64_t taken = std::min(size, left);
    const Blob bytes = part.Part(stream.sent_of_part, taken);
    stream.sent_of_part += taken;
    if (taken == left) {
      // The part is sent, so it need not be kept until the others are sent.
      stream.parts[stream.part++] = Blob();
      stream.sent_of_part = 0;
    }
    if (taken == size && joined.empty()) return bytes;
    joined.append(bytes.data(), bytes.size());
    size -= taken;
    if (size == 0) return Blob::FromString(std::move(joined));
  }
}

bool OutgoingStreams::Next(Frames* chunk) {
  absl::MutexLock lock(&mutex_);
  if (streams_.empty()) return false;
  Stream& next = streams_.front();
  const ChunkInfo info = {next.id, next.sent, next.total};
  if (next.abandoned) {
    *chunk = {EncodeChunkHeader(info)};
    streams_.pop_front();
    --num_streams_;
    return true;
  }
  const uint64_t size =
      std::min<uint64_t>(chunk_bytes_, next.total - next.sent);
  if (size > credit_) return false;
  credit_ -= size;
  *chunk = {EncodeChunkHeader(info), TakeBytes(next, size)};
  Stream taken = std::move(next);
  streams_.pop_front();
  if (taken.sent < taken.total) {
    streams_.push_back(std::move(taken));
  } else {
    unsent_ -= taken.unsent;
    --num_streams_;
    CountEnd(taken);
  }
  return true;
}

absl::Status OutgoingStreams::AddCredit(uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (bytes > credit_bytes_ - credit_) {
    return absl::InvalidArgumentError(
        "Bad message: credit for more bytes than were sent");
  }
  credit_ += bytes;
  return absl::OkStatus();
}

OutgoingStreams::Dropped OutgoingStreams::Abandon(uint64_t call_id) {
  return AbandonIf(
      [&](const Source& source) { return source.call_id == call_id; });
}

OutgoingStreams::Dropped OutgoingStreams::AbandonStep(const StepTag& step) {
  return AbandonIf([&](const Source& source) { return source.step == step; });
}

OutgoingStreams::Dropped OutgoingStreams::AbandonIf(
    absl::FunctionRef<bool(const Source&)> is_meant) {
  Dropped dropped;
  absl::MutexLock lock(&mutex_);
  for (Stream& stream : streams_) {
    if (stream.abandoned || !is_meant(stream.source)) continue;
    stream.abandoned = true;
    CountEnd(stream);
    unsent_ -= std::exchange(stream.unsent, 0);
    dropped.push_back(std::exchange(stream.parts, Parts()));
  }
  return dropped;
}

OutgoingStreams::Dropped OutgoingStreams::AbandonAll() {
  Dropped dropped;
  absl::MutexLock lock(&mutex_);
  for (Stream& stream : streams_) {
    unsent_ -= stream.unsent;
    if (!stream.abandoned) CountEnd(stream);
    dropped.push_back(std::move(stream.parts));
  }
  num_streams_ -= streams_.size();
  streams_.clear();
  return dropped;
}

uint64_t OutgoingStreams::unsent_bytes() const {
  absl::MutexLock lock(&mutex_);
  return unsent_;
}

bool OutgoingStreams::IsEmpty() const {
  absl::MutexLock lock(&mutex_);
  return streams_.empty();
}

}  // namespace weft::bus
