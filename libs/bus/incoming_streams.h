// IncomingStreams receives the large attachments of one connection. Chunks
// arrive on the bulk channel, the messages that name their streams on the
// control channel, in either order; a message is complete when all its streams
// are.
//
// Memory for a stream is reserved when its first chunk arrives. If there is no
// memory, the stream's chunks are dropped one by one, and its message gets an
// error; the credit is returned nevertheless, so that other streams continue.
//
// The quota covers everything that this process holds for one peer: the streams
// here, and the requests that wait for an answer (Hold, Release).
//
// Threads: Receive is called by one thread at a time, all other methods from
// any thread. ReceiveMemory is called without a lock held.
//
// Errors: INVALID_ARGUMENT if the other end violated the protocol and should be
// disconnected.
#ifndef WEFT_LIBS_BUS_INCOMING_STREAMS_H_
#define WEFT_LIBS_BUS_INCOMING_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/bus/envelope.h"
#include "libs/bus/message.h"
#include "libs/bus/open_count.h"

namespace weft::bus {

// A message that has arrived completely.
struct Incoming {
  Envelope envelope;
  Message message;
  // OK, or the reason why the attachments were dropped.
  absl::Status received;
  // The index of the first attachment that exceeded the limits.
  size_t refused = 0;
  // The number of bytes of the quota that a request takes until it is answered.
  uint64_t held = 0;
};

class IncomingStreams {
 public:
  // At most `window` bytes may be in flight: credit is returned as bytes
  // arrive. At most `quota` bytes are held. `memory` must outlive this object.
  // `for_steps` counts one-way messages of steps that wait for their streams.
  IncomingStreams(ReceiveMemory& memory, uint64_t window, uint64_t quota,
                  std::shared_ptr<OpenCount> for_steps = nullptr);

  // Memory that a method has dropped. It may be large, so the caller must free
  // it on a thread other than a reading thread.
  using Dropped = std::vector<Blob>;

  // Handles a message that names streams. A message that is not `wanted` never
  // completes, and its streams are dropped. May add memory to `dropped` even if
  // it returns an error.
  absl::StatusOr<std::optional<Incoming>> Expect(ControlMessage message,
                                                 bool wanted, Dropped* dropped);

  struct Received {
    std::optional<Incoming> complete;
    uint64_t credit = 0;  // to be returned to the sender now
    Dropped dropped;
  };
  absl::StatusOr<Received> Receive(const Chunk& chunk);

  // Reserves `bytes` of the quota, which the total may exceed by `beyond`.
  // Returns RESOURCE_EXHAUSTED if too little is left.
  absl::Status Hold(uint64_t bytes, uint64_t beyond = 0);
  // Returns bytes to the quota that Hold or an Incoming took from it.
  void Release(uint64_t bytes);

  // Drops the message of this call, for which no caller waits any more.
  Dropped Abandon(uint64_t call_id);
  // Drops one-way messages of this step. They are never delivered.
  Dropped AbandonStep(const StepTag& step);
  // Releases all memory. No message completes any more.
  Dropped AbandonAll();

  // Returns false if AbandonStep has no effect for any step.
  bool HasSteps() const { return !for_steps_.IsZero(); }
  // The currently used part of the quota.
  uint64_t held_bytes() const;

 private:
  struct Stream;
  struct Waiting;  // a message
  using StreamMap = absl::flat_hash_map<uint64_t, std::shared_ptr<Stream>>;

  Dropped AbandonIf(absl::FunctionRef<bool(const Envelope&)> is_meant);
  absl::StatusOr<std::shared_ptr<Stream>> FindOrAdd(uint64_t id, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Check(const Chunk& chunk, const Stream& stream) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Claims the stream that carries the attachments from `first` on; returns the
  // index of the first attachment of the next stream.
  absl::StatusOr<size_t> Claim(const std::shared_ptr<Waiting>& waiting,
                               size_t first, Dropped* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the stream for good: its bytes are in place, or never will be.
  void Settle(const std::shared_ptr<Stream>& stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops the stream's bytes, including the bytes that have not arrived yet.
  void Discard(Stream* stream, const absl::Status& why, Dropped* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(const std::shared_ptr<Waiting>& waiting, const absl::Status& why,
            Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the message once, when it is complete.
  std::optional<Incoming> TakeIfComplete(
      const std::shared_ptr<Waiting>& waiting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool FitsQuota(uint64_t bytes, uint64_t beyond = 0) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Subtracts `held` from held_.
  void ReleaseHeld(uint64_t* held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OverQuota(uint64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Allocates memory for the stream; called by Receive.
  void Reserve(const std::shared_ptr<Stream>& stream, Dropped* dropped);
  // Counts `bytes` of the stream as arrived. `dropped` is the memory that
  // Reserve has dropped.
  Received Finish(const std::shared_ptr<Stream>& stream, uint64_t bytes,
                  bool given_up, Dropped dropped);

  ReceiveMemory& memory_;
  const uint64_t window_;
  const uint64_t quota_;
  OpenCount for_steps_;
  mutable absl::Mutex mutex_;
  StreamMap streams_ ABSL_GUARDED_BY(mutex_);
  uint64_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t owed_credit_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_INCOMING_STREAMS_H_
