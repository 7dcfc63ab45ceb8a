// Targets for the fuzzer and the replay of its corpus: decoders of everything
// that a peer may send. They must return for any bytes.
//
// A case is a list of frames: each is one byte with its length, or, if that is
// 255, all remaining bytes.
#ifndef WEFT_LIBS_BUS_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_BUS_TESTING_FUZZ_TARGETS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/bus/envelope.h"
#include "libs/bus/handshake.h"
#include "libs/bus/incoming_streams.h"
#include "libs/bus/message.h"

namespace weft::bus {

inline Frames FramesOf(absl::string_view bytes) {
  Frames frames;
  while (!bytes.empty()) {
    const size_t length = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    const size_t size =
        length == 255 ? bytes.size() : std::min(length, bytes.size());
    frames.push_back(Blob::FromString(std::string(bytes.substr(0, size))));
    bytes.remove_prefix(size);
  }
  return frames;
}

inline void FuzzControlMessage(absl::string_view bytes) {
  const auto message = DecodeControlMessage(FramesOf(bytes));
  if (!message.ok()) return;
  // A decoded message is encoded again and must decode to the same.
  Frames again = {EncodeEnvelope(message->envelope)};
  if (message->envelope.method != 0) again.push_back(message->body);
  for (const Blob& blob : message->small) again.push_back(blob);
  const auto second = DecodeControlMessage(std::move(again));
  RequireForFuzz(second.ok());
  RequireForFuzz(second->envelope.call_id == message->envelope.call_id);
  RequireForFuzz(second->envelope.error == message->envelope.error);
  RequireForFuzz(second->small.size() == message->small.size());
}

// Limited memory, so that refusals are covered as well.
class FuzzMemory : public ReceiveMemory {
 public:
  absl::StatusOr<Buffer> Reserve(uint64_t bytes) override {
    if (bytes > 4096) return absl::ResourceExhaustedError("full");
    std::shared_ptr<char> memory(new char[bytes],
                                 std::default_delete<char[]>());
    char* data = memory.get();
    return Buffer{std::move(memory), data};
  }
};

// Frames come in pairs: a header with its bytes, or, if the first frame is not
// a header, a message that names streams.
inline void FuzzChunks(absl::string_view bytes) {
  const Frames frames = FramesOf(bytes);
  FuzzMemory memory;
  IncomingStreams streams(memory, 1000, 6000);
  IncomingStreams::Dropped dropped;
  for (size_t i = 0; i + 1 < frames.size(); i += 2) {
    if (const auto chunk = DecodeChunk({frames[i], frames[i + 1]});
        chunk.ok() && chunk->info.stream != 0) {
      if (!streams.Receive(*chunk).ok()) break;
    } else if (const auto alone = DecodeChunk({frames[i]});
               alone.ok() && alone->info.stream != 0) {
      if (!streams.Receive(*alone).ok()) break;
    } else if (auto message = DecodeControlMessage({frames[i], frames[i + 1]});
               message.ok()) {
      const uint64_t call = message->envelope.call_id;
      if (call % 4 == 3) streams.Abandon(call - 1);
      if (!streams.Expect(*std::move(message), call % 4 != 2, &dropped).ok()) {
        break;
      }
    }
    RequireForFuzz(streams.held_bytes() <= 6000);
  }
  streams.AbandonAll();
}

inline void FuzzHandshake(absl::string_view bytes) {
  const Blob body = Blob::FromString(std::string(bytes));
  if (const auto hello = DecodeHello(body); hello.ok()) {
    (void)CheckHello({"uuid", "/job:ps/task:0", 1, 1}, *hello);
    const auto again = DecodeHello(EncodeHello(*hello));
    RequireForFuzz(again.ok() && again->destination == hello->destination);
  }
  if (const auto reply = DecodeHelloReply(body); reply.ok()) {
    (void)CheckHelloReply({"uuid", "/job:ps/task:0", 1, 1}, "x", *reply);
  }
  (void)DecodeCredit(body);
  if (const auto life = DecodeHeartbeat(body); life.ok()) {
    const auto again = DecodeHeartbeat(EncodeHeartbeat(*life));
    RequireForFuzz(again.ok() && again->answers == life->answers);
  }
  absl::Status why;
  if (DecodeGoodbye(body, &why).ok()) RequireForFuzz(!why.ok());
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_FUZZ_TARGETS_H_
