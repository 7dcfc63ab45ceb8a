#include "libs/protocol/master/session_leases.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"

namespace weft::protocol {

SessionLeases::SessionLeases(Scheduler& scheduler, absl::Duration lease,
                             Expire expire, int64_t max_sessions_per_client)
    : scheduler_(scheduler),
      lease_(lease),
      expire_(std::move(expire)),
      max_sessions_per_client_(max_sessions_per_client) {}

SessionLeases::~SessionLeases() { End(); }

void SessionLeases::End() {
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [incarnation, client] : clients_) Disarm(client);
    clients_.clear();
  }
  in_flight_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
}

void SessionLeases::Drain() {
  absl::MutexLock lock(&mutex_);
  is_draining_ = true;
  std::vector<uint64_t> orphaned;
  for (auto& [incarnation, client] : clients_) {
    if (client.timer == 0) continue;
    Disarm(client);
    orphaned.push_back(incarnation);
  }
  for (const uint64_t incarnation : orphaned) Settle(incarnation);
}

void SessionLeases::OnConnect(const bus::Peer& peer) {
  absl::MutexLock lock(&mutex_);
  clients_[peer.identity.incarnation].connections.insert(peer.id);
  Settle(peer.identity.incarnation);
}

int SessionLeases::OnDisconnect(const bus::Peer& peer) {
  absl::MutexLock lock(&mutex_);
  const auto client = clients_.find(peer.identity.incarnation);
  if (client == clients_.end()) return 0;
  client->second.connections.erase(peer.id);
  const int orphans = client->second.connections.empty()
                          ? static_cast<int>(client->second.sessions.size())
                          : 0;
  Settle(peer.identity.incarnation);
  return orphans;
}

absl::Status SessionLeases::Reserve(const bus::Peer& peer) {
  absl::MutexLock lock(&mutex_);
  Client& client = clients_[peer.identity.incarnation];
  const int64_t open =
      static_cast<int64_t>(client.sessions.size()) + client.reserved;
  if (open >= max_sessions_per_client_) {
    Settle(peer.identity.incarnation);
    return absl::ResourceExhaustedError(
        absl::StrCat("this client has ", open,
                     " sessions open, which is its limit. Close some, or raise "
                     "max_sessions_per_client there."));
  }
  ++client.reserved;
  return absl::OkStatus();
}

void SessionLeases::OnNotCreated(const bus::Peer& peer) {
  absl::MutexLock lock(&mutex_);
  Release(peer.identity.incarnation);
  Settle(peer.identity.incarnation);
}

void SessionLeases::Release(uint64_t incarnation) {
  --clients_[incarnation].reserved;
}

void SessionLeases::OnCreated(const bus::Peer& peer, uint64_t session,
                              bool is_monitored) {
  const uint64_t incarnation = peer.identity.incarnation;
  absl::MutexLock lock(&mutex_);
  Release(incarnation);
  Client& client = clients_[incarnation];
  client.sessions.insert(session);
  if (is_monitored) client.monitored.insert(session);
  incarnation_of_session_[session] = incarnation;
  Settle(incarnation);
}

void SessionLeases::OnClosed(uint64_t session) {
  absl::MutexLock lock(&mutex_);
  const auto owner = incarnation_of_session_.find(session);
  if (owner == incarnation_of_session_.end()) return;
  const uint64_t incarnation = owner->second;
  incarnation_of_session_.erase(owner);
  const auto client = clients_.find(incarnation);
  if (client == clients_.end()) return;
  client->second.sessions.erase(session);
  client->second.monitored.erase(session);
  Settle(incarnation);
}

bool SessionLeases::HasMonitored(uint64_t incarnation) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto client = clients_.find(incarnation);
  return client != clients_.end() && !client->second.monitored.empty();
}

absl::Duration SessionLeases::LeaseOf(const Client& client) const {
  if (!is_draining_) return lease_;
  return client.monitored.empty() ? absl::ZeroDuration()
                                  : std::min(lease_, kDrainLease);
}

bool SessionLeases::Owns(const bus::Peer& peer, uint64_t session) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto owner = incarnation_of_session_.find(session);
  return owner != incarnation_of_session_.end() &&
         owner->second == peer.identity.incarnation;
}

void SessionLeases::OnReset(absl::FunctionRef<bool(uint64_t session)> is_open) {
  std::vector<uint64_t> sessions;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [session, incarnation] : incarnation_of_session_) {
      sessions.push_back(session);
    }
  }
  // Sorted, so that a simulation is reproducible.
  std::sort(sessions.begin(), sessions.end());
  for (const uint64_t session : sessions) {
    if (!is_open(session)) OnClosed(session);
  }
}

int SessionLeases::num_orphans() const {
  absl::MutexLock lock(&mutex_);
  size_t count = 0;
  for (const auto& [incarnation, client] : clients_) {
    if (client.timer != 0) count += client.sessions.size();
  }
  return static_cast<int>(count);
}

void SessionLeases::Settle(uint64_t incarnation) {
  const auto it = clients_.find(incarnation);
  Client& client = it->second;
  const bool orphaned = client.connections.empty() && !client.sessions.empty();
  if (!orphaned) Disarm(client);
  if (client.connections.empty() && client.sessions.empty() &&
      client.reserved == 0) {
    clients_.erase(it);
    return;
  }
  if (!orphaned || client.timer != 0) return;
  in_flight_.Begin();
  const uint64_t number = ++client.timers_so_far;
  client.timer = scheduler_.ScheduleAt(
      Pool::kControl, scheduler_.clock().Now() + LeaseOf(client),
      [this, incarnation, number] {
        Expired(incarnation, number);
        in_flight_.End();
      });
}

void SessionLeases::Disarm(Client& client) {
  if (client.timer == 0) return;
  // A closure that runs already will see that it is late.
  if (scheduler_.CancelTimer(client.timer)) in_flight_.End();
  client.timer = 0;
}

void SessionLeases::Expired(uint64_t incarnation, uint64_t timer_number) {
  absl::btree_set<uint64_t> sessions;
  {
    absl::MutexLock lock(&mutex_);
    const auto client = clients_.find(incarnation);
    if (client == clients_.end() || client->second.timer == 0 ||
        client->second.timers_so_far != timer_number) {
      return;
    }
    client->second.timer = 0;
    sessions.swap(client->second.sessions);
    client->second.monitored.clear();
    Settle(incarnation);
    for (const uint64_t session : sessions) {
      incarnation_of_session_.erase(session);
    }
  }
  for (const uint64_t session : sessions) expire_(session);
}

}  // namespace weft::protocol
