// MasterService serves a server's Master to clients over the bus: it converts
// incoming messages of that role to calls, and their results to replies.
//
// A run is cancelled when its client gives up or its connection is lost; the
// client's sessions outlive the connection by a lease (session_leases.h).
// Sessions belong to their client: to other clients they are unknown. The
// master refuses unknown sessions.
//
// Threads: OnRequest as in bus::Handler. RunCallable runs on the reading
// thread, on the compute pool if its feeds take long to read, or on the graph
// pool if it returns metadata. Graphs are read and compiled on the graph pool,
// because that takes long; calls that end work run on the control pool;
// everything else runs on the compute pool. No thread waits for the Master.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_MASTER_SERVICE_H_
#define WEFT_LIBS_PROTOCOL_MASTER_MASTER_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/handler.h"
#include "libs/protocol/master/master.h"
#include "libs/protocol/master/session_leases.h"
#include "libs/protocol/method_table.h"
#include "libs/protocol/pending_replies.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

// Its pointers must outlive the service.
struct MasterServiceOptions {
  Master* master = nullptr;
  Scheduler* scheduler = nullptr;
  Allocator* allocator = nullptr;  // of feeds
  // The server's own task, for errors.
  std::string task;
  // How long a session outlives its client's connection.
  absl::Duration lease = absl::Seconds(60);
  int64_t max_sessions_per_client = std::numeric_limits<int64_t>::max();
  Logger* logger = nullptr;  // may be null
};

class MasterService : public RoleService<MasterService> {
 public:
  explicit MasterService(const MasterServiceOptions& options);
  // Waits until all calls of the master are done; no new ones may arrive. Open
  // sessions stay open.
  ~MasterService();

  static constexpr char kRole[] = "a master";
  static const MethodRow<MasterService>* FindMethod(uint8_t method);

  // Stops waiting for clients that are lost now or later: only those with
  // monitored sessions may return, and only soon (SessionLeases).
  void Drain() { leases_.Drain(); }
  // Whether the client of this incarnation is served while the task drains.
  bool HasMonitoredSession(uint64_t incarnation) const {
    return leases_.HasMonitored(incarnation);
  }
  // Called for all connections of the server; fast.
  void OnConnect(const bus::Peer& peer) { leases_.OnConnect(peer); }
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why);
  // Fails the call and names the feed that exceeded the limits. REQUIRES:
  // Handles(request.method).
  void OnRefused(std::shared_ptr<bus::IncomingCall> call, bus::Message request,
                 size_t which, const absl::Status& why);
  // The number of sessions whose clients are gone and whose leases run.
  int num_orphans() const { return leases_.num_orphans(); }

 private:
  using CallPtr = std::shared_ptr<bus::IncomingCall>;

  struct Run;
  void RunCallable(CallPtr call, bus::Message request);
  // Metadata takes long to create and to write: not on a reading thread.
  void RunForMetadata(std::unique_ptr<Run> running, CallableRun run);
  // Sessions belong to the client that created them. Returns ABORTED, so that a
  // client whose lease has expired creates a new one.
  absl::Status CheckOwner(const bus::IncomingCall& call,
                          uint64_t session) const;
  // For a request whose contents take long to read: whether the session exists;
  // checked before memory is allocated for the contents.
  absl::Status CheckSession(const bus::IncomingCall& call,
                            const bus::Message& request) const;
  void ReplyWithFetches(Run& run, const absl::Status& status);
  void CreateSession(CallPtr call, bus::Message request);
  void OnCreated(bus::IncomingCall& call, absl::StatusOr<uint64_t> session,
                 bool is_monitored);
  void ExtendSession(CallPtr call, bus::Message request);
  void CloseSession(CallPtr call, bus::Message request);
  void MakeCallable(CallPtr call, bus::Message request);
  void ReleaseCallable(CallPtr call, bus::Message request);
  void Reset(CallPtr call, bus::Message request);
  void ListDevices(CallPtr call, bus::Message request);
  // Serves a request that takes long to read, on the graph pool.
  template <void (MasterService::*kServe)(std::shared_ptr<bus::IncomingCall>,
                                          bus::Message)>
  void Later(CallPtr call, bus::Message request);
  // Ends a session that its client does not know of, or has abandoned.
  void CloseUnused(uint64_t session);
  void Expire(uint64_t session);

  const MasterServiceOptions options_;
  PendingReplies replies_;
  SessionLeases leases_;
  LimitedLog gone_clients_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_MASTER_SERVICE_H_
