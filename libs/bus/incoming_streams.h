// IncomingStreams: large attachments on their way into one connection. Chunks
// come on the bulk lane, the messages that name their streams on the control
// lane, in either order; a message is complete when all its streams are.
//
// Memory for a stream is reserved when its first chunk comes. A stream that
// there is no memory for is thrown away chunk by chunk, and its message gets an
// error; its credit returns all the same, so that other streams go on.
//
// The quota is for all that one peer makes us hold: besides what is here, the
// requests that wait for an answer (Hold, LetGo).
//
// Threads: Land is called by one thread at a time, all else from any thread.
// LandingMemory is called without a lock held.
//
// Errors: INVALID_ARGUMENT when the other end broke the rules and should lose
// the connection.
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

// A message that is here as a whole.
struct Incoming {
  Envelope envelope;
  Message message;
  // Why its attachments did not land, if they did not: there are none then.
  absl::Status landed;
  // Which of them was the first that found no room.
  size_t refused = 0;
  // How many bytes of the quota a request takes until it is answered.
  uint64_t held = 0;
};

class IncomingStreams {
 public:
  // Of `window` bytes credit returns as they land; at most `quota` bytes are
  // held. `memory` outlives it. `for_steps` counts one-way messages of steps
  // that wait for their streams.
  IncomingStreams(LandingMemory& memory, uint64_t window, uint64_t quota,
                  std::shared_ptr<OpenCount> for_steps = nullptr);

  // Memory of perhaps many bytes, to be freed where there is time: never by
  // this class, which threads that read call.
  using Dropped = std::vector<Blob>;

  // A message that names streams has come. When it is not `wanted`, it is never
  // complete and its streams are thrown away. Adds to `dropped` also where it
  // fails.
  absl::StatusOr<std::optional<Incoming>> Expect(ControlMessage message,
                                                 bool wanted, Dropped* dropped);

  struct Landed {
    std::optional<Incoming> complete;
    uint64_t credit = 0;  // to return to the sender now
    Dropped dropped;
  };
  absl::StatusOr<Landed> Land(const Chunk& chunk);

  // Reserves `bytes`; the total may exceed the quota by `beyond`.
  // RESOURCE_EXHAUSTED when too little is left.
  absl::Status Hold(uint64_t bytes, uint64_t beyond = 0);
  // Gives back what Hold or an Incoming took.
  void LetGo(uint64_t bytes);

  // Nobody waits for the message of this call any more.
  Dropped Abandon(uint64_t call_id);
  // Drops one-way messages of this step. They are never delivered.
  Dropped AbandonStep(const StepTag& step);
  // Gives up all memory. Nothing is complete any more.
  Dropped AbandonAll();

  // False: AbandonStep has nothing to do, for any step.
  bool HasSteps() const { return !for_steps_.IsZero(); }
  // What is taken of the quota now.
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
  // The stream that brings the attachments from `first` on: says where those of
  // the next one begin.
  absl::StatusOr<size_t> Claim(const std::shared_ptr<Waiting>& waiting,
                               size_t first, Dropped* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The stream is over for good: its bytes are in place, or never will be.
  void Settle(const std::shared_ptr<Stream>& stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its bytes will be thrown away as they come.
  void Discard(Stream* stream, const absl::Status& why, Dropped* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(const std::shared_ptr<Waiting>& waiting, const absl::Status& why,
            Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What there is to tell of the message, once.
  std::optional<Incoming> TakeIfComplete(
      const std::shared_ptr<Waiting>& waiting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool FitsQuota(uint64_t bytes, uint64_t beyond = 0) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What was counted in held_ is not any more.
  void Release(uint64_t* held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoRoom(uint64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Finds room for the stream; called by Land.
  void Reserve(const std::shared_ptr<Stream>& stream, Dropped* dropped);
  // `dropped` is what Reserve has dropped.
  Landed Finish(const std::shared_ptr<Stream>& stream, uint64_t bytes,
                bool given_up, Dropped dropped);

  LandingMemory& memory_;
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
