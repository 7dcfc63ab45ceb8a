// MasterService: lets clients reach a server's Master over the bus: turns
// incoming messages of that role into calls, and what comes of them into
// replies.
//
// A run is cancelled when its client gives up or its connection is lost; the
// client's sessions outlive the connection by a lease (session_leases.h). An
// unknown session is the master's to refuse.
//
// Threads: OnRequest as bus::Handler says. RunCallable runs on the thread that
// reads, all else on the blocking pool, since a Master may wait.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_SERVICE_H_
#define WEFT_LIBS_PROTOCOL_MASTER_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"
#include "libs/bus/transport.h"
#include "libs/protocol/master.h"
#include "libs/protocol/session_leases.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

// All outlive the service.
struct MasterServiceOptions {
  Master* master = nullptr;
  Scheduler* scheduler = nullptr;
  Allocator* allocator = nullptr;  // of feeds
  // How long a session outlives its client's connection.
  absl::Duration lease = absl::Seconds(60);
  Logger* logger = nullptr;  // may be null
};

class MasterService {
 public:
  explicit MasterService(const MasterServiceOptions& options);
  // Waits until all that the master was asked for is done; no more comes.
  // Sessions that are open stay so.
  ~MasterService();

  // Whether messages of this method are the role's.
  static bool Handles(uint8_t method);
  static bool IsFast(uint8_t method);

  // Of all connections of the server; fast.
  void OnConnect(const bus::Peer& peer) { leases_.OnConnect(peer); }
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why);
  // REQUIRES: Handles(request.method).
  void OnRequest(std::shared_ptr<bus::IncomingCall> call, bus::Message request);
  // Names the feed that there was no room for. REQUIRES: likewise.
  void OnRefused(std::shared_ptr<bus::IncomingCall> call, bus::Message request,
                 size_t which, const absl::Status& why);
  // The role has none; they are dropped.
  void OnOneWay(const bus::Peer& /*peer*/, bus::Message /*message*/,
                const absl::Status& /*landed*/) {}

  // Sessions whose clients are gone and whose leases run.
  int num_orphans() const { return leases_.num_orphans(); }

 private:
  using CallPtr = std::shared_ptr<bus::IncomingCall>;

  struct Run;
  void RunCallable(CallPtr call, bus::Message request);
  void ReplyWithFetches(Run& run, const absl::Status& status);
  // All others: waits, and says what to reply.
  absl::StatusOr<bus::Message> Serve(bus::IncomingCall& call,
                                     bus::Message request);
  absl::StatusOr<bus::Message> CreateSession(bus::IncomingCall& call,
                                             bus::Message request);
  absl::StatusOr<bus::Message> ExtendSession(bus::Message request);
  absl::StatusOr<bus::Message> CloseSession(bus::Message request);
  absl::StatusOr<bus::Message> MakeCallable(bus::Message request);
  absl::StatusOr<bus::Message> ReleaseCallable(bus::Message request);
  absl::StatusOr<bus::Message> Reset(bus::Message request);
  absl::StatusOr<bus::Message> ListDevices(bus::Message request);
  void Expire(uint64_t session);

  const MasterServiceOptions options_;
  InFlight in_flight_;
  SessionLeases leases_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_SERVICE_H_
