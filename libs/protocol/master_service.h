// MasterService: lets clients reach a server's Master over the bus: turns
// incoming messages of that role into calls, and what comes of them into
// replies.
//
// A run is cancelled when its client gives up or its connection is lost; the
// client's sessions outlive the connection by a lease (session_leases.h), and
// are its own: to other clients they are unknown. An unknown session is the
// master's to refuse.
//
// Threads: OnRequest as bus::Handler says. RunCallable runs on the thread that
// reads, or where its feeds take long to read on the compute pool, or where it
// returns metadata on the graph pool. Graphs are read and compiled on the graph
// pool, for they take their time; what ends work runs on the control pool; all
// else on the compute pool. No thread waits for the Master.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_SERVICE_H_
#define WEFT_LIBS_PROTOCOL_MASTER_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/limited_log.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"
#include "libs/bus/handler.h"
#include "libs/protocol/master.h"
#include "libs/protocol/method_table.h"
#include "libs/protocol/pending_replies.h"
#include "libs/protocol/session_leases.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

// What it points to outlives the service.
struct MasterServiceOptions {
  Master* master = nullptr;
  Scheduler* scheduler = nullptr;
  Allocator* allocator = nullptr;  // of feeds
  // The own task, for errors.
  std::string task;
  // How long a session outlives its client's connection.
  absl::Duration lease = absl::Seconds(60);
  int64_t max_sessions_per_client = std::numeric_limits<int64_t>::max();
  Logger* logger = nullptr;  // may be null
};

class MasterService : public RoleService<MasterService> {
 public:
  explicit MasterService(const MasterServiceOptions& options);
  // Waits until all that the master was asked for is done; no more comes.
  // Sessions that are open stay so.
  ~MasterService();

  static constexpr char kRole[] = "a master";
  static const MethodRow<MasterService>* FindMethod(uint8_t method);

  // Clients that are lost from here on, or were before, are not waited for:
  // only those with monitored sessions may come back, and soon (SessionLeases).
  void Drain() { leases_.Drain(); }
  // Whether the client of this incarnation is served while the task drains.
  bool HasMonitoredSession(uint64_t incarnation) const {
    return leases_.HasMonitored(incarnation);
  }
  // Of all connections of the server; fast.
  void OnConnect(const bus::Peer& peer) { leases_.OnConnect(peer); }
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why);
  // Names the feed that there was no room for.
  // REQUIRES: Handles(request.method).
  void OnRefused(std::shared_ptr<bus::IncomingCall> call, bus::Message request,
                 size_t which, const absl::Status& why);
  // Sessions whose clients are gone and whose leases run.
  int num_orphans() const { return leases_.num_orphans(); }

 private:
  using CallPtr = std::shared_ptr<bus::IncomingCall>;

  struct Run;
  void RunCallable(CallPtr call, bus::Message request);
  // Metadata takes long to make and to write: not on a thread that reads.
  void RunForMetadata(std::unique_ptr<Run> running, CallableRun run);
  // Sessions are those of the client that has created them. ABORTED, so that a
  // client whose lease is over begins another one.
  absl::Status CheckOwner(const bus::IncomingCall& call,
                          uint64_t session) const;
  // Of a request that brings what takes long to read: whether there is such a
  // session; asked before memory is taken for what it brings.
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
  // Serves a request that takes its time to read, on the graph pool.
  template <void (MasterService::*kServe)(std::shared_ptr<bus::IncomingCall>,
                                          bus::Message)>
  void Later(CallPtr call, bus::Message request);
  // Ends a session that its client does not know of, or has left.
  void CloseUnused(uint64_t session);
  void Expire(uint64_t session);

  const MasterServiceOptions options_;
  PendingReplies replies_;
  SessionLeases leases_;
  LimitedLog gone_clients_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_SERVICE_H_
