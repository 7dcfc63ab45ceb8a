#include "libs/protocol/session_leases.h"

#include <utility>

#include "libs/base/clock.h"

namespace weft::protocol {

SessionLeases::SessionLeases(Scheduler& scheduler, absl::Duration lease,
                             Expire expire)
    : scheduler_(scheduler), lease_(lease), expire_(std::move(expire)) {}

SessionLeases::~SessionLeases() {
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [incarnation, client] : clients_) Disarm(client);
    clients_.clear();
  }
  in_flight_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
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

void SessionLeases::OnCreated(const bus::Peer& peer, uint64_t session) {
  const uint64_t incarnation = peer.identity.incarnation;
  absl::MutexLock lock(&mutex_);
  clients_[incarnation].sessions.insert(session);
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
  Settle(incarnation);
}

void SessionLeases::OnReset() {
  absl::MutexLock lock(&mutex_);
  incarnation_of_session_.clear();
  std::vector<uint64_t> incarnations;
  for (auto& [incarnation, client] : clients_) {
    client.sessions.clear();
    incarnations.push_back(incarnation);
  }
  for (const uint64_t incarnation : incarnations) Settle(incarnation);
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
  if (client.connections.empty() && client.sessions.empty()) {
    clients_.erase(it);
  }
  if (!orphaned || client.timer != 0) return;
  in_flight_.Begin();
  const uint64_t number = ++client.timers_so_far;
  client.timer = scheduler_.ScheduleAt(
      scheduler_.clock().Now() + lease_, [this, incarnation, number] {
        scheduler_.Schedule(Pool::kBlocking, [this, incarnation, number] {
          Expired(incarnation, number);
          in_flight_.End();
        });
      });
}

void SessionLeases::Disarm(Client& client) {
  if (client.timer == 0) return;
  // One that runs already will see that it is late.
  if (scheduler_.CancelTimer(client.timer)) in_flight_.End();
  client.timer = 0;
}

void SessionLeases::Expired(uint64_t incarnation, uint64_t timer_number) {
  absl::flat_hash_set<uint64_t> sessions;
  {
    absl::MutexLock lock(&mutex_);
    const auto client = clients_.find(incarnation);
    if (client == clients_.end() || client->second.timer == 0 ||
        client->second.timers_so_far != timer_number) {
      return;
    }
    sessions = std::move(client->second.sessions);
    clients_.erase(client);
    for (const uint64_t session : sessions) {
      incarnation_of_session_.erase(session);
    }
  }
  for (const uint64_t session : sessions) expire_(session);
}

}  // namespace weft::protocol
