// OutgoingStreams: large attachments on their way out of one connection, cut
// into chunks that take turns, within the credit that the receiver gave. How
// much may wait for a receiver that does not read is bounded.
//
// Threads: all methods may be called from any thread. Chunks must be sent in
// the order in which Next gave them.
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
  // At most `credit_bytes` are under way at any moment; streams of
  // `max_unsent_bytes` may wait for their last chunk to go.
  OutgoingStreams(size_t chunk_bytes, uint64_t credit_bytes,
                  uint64_t max_unsent_bytes);

  // Makes room for streams of so many bytes in all, which Add of each or GiveUp
  // of all must follow. RESOURCE_EXHAUSTED when too many wait.
  absl::Status Reserve(uint64_t bytes, size_t num_streams);
  void GiveUp(uint64_t bytes, size_t num_streams);

  // What one stream brings, one after the other; none is empty.
  using Parts = absl::InlinedVector<Blob, 1>;
  // The message that a stream belongs to.
  struct Source {
    uint64_t call_id = 0;  // 0: of no call
    StepTag step;
  };
  // `counts`: room was reserved for its bytes.
  void Add(uint64_t stream, const Source& source, Parts parts, bool counts);

  // The next chunk to send; false when there is none, or no credit for it.
  bool Next(Frames* chunk);

  // INVALID_ARGUMENT when it is more than was under way.
  absl::Status AddCredit(uint64_t bytes);

  // Memory of perhaps many bytes, to be freed where there is time.
  using Dropped = std::vector<Parts>;
  // What is not yet sent of the call's streams never will be.
  Dropped Abandon(uint64_t call_id);
  // Likewise of one-way messages for this step.
  Dropped AbandonStep(const StepTag& step);
  Dropped AbandonAll();

  bool IsEmpty() const;
  // False: AbandonStep has nothing to do, for any step.
  bool HasSteps() const { return !for_steps_.IsZero(); }
  // Reserved, and not yet sent or abandoned.
  uint64_t unsent_bytes() const;

 private:
  struct Stream {
    uint64_t id = 0;
    Source source;
    Parts parts;
    size_t part = 0;            // the next to send
    uint64_t sent_of_part = 0;  // of its bytes
    uint64_t total = 0;
    uint64_t sent = 0;
    uint64_t unsent = 0;  // counted in unsent_; all of it or nothing
    bool abandoned = false;
  };

  Dropped AbandonIf(absl::FunctionRef<bool(const Source&)> is_meant);
  // The stream has ended, or was abandoned.
  void CountEnd(const Stream& stream) {
    if (stream.source.step != StepTag()) for_steps_.Add(-1);
  }
  // The next so many bytes, which it has.
  static Blob TakeBytes(Stream& stream, uint64_t size);

  const size_t chunk_bytes_;
  OpenCount for_steps_;  // streams of a step
  mutable absl::Mutex mutex_;
  std::deque<Stream> streams_ ABSL_GUARDED_BY(mutex_);  // the first is next
  uint64_t credit_ ABSL_GUARDED_BY(mutex_);
  const uint64_t credit_bytes_;
  uint64_t unsent_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t num_streams_ ABSL_GUARDED_BY(mutex_) = 0;  // added or reserved
  const uint64_t max_unsent_bytes_;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_OUTGOING_STREAMS_H_
