// ClientConnection is one attempt of a Channel to connect, and the resulting
// connection. It dials, sends HELLO, and dials the bulk channel when it is
// needed.
//
// Threads: all methods may be called from any thread. The owner is called
// without a lock held.
//
// Ownership: shared by its Channel and by its own running events. The Channel
// must call Close before it drops it, on a thread that does not deliver events
// of the Wire, and must outlive its events.
#ifndef WEFT_LIBS_BUS_CLIENT_CONNECTION_H_
#define WEFT_LIBS_BUS_CLIENT_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/reclaimer.h"
#include "libs/bus/async_scope.h"
#include "libs/bus/connection.h"
#include "libs/bus/handshake.h"
#include "libs/bus/heartbeat.h"
#include "libs/bus/transport.h"

namespace weft::bus {

class ClientConnection;

class ClientConnectionOwner {
 public:
  virtual ~ClientConnectionOwner() = default;
  // Called on the control channel's thread when HELLO was answered. Messages
  // are delivered only after this call has returned. That holds for the bulk
  // channel's thread, too, which completes messages that the control channel's
  // thread has read.
  virtual void OnHandshakeDone(
      const std::shared_ptr<ClientConnection>& connection,
      const Identity& peer) = 0;
  virtual bool IsPending(uint64_t call_id) = 0;
  // Called for each received reply, possibly by both reading threads at once.
  virtual void OnReply(Incoming reply) = 0;
  // The connection was lost, refused or could not be made. The owner must call
  // Close. May be called more than once, also after Close.
  virtual void OnLost(const std::shared_ptr<ClientConnection>& connection,
                      const absl::Status& why) = 0;
};

// The state shared by all attempts of a channel; must outlive them.
struct ClientContext {
  TransportParts parts;
  TransportOptions options;
  Address address;
  Identity self;
  std::string destination;
  ClientConnectionOwner* owner = nullptr;
  AsyncScope* scope = nullptr;
  std::shared_ptr<Reclaimer> reclaimer;
};

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  explicit ClientConnection(ClientContext& context);

  // Dials. OnHandshakeDone or OnLost follows, unless Close comes first.
  void Start();

  absl::Status Send(Connection::Outgoing outgoing);
  void Abandon(uint64_t call_id);
  void AbandonStep(const StepTag& step);

  // Closes the connection. None of its events runs after Close has returned.
  void Close();

 private:
  using Shared = std::shared_ptr<ClientConnection>;

  // The events of the two channels. The connection `it` is alive when an event
  // begins, because Close, which precedes the release of the connection, waits
  // for running events. Then the event itself keeps `it` alive, because the
  // event may end the connection.
  class ControlEvents : public WireEvents {
   public:
    explicit ControlEvents(ClientConnection& it) : it_(it) {}
    void OnOpen(ConnectionId connection) override;
    void OnMessage(ConnectionId connection, Frames frames) override;
    void OnClose(ConnectionId connection, const absl::Status& why) override;

   private:
    ClientConnection& it_;
  };
  class BulkEvents : public WireEvents {
   public:
    explicit BulkEvents(ClientConnection& it) : it_(it) {}
    void OnOpen(ConnectionId connection) override;
    void OnMessage(ConnectionId connection, Frames frames) override;
    void OnClose(ConnectionId connection, const absl::Status& why) override;

   private:
    ClientConnection& it_;
  };

  void SendHello(ConnectionId control);
  // If this or MakeConnection returns an error, the connection is lost, and the
  // error is the reason.
  absl::Status ReceiveHelloReply(ConnectionId control, Frames frames);
  absl::Status MakeConnection(ConnectionId control, const HelloReply& reply);
  // Returns an error if the other end violated the protocol.
  absl::Status Deliver(Incoming incoming);
  void DialBulk();
  void Lose(const absl::Status& why);
  // Gives the connection up after kTimeToReadControl, unless it ends earlier.
  void LoseSoon(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reports that the other end violated the protocol.
  void Blame(const absl::Status& why);
  // Logs an invalid message of the other end; returns the reason for OnLost.
  absl::Status LogInvalid(const absl::Status& why) const;
  HeartbeatOptions Heartbeats();
  std::shared_ptr<Connection> connection() const {
    absl::MutexLock lock(&mutex_);
    return connection_;
  }

  ClientContext& context_;
  Heartbeat heartbeat_;
  ControlEvents control_events_{*this};
  BulkEvents bulk_events_{*this};
  mutable absl::Mutex mutex_;
  ConnectionId control_ ABSL_GUARDED_BY(mutex_) = 0;
  ConnectionId bulk_ ABSL_GUARDED_BY(mutex_) = 0;
  bool bulk_dialed_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Address bulk_address_ ABSL_GUARDED_BY(mutex_);
  uint64_t bulk_token_ ABSL_GUARDED_BY(mutex_) = 0;
  // The timer of the handshake; after the handshake, the timer of LoseSoon.
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  // The connection; null until HELLO was answered.
  std::shared_ptr<Connection> connection_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_CLIENT_CONNECTION_H_
