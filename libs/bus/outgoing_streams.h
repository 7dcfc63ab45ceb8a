// OutgoingStreams sends the large attachments of one connection. It cuts them
// into chunks, which are sent round robin within the credit of the receiver.
// The amount queued for a receiver that does not read is limited.
//
// Threads: all methods may be called from any thread. Chunks must be sent in
// the order in which Next returned them.
#ifndef WEFT_LIBS_BUS_OUTGOING_STREAMS_H_
#define WEFT_LIBS_BUS_OUTGOING_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/bus/blob.h"
#include "libs/bus/message.h"
#include "libs/bus/open_count.h"
#include "libs/bus/wire.h"

namespace weft::bus {

class OutgoingStreams {
 public:
  // At most `credit_bytes` are in flight at any time; streams of at most
  // `max_unsent_bytes` may wait until their last chunk is sent.
  OutgoingStreams(size_t chunk_bytes, uint64_t credit_bytes,
                  uint64_t max_unsent_bytes);

  // Reserves quota for streams of that many bytes in total; Add of each or
  // GiveUp of all must follow. Returns RESOURCE_EXHAUSTED if too many wait.
  absl::Status Reserve(uint64_t bytes, size_t num_streams);
  void GiveUp(uint64_t bytes, size_t num_streams);

  // The parts of one stream, sent one after the other; none is empty.
  using Parts = absl::InlinedVector<Blob, 1>;
  // The message that a stream belongs to.
  struct Source {
    uint64_t call_id = 0;  // 0: no call
    StepTag step;
  };
  // Adds a stream. `counts` says whether quota was reserved for its bytes.
  void Add(uint64_t stream, const Source& source, Parts parts, bool counts);

  // Sets *chunk to the next chunk to send. Returns false if there is no chunk,
  // or no credit for it.
  bool Next(Frames* chunk);

  // Adds credit that the receiver has returned. INVALID_ARGUMENT if it is more
  // than was in flight.
  absl::Status AddCredit(uint64_t bytes);

  // Memory that a method has dropped. It may be large, so the caller must free
  // it on a thread other than a reading thread.
  using Dropped = std::vector<Parts>;
  // Drops the unsent part of the call's streams.
  Dropped Abandon(uint64_t call_id);
  // Drops the unsent part of the streams of this step's one-way messages.
  Dropped AbandonStep(const StepTag& step);
  Dropped AbandonAll();

  bool IsEmpty() const;
  // Returns false if AbandonStep has no effect for any step.
  bool HasSteps() const { return !for_steps_.IsZero(); }
  // The bytes reserved and not yet sent or abandoned.
  uint64_t unsent_bytes() const;

 private:
  struct Stream {
    uint64_t id = 0;
    Source source;
    Parts parts;
    size_t part = 0;            // index of the part to send next
    uint64_t sent_of_part = 0;  // number of sent bytes of that part
    uint64_t total = 0;
    uint64_t sent = 0;
    uint64_t unsent = 0;  // counted in unsent_; all of it or none
    bool abandoned = false;
  };

  Dropped AbandonIf(absl::FunctionRef<bool(const Source&)> is_meant);
  // Counts a stream that has ended or was abandoned.
  void CountEnd(const Stream& stream) {
    if (stream.source.step != StepTag()) for_steps_.Add(-1);
  }
  // Takes the next `size` bytes, which must exist.
  static Blob TakeBytes(Stream& stream, uint64_t size);

  const size_t chunk_bytes_;
  OpenCount for_steps_;  // counts the streams that belong to steps
  mutable absl::Mutex mutex_;
  // The streams that have unsent bytes. The first one is sent next.
  std::deque<Stream> streams_ ABSL_GUARDED_BY(mutex_);
  uint64_t credit_ ABSL_GUARDED_BY(mutex_);
  const uint64_t credit_bytes_;
  uint64_t unsent_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t num_streams_ ABSL_GUARDED_BY(mutex_) = 0;  // added or reserved
  const uint64_t max_unsent_bytes_;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_OUTGOING_STREAMS_H_
