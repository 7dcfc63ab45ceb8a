// ListeningSocket is a ROUTER with the connections that it has accepted.
//
// A connection begins with its first message, whose descriptor identifies it
// when the monitor reports its end (DescriptorLives). It ends when the monitor
// reports that and all its messages have been delivered. libzmq cannot close
// one connection of a ROUTER, so the TCP connection of a closed one is shut
// down directly, and its remaining messages are dropped.
//
// Unknown peers. The number of connections, their rate, and the number of
// silent ones are limited. A connection that is silent for long is cut. So is
// one that has brought much more than was delivered, the rest of which libzmq
// holds: the system counts the received bytes. The last descriptors of the
// process are not for connections (DescriptorReserve). Identities that a peer
// chose itself are refused; those in libzmq's own format are recognized by
// their number: libzmq increments it from a start that Listen determines.
#ifndef WEFT_LIBS_BUS_ZMQ_LISTENING_SOCKET_H_
#define WEFT_LIBS_BUS_ZMQ_LISTENING_SOCKET_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "libs/bus/address.h"
#include "libs/bus/zmq/descriptor_lives.h"
#include "libs/bus/zmq/polled_socket.h"

namespace weft::bus {

class ListeningSocket : public PolledSocket {
 public:
  ListeningSocket(const ChannelParts& parts, WireEvents& events)
      : PolledSocket(parts), events_(events) {}

  // Starts to listen. Returns the address with the assigned port.
  absl::StatusOr<Address> Listen(const Address& address);
  // Ends the socket and its connections, without events. When this returns, the
  // port is free. Must be called at most once.
  void Shutdown();

  absl::Status Send(ConnectionId connection, Frames frames) override;
  void Close(ConnectionId connection) override;

 private:
  using Life = DescriptorLives::Life;

  struct Accepted {
    ConnectionId id = 0;
    RoutingId route = 0;
    Life life;          // never null
    bool over = false;  // no message may be sent any more
    // Messages that libzmq's queue did not accept. Freed with this object.
    std::deque<Frames> outbox;
    uint64_t outbox_bytes = 0;
    bool reads = true;  // false: the peer has left too much unread
  };

  bool NextDelivery(unsigned& signals, Delivery& delivery) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Next Rest() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWork() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<void> Forget(ConnectionId connection) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status Bind(const Address& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets listener_ if the monitor has reported the listening descriptor.
  void FindListener() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadChanges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Accept(int descriptor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Refuse(const Life& life) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefuseOldestSilent(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether one more connection may be accepted now.
  bool TakeAccept(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Finds out which identity libzmq assigns first, before any peer can connect.
  absl::Status LearnFirstIdentity() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Connects this socket to itself, so that libzmq assigns the next identity.
  // Receive finds out which.
  bool AskForIdentity() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether the message comes from the connection of AskForIdentity.
  bool LearnIdentity(RoutingId route, const Frames& frames)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether libzmq can have assigned `route` to the connection of
  // `life`.
  bool IsGiven(RoutingId route, const Life& life)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Checks silent and flooding peers periodically.
  void ArmInspection() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Inspect();
  bool IsWelcome(const Life& life, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cut(const Life& life) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Receives a message. Returns false if there was none.
  bool Receive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the connection of a route that is seen for the first time, or null
  // if the connection is refused or has ended.
  Accepted* Admit(RoutingId route, int descriptor)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefuseForeign(int descriptor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Queue(Delivery::Kind kind, ConnectionId connection, Frames frames = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the next event of a connection that is still open at this end, and
  // counts its bytes as delivered. Returns false if there is none.
  bool PopPending(Delivery& delivery) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Queues the ends of the connections in ending_. Must be called when all
  // messages that were received before these ends are queued.
  void FinishLives() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SendLocked(Accepted& accepted, Frames& frames)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SendLater(Accepted& accepted, Frames& frames)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FlushOutboxes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Flush(Accepted& accepted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WireEvents& events_;
  std::string endpoint_ ABSL_GUARDED_BY(mutex_);
  int port_ ABSL_GUARDED_BY(mutex_) = 0;
  int listener_ ABSL_GUARDED_BY(mutex_) = -1;  // libzmq's descriptor
  // Whether connections may wait at listener_ for which libzmq has no
  // descriptor.
  bool looks_at_backlog_ ABSL_GUARDED_BY(mutex_) = false;
  // Set while it shuts down; the event is set when the port is free.
  std::shared_ptr<Event> port_is_free_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<ConnectionId, std::unique_ptr<Accepted>> accepted_
      ABSL_GUARDED_BY(mutex_);
  // The connection of each route. A closed connection stays until its life has
  // ended.
  absl::flat_hash_map<RoutingId, ConnectionId> routes_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<ConnectionId, RoutingId> route_of_
      ABSL_GUARDED_BY(mutex_);
  DescriptorLives lives_ ABSL_GUARDED_BY(mutex_);
  // Ended lives. Messages of them may still wait to be received.
  std::vector<Life> ending_ ABSL_GUARDED_BY(mutex_);
  int received_since_ending_ ABSL_GUARDED_BY(mutex_) = 0;
  // Connections that a send found closed; the monitor reports them as well.
  std::vector<ConnectionId> lost_ ABSL_GUARDED_BY(mutex_);
  std::vector<Life> to_cut_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<ConnectionId> stalled_ ABSL_GUARDED_BY(mutex_);
  std::deque<Delivery> pending_ ABSL_GUARDED_BY(mutex_);
  bool more_to_receive_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId inspection_ ABSL_GUARDED_BY(mutex_) = 0;
  // Lives that had sent no message when they began, in order of their begin.
  // Some have sent a message since, or have ended.
  std::deque<Life> silent_ ABSL_GUARDED_BY(mutex_);
  double accepts_left_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_accept_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // The latest identity known to be assigned, and the minimum number of
  // handshakes at that time.
  RoutingId given_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t handshakes_when_given_ ABSL_GUARDED_BY(mutex_) = 0;
  // The first identity that libzmq assigned; no other connection has it.
  RoutingId first_ ABSL_GUARDED_BY(mutex_) = 0;
  // Is connected to this socket to find out the identity that libzmq assigns to
  // it. It sends password_, which no other peer knows.
  ZmqSocket asking_ ABSL_GUARDED_BY(mutex_);
  std::string password_ ABSL_GUARDED_BY(mutex_);
  uint64_t handshakes_when_asked_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string own_endpoint_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_LISTENING_SOCKET_H_
