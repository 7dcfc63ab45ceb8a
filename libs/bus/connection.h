// Connection: both lanes between two processes once they have greeted each
// other: whole messages in, whole messages out. Channel and Endpoint stand on
// it; what a message means is theirs.
//
// Threads: Receive is called by one thread at a time, and so is ReceiveBulk;
// all else from any thread. `deliver` runs before they return, without a lock.
//
// Errors: INVALID_ARGUMENT of the Receive functions means that the other end
// broke the rules and should lose the connection.
#ifndef WEFT_LIBS_BUS_CONNECTION_H_
#define WEFT_LIBS_BUS_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/reclaimer.h"
#include "libs/bus/incoming_streams.h"
#include "libs/bus/message.h"
#include "libs/bus/outgoing_streams.h"
#include "libs/bus/traffic.h"
#include "libs/bus/wire.h"

namespace weft::bus {

struct ConnectionOptions {
  Wire* wire = nullptr;
  LandingMemory* memory = nullptr;
  Traffic* traffic = nullptr;  // may be null
  ConnectionId control = 0;
  uint64_t max_sent_bytes = 0;  // of a control message, that the other takes
  uint64_t max_received_bytes = 0;  // and that this end takes
  uint64_t credit_bytes = 0;
  uint64_t max_held_bytes = 0;
  uint64_t max_unsent_bytes = 0;
  size_t inline_bytes = 0;
  uint64_t medium_bytes = 0;
  uint64_t medium_window = 0;
  size_t chunk_bytes = 0;
  // Counts the messages of steps that come in, of all connections of an
  // endpoint; may be null.
  std::shared_ptr<OpenCount> incoming_for_steps;
  // Frees the memory of attachments that are given up; never null.
  std::shared_ptr<Reclaimer> reclaimer;
  // Called when there is something for the bulk lane and it is not attached;
  // perhaps more than once.
  absl::AnyInvocable<void()> need_bulk = [] {};
};

class Connection {
 public:
  explicit Connection(ConnectionOptions options);
  ~Connection();

  // What to send; `error` only in a reply, which then has no message.
  struct Outgoing {
    MessageKind kind = MessageKind::kOneWay;
    uint64_t call_id = 0;
    int64_t time_remaining_us = -1;
    absl::Status error;
    Message message;
  };
  // UNAVAILABLE when the connection is closed, INVALID_ARGUMENT when the other
  // end does not take a message of this size, RESOURCE_EXHAUSTED when too much
  // waits for it to read; nothing was sent then.
  absl::Status Send(Outgoing outgoing);

  using Deliver = absl::FunctionRef<absl::Status(Incoming)>;
  using IsWanted = absl::FunctionRef<bool(const Envelope&)>;
  // A message of the control lane. `is_wanted` is asked before memory is spent
  // on large attachments.
  absl::Status Receive(Frames frames, IsWanted is_wanted, Deliver deliver);
  // A message of the bulk lane.
  absl::Status ReceiveBulk(const Frames& frames, Deliver deliver);

  void AttachBulk(ConnectionId bulk);

  // The call was cancelled, or is over: its attachments need not travel on.
  void Abandon(uint64_t call_id);
  // The step was aborted: attachments of one-way messages for it need not
  // travel on. Those that come in are thrown away, and their messages with
  // them.
  void AbandonStep(const StepTag& step);

  // Nothing is sent any more and memory is given up. The Wire's connections are
  // the owner's to close.
  void Close();

  // As IncomingStreams.
  absl::Status Hold(uint64_t bytes, uint64_t beyond = 0) {
    return incoming_.Hold(bytes, beyond);
  }
  void LetGo(uint64_t bytes) { incoming_.LetGo(bytes); }
  uint64_t held_bytes() const { return incoming_.held_bytes(); }

 private:
  // Which attachments go where.
  Envelope Address(Outgoing& outgoing);
  // Whether it goes with its message although it is not small; the wire lets go
  // of it once it is sent.
  bool GoesAlong(Blob& attachment);
  uint64_t NextStream() {
    return next_stream_.fetch_add(1, std::memory_order_relaxed);
  }
  void AddStreams(const Envelope& envelope, Message& message, bool counts);
  absl::Status ReceiveCredit(const Blob& body);
  absl::Status SendFrames(ConnectionId connection, Frames frames,
                          uint64_t size);
  void CountReceived(uint64_t size) const;
  // What Abandon and the like give up, which threads that must not free much
  // memory call.
  template <typename Dropped>
  void Reclaim(Dropped dropped) {
    if (dropped.empty()) return;
    options_.reclaimer->Own(std::make_unique<Dropped>(std::move(dropped)));
  }
  // Sends chunks as long as there are any that may go.
  void Pump();

  ConnectionOptions options_;
  OutgoingStreams outgoing_;
  IncomingStreams incoming_;
  // Of a medium size and on their way; what they hold outlives the connection.
  const std::shared_ptr<std::atomic<uint64_t>> medium_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  std::atomic<uint64_t> next_stream_{1};
  std::atomic<bool> closed_{false};
  absl::Mutex mutex_;
  ConnectionId bulk_ ABSL_GUARDED_BY(mutex_) = 0;
  bool pumping_ ABSL_GUARDED_BY(mutex_) = false;
  bool pump_again_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_CONNECTION_H_
