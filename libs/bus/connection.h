// Connection exchanges whole messages over both channels between two processes
// after their handshake. Channel and Endpoint build on it and interpret the
// messages.
//
// Threads: Receive is called by one thread at a time, and so is ReceiveBulk;
// all other methods from any thread. `deliver` runs before they return, without
// a lock held.
//
// Errors: INVALID_ARGUMENT from the Receive functions means that the other end
// violated the protocol and should be disconnected.
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
#include "absl/time/time.h"
#include "libs/base/async/reclaimer.h"
#include "libs/bus/incoming_streams.h"
#include "libs/bus/message.h"
#include "libs/bus/outgoing_streams.h"
#include "libs/bus/traffic.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// When the bulk channel ends, how long the control channel's thread has to read
// what was sent before. A task that ends closes both channels at once, and its
// goodbye, or its last reply, must not be lost because the other thread is
// faster. Longer than a reading thread waits for a processor on a busy machine;
// short beside `peer_timeout`, since it delays the report of the loss if only
// the bulk channel is lost.
inline constexpr absl::Duration kTimeToReadControl = absl::Milliseconds(100);

// Both ends set all values; none is optional unless that is stated. Sizes are
// in bytes.
struct ConnectionOptions {
  Wire* wire = nullptr;             // must outlive the connection
  ReceiveMemory* memory = nullptr;  // receive buffers; must outlive it, too
  Traffic* traffic = nullptr;       // may be null; must outlive it, too
  ConnectionId control = 0;         // the control channel, in `wire`
  // The size of one control message with its attachments that are not streamed:
  // the maximum that the other end accepts, and that this end accepts.
  uint64_t max_sent_bytes = 0;
  uint64_t max_received_bytes = 0;
  // Streamed bytes that may be in flight at any time, in each direction.
  uint64_t credit_bytes = 0;
  // The maximum number of bytes that the other end may make this end hold:
  // streamed attachments, and requests until they are answered
  // (IncomingStreams).
  uint64_t max_held_bytes = 0;
  // The maximum number of bytes of streamed attachments of replies and one-way
  // messages that may wait for the other end to read them (OutgoingStreams).
  uint64_t max_unsent_bytes = 0;
  // Sizes of one attachment: smaller ones than `inline_bytes` are sent with
  // their message. So are larger ones up to `medium_bytes` while at most
  // `medium_window` bytes of these are in flight. All others are streamed.
  size_t inline_bytes = 0;
  uint64_t medium_bytes = 0;
  uint64_t medium_window = 0;
  // The maximum size of one message of the bulk channel, without its header; at
  // most half of `credit_bytes` is used.
  size_t chunk_bytes = 0;
  // Counts the incoming messages of steps, over all connections of an endpoint;
  // may be null.
  std::shared_ptr<OpenCount> incoming_for_steps;
  // Frees the memory of dropped attachments; never null.
  std::shared_ptr<Reclaimer> reclaimer;
  // Called when the bulk channel is needed and not attached; possibly more than
  // once.
  absl::AnyInvocable<void()> need_bulk = [] {};
};

class Connection {
 public:
  explicit Connection(ConnectionOptions options);
  ~Connection();

  // A message to send. Only a reply may have an `error`; then it has no
  // message.
  struct Outgoing {
    MessageKind kind = MessageKind::kOneWay;
    uint64_t call_id = 0;
    int64_t time_remaining_us = -1;
    absl::Status error;
    Message message;
  };
  // Returns UNAVAILABLE if the connection is closed, INVALID_ARGUMENT if the
  // other end does not accept messages of this size, RESOURCE_EXHAUSTED if too
  // much is queued for it. Nothing was sent then.
  absl::Status Send(Outgoing outgoing);

  using Deliver = absl::FunctionRef<absl::Status(Incoming)>;
  using IsWanted = absl::FunctionRef<bool(const Envelope&)>;
  // Receives a message of the control channel. Calls `is_wanted` before it
  // allocates memory for large attachments.
  absl::Status Receive(Frames frames, IsWanted is_wanted, Deliver deliver);
  // Receives a message of the bulk channel.
  absl::Status ReceiveBulk(const Frames& frames, Deliver deliver);

  void AttachBulk(ConnectionId bulk);

  // Drops the unsent attachments of a call that was cancelled or has ended.
  void Abandon(uint64_t call_id);
  // For an aborted step: drops the unsent attachments of its outgoing one-way
  // messages, and its incoming messages with their attachments. May miss a
  // message that is sent or arrives concurrently.
  void AbandonStep(const StepTag& step);

  // Sends nothing more and releases the memory. The owner must close the Wire's
  // connections.
  void Close();

  // Holds bytes of the other end's quota, as IncomingStreams::Hold does.
  absl::Status Hold(uint64_t bytes, uint64_t beyond = 0) {
    return incoming_.Hold(bytes, beyond);
  }
  void Release(uint64_t bytes) { incoming_.Release(bytes); }
  uint64_t held_bytes() const { return incoming_.held_bytes(); }

 private:
  // Returns the envelope of a message. Decides how each of its attachments is
  // sent.
  Envelope Address(Outgoing& outgoing);
  // Returns whether an attachment that is not small is sent with its message.
  // The wire releases such an attachment once it is sent.
  bool IsSentWithMessage(Blob& attachment);
  uint64_t NextStream() {
    return next_stream_.fetch_add(1, std::memory_order_relaxed);
  }
  void AddStreams(const Envelope& envelope, Message& message, bool counts);
  absl::Status ReceiveCredit(const Blob& body);
  absl::Status SendFrames(ConnectionId connection, Frames frames,
                          uint64_t size);
  void CountReceived(uint64_t size) const;
  // Frees what Abandon and similar methods dropped; they are called by threads
  // that must not free large objects.
  template <typename Dropped>
  void Reclaim(Dropped dropped) {
    if (dropped.empty()) return;
    options_.reclaimer->Own(std::make_unique<Dropped>(std::move(dropped)));
  }
  // Sends chunks while there is credit.
  void Pump();

  ConnectionOptions options_;
  OutgoingStreams outgoing_;
  IncomingStreams incoming_;
  // The bytes of medium-sized attachments in flight; shared because they may
  // outlive the connection.
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
