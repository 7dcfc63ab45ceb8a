// Handler: what a task does with what comes in; IncomingCall: a request that it
// has to answer. transport.h has the contract, and says on which threads a
// Handler is called.
#ifndef WEFT_LIBS_BUS_HANDLER_H_
#define WEFT_LIBS_BUS_HANDLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/cancellation.h"
#include "libs/bus/message.h"

namespace weft::bus {

// A request on its way to an answer, at the end that gives it. Reply or Fail
// once, on any thread; letting go of it without is INTERNAL for the caller.
class IncomingCall {
 public:
  virtual ~IncomingCall() = default;
  virtual const Peer& peer() const = 0;
  // When the caller gives up, by this process's clock.
  virtual absl::Time deadline() const = 0;
  // Cancelled when the caller cancels or gives up, or the connection is lost.
  virtual Cancellation& cancellation() = 0;
  // A reply that the other end can't take, or that finds no room among what
  // waits for it to read (RESOURCE_EXHAUSTED), fails the call.
  virtual void Reply(Message reply) = 0;
  // The same, but a reply that finds no room leaves the call open and says why,
  // so that its owner can fail it with what it knows of it.
  virtual absl::Status TryReply(Message reply) {
    Reply(std::move(reply));
    return absl::OkStatus();
  }
  virtual void Fail(const absl::Status& error) = 0;
  // For a request that leaves work behind when it is answered: it goes on to
  // count among its peer's requests until the result is released, which may be
  // after the endpoint's end. Before the answer, once. Null for a request that
  // has a reserve.
  virtual std::shared_ptr<const void> KeepOpen() { return nullptr; }
};

// Requests with a reserve that a peer may have open beyond two for each request
// of its own quota: ends of sessions, releases and holds.
inline constexpr int kReservedRequests = 1024;

// What a task does with what comes in.
class Handler {
 public:
  virtual ~Handler() = default;
  // Whether messages of this method are handled on the thread that reads.
  virtual bool IsFast(uint8_t method) const = 0;
  // The same of one that is here: false for what takes long to open.
  virtual bool IsFastMessage(const Message& message) const {
    return IsFast(message.method);
  }
  // Whether a request that is here ends work or keeps its sender alive: it is
  // handled on the control pool, and overtakes messages of its connection that
  // wait for another one. Asked before IsFastMessage.
  virtual bool IsControlMessage(const Message& /*message*/) const {
    return false;
  }
  // Whether requests of this method are served until the end, though new work
  // is refused: those that end work, or ask about it.
  virtual bool IsServedWhileDraining(uint8_t /*method*/) const { return false; }
  // Whether requests of this method end work, or keep the peer a member. They
  // count in a quota of their own: twice that of the others, as a step may be
  // aborted twice, and kReservedRequests. What a peer may not exceed never
  // refuses the request that would relieve it.
  virtual bool HasReserve(uint8_t /*method*/) const { return false; }
  // Whether the endpoint accepts a connection from this peer while it drains.
  // Steps that still run may need it.
  virtual bool IsAcceptedWhileDraining(const Identity& /*peer*/) const {
    return false;
  }
  // A peer said HELLO, for this task and in a version we speak. An error
  // refuses it. Fast.
  virtual absl::Status OnConnect(const Peer& peer) = 0;
  // After all its messages; its calls are cancelled already. On the control
  // pool, unless messages wait for the compute pool.
  virtual void OnDisconnect(const Peer& peer, const absl::Status& why) = 0;
  virtual void OnRequest(std::shared_ptr<IncomingCall> call,
                         Message request) = 0;
  // A request whose attachments found no room, and are not there; `which` of
  // them was the first. To be failed with `why`, to which the handler may add
  // what it knows of the attachment. Fast.
  virtual void OnRefused(std::shared_ptr<IncomingCall> call,
                         Message /*request*/, size_t /*which*/,
                         const absl::Status& why) {
    call->Fail(why);
  }
  // `landed` is an error when there was no room for the attachments; then there
  // are none. A message that is not fast and for which there is no room even so
  // comes at once, on the thread that reads: before messages of its peer that
  // wait, and beside one that is being handled.
  virtual void OnOneWay(const Peer& peer, Message message,
                        const absl::Status& landed) = 0;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_HANDLER_H_
