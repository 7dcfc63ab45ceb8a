// Handler handles the incoming messages of a task; IncomingCall is a request
// that it must answer. transport.h has the contract, including the threads on
// which a Handler is called.
#ifndef WEFT_LIBS_BUS_HANDLER_H_
#define WEFT_LIBS_BUS_HANDLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/bus/message.h"

namespace weft::bus {

// A received request that is not answered yet. Reply or Fail must be called
// once, on any thread; dropping it unanswered fails the call with INTERNAL.
class IncomingCall {
 public:
  virtual ~IncomingCall() = default;
  virtual const Peer& peer() const = 0;
  // Returns the time at which the caller gives up, by this process's clock.
  virtual absl::Time deadline() const = 0;
  // Cancelled when the caller cancels or gives up, or when the connection is
  // lost.
  virtual Cancellation& cancellation() = 0;
  // Answers the call. A reply that the other end does not accept, or that
  // exceeds the limit of unread bytes (RESOURCE_EXHAUSTED), fails the call.
  virtual void Reply(Message reply) = 0;
  // Answers the call like Reply. However, if the reply exceeds the limit of
  // unread bytes, returns the error and leaves the call open, so that the
  // caller can fail it with more context.
  virtual absl::Status TryReply(Message reply) {
    Reply(std::move(reply));
    return absl::OkStatus();
  }
  virtual void Fail(const absl::Status& error) = 0;
  // For a request that leaves work behind when it is answered: it still counts
  // among its peer's requests until the result is released, possibly after the
  // endpoint is destroyed. Must be called before the answer, once. Null for a
  // request that has a reserve.
  virtual std::shared_ptr<const void> KeepOpen() { return nullptr; }
};

// The number of requests with a reserve that a peer may have open beyond two
// for each request of its own quota: ends of sessions, releases and holds.
inline constexpr int kReservedRequests = 1024;

// A Handler handles the incoming messages of a task.
class Handler {
 public:
  virtual ~Handler() = default;
  // Returns whether messages of this method are handled on the reading thread.
  virtual bool IsFast(uint8_t method) const = 0;
  // Returns whether this received message is handled on the reading thread. A
  // message of a fast method is not if it takes long to decode.
  virtual bool IsFastMessage(const Message& message) const {
    return IsFast(message.method);
  }
  // Returns whether a received request ends work or keeps its sender alive.
  // Such a request is handled on the control pool. It overtakes messages of its
  // connection that wait for another pool. Called before IsFastMessage.
  virtual bool IsControlMessage(const Message& /*message*/) const {
    return false;
  }
  // Returns whether requests of this method are still served while new work is
  // refused. That holds for methods that end work or ask about it.
  virtual bool IsServedWhileDraining(uint8_t /*method*/) const { return false; }
  // Returns whether requests of this method end work or keep the peer a member.
  // Such requests have a quota of their own: twice the quota of other requests,
  // because a step may be aborted twice, plus kReservedRequests. So a peer that
  // has used up its quota can still send the request that frees it.
  virtual bool HasReserve(uint8_t /*method*/) const { return false; }
  // Returns whether the endpoint accepts a connection from this peer while it
  // drains. Running steps may need the connection.
  virtual bool IsAcceptedWhileDraining(const Identity& /*peer*/) const {
    return false;
  }
  // Called when a peer has sent HELLO, for this task and in a supported
  // version. An error refuses the peer. Must be fast.
  virtual absl::Status OnConnect(const Peer& peer) = 0;
  // Called after all of the peer's messages, those of both channels, when its
  // calls are already cancelled. On the control pool, unless messages wait for
  // the compute pool, or the connection is lost during OnConnect: then on the
  // reading thread.
  virtual void OnDisconnect(const Peer& peer, const absl::Status& why) = 0;
  virtual void OnRequest(std::shared_ptr<IncomingCall> call,
                         Message request) = 0;
  // Called for a request whose attachments exceeded the limits and were
  // dropped; `which` is the index of the first such attachment. The handler
  // must fail the call with `why`, to which it may add information about the
  // attachment. Must be fast.
  virtual void OnRefused(std::shared_ptr<IncomingCall> call,
                         Message /*request*/, size_t /*which*/,
                         const absl::Status& why) {
    call->Fail(why);
  }
  // `received` is an error if the attachments exceeded the limits; then there
  // are none. A message that is not fast and that exceeds even the limit for
  // such messages is delivered at once, on the reading thread: before waiting
  // messages of its peer, and concurrently with one being handled.
  virtual void OnOneWay(const Peer& peer, Message message,
                        const absl::Status& received) = 0;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_HANDLER_H_
