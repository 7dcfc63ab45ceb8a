// SessionLeases records which client opened which session of a master, and how
// long a session outlives its client's connection. A client that reconnects in
// time, as the same incarnation, keeps its sessions. The number of sessions per
// client is limited.
//
// While the server drains, a lost client with monitored sessions is waited for
// only briefly (kDrainLease), any other client not at all.
//
// Threads: thread-safe. `expire` is called without a lock held, on the control
// pool: it must not wait.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_SESSION_LEASES_H_
#define WEFT_LIBS_PROTOCOL_MASTER_SESSION_LEASES_H_

#include <cstdint>
#include <limits>
#include <map>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/message.h"

namespace weft::protocol {

class SessionLeases {
 public:
  using Expire = absl::AnyInvocable<void(uint64_t session)>;

  // Long enough to redial a connection that was cut. A chief that was asked to
  // stop tries to save for half of it (docs/operations/stopping.md).
  static constexpr absl::Duration kDrainLease = absl::Seconds(2);

  // `expire` ends a session whose lease has expired.
  SessionLeases(
      Scheduler& scheduler, absl::Duration lease, Expire expire,
      int64_t max_sessions_per_client = std::numeric_limits<int64_t>::max());
  ~SessionLeases();
  // Shortens all running and later leases, see above.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops running leases; `expire` is not called any more when it has returned.
  // Blocks. The object must not be used afterwards.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Duration lease() const { return lease_; }

  void OnConnect(const bus::Peer& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the number of sessions that lost their client.
  int OnDisconnect(const bus::Peer& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Must be called before a session is created, and followed by OnCreated or
  // OnNotCreated. Returns RESOURCE_EXHAUSTED at the limit of the peer's client.
  absl::Status Reserve(const bus::Peer& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnNotCreated(const bus::Peer& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  // The lease begins at once if the peer is gone already.
  void OnCreated(const bus::Peer& peer, uint64_t session,
                 bool is_monitored = false) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnClosed(uint64_t session) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the peer's client has created the session, over this connection or
  // an earlier one, and still has it.
  bool Owns(const bus::Peer& peer, uint64_t session) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the client of this incarnation has a monitored session, or had one
  // just before it was lost.
  bool HasMonitored(uint64_t incarnation) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets the sessions that are not open any more.
  void OnReset(absl::FunctionRef<bool(uint64_t session)> is_open)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The number of sessions that will be closed if their clients do not return;
  // for tests and tools.
  int num_orphans() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Client {
    absl::flat_hash_set<uint64_t> connections;
    absl::btree_set<uint64_t> sessions;       // in a deterministic order
    absl::flat_hash_set<uint64_t> monitored;  // of these
    int64_t reserved = 0;                     // sessions about to be created
    Scheduler::TimerId timer = 0;  // 0: connected, or without sessions
    uint64_t timers_so_far = 0;    // to recognize a late timer
  };
  // By incarnation; ordered, so that a simulation can be repeated.
  using Clients = std::map<uint64_t, Client>;

  absl::Duration LeaseOf(const Client& client) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Sets or cancels its timer, or forgets it, according to its state.
  void Settle(uint64_t incarnation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Expired(uint64_t incarnation, uint64_t timer_number)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Release(uint64_t incarnation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Disarm(Client& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Scheduler& scheduler_;
  const absl::Duration lease_;
  Expire expire_;
  const int64_t max_sessions_per_client_;
  InFlight in_flight_;  // timers and their effects
  mutable absl::Mutex mutex_;
  Clients clients_ ABSL_GUARDED_BY(mutex_);
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<uint64_t, uint64_t> incarnation_of_session_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_SESSION_LEASES_H_
