#include "libs/bus/endpoint.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/status.h"
#include "libs/bus/async_scope.h"
#include "libs/bus/envelope.h"
#include "libs/bus/server_connection.h"

namespace weft::bus {
namespace {

class WireEndpoint : public Endpoint {
 public:
  WireEndpoint(const TransportParts& parts, const TransportOptions& options,
               const Identity& self, Handler& handler)
      : scope_(*parts.scheduler),
        broken_rules_(*parts.scheduler, parts.logger) {
    context_.parts = parts;
    context_.options = options;
    context_.self = self;
    context_.handler = &handler;
    context_.scope = &scope_;
    context_.reclaimer = std::make_shared<Reclaimer>(*parts.scheduler);
    context_.forget = [this](ServerConnection& connection, ConnectionId bulk) {
      Forget(connection, bulk);
    };
  }

  ~WireEndpoint() override {
    const absl::Status why = TaskHasEnded(context_.self.task);
    context_.draining.store(true);
    DisconnectAll(why);
    control_listener_.reset();
    bulk_listener_.reset();
    // Disconnects the connections that were accepted meanwhile.
    DisconnectAll(why);
    CancelBulkTimers();
    scope_.Wait();
    context_.reclaimer->WaitUntilNone();
  }

  absl::Status Listen(const Address& address) {
    Wire& wire = *context_.parts.wire;
    ASSIGN_OR_RETURN(bulk_listener_,
                     wire.Listen({address.host, 0}, ChannelKind::kBulk, bulk_));
    context_.bulk_port = bulk_listener_->address().port;
    ASSIGN_OR_RETURN(control_listener_,
                     wire.Listen(address, ChannelKind::kControl, control_));
    // Connections may arrive before address_ is set, but no HELLO is answered
    // with another address.
    address_ = control_listener_->address();
    return absl::OkStatus();
  }

  const Address& address() const override { return address_; }
  void Drain() override { context_.draining.store(true); }
  // Drops the step's incoming messages. Usually there are none. An endpoint
  // sends no messages of steps.
  void AbandonStep(const StepTag& step) override {
    if (context_.incoming_for_steps->IsZero()) return;
    for (const Shared& connection : Connections()) {
      connection->AbandonStep(step);
    }
  }

 private:
  using Shared = std::shared_ptr<ServerConnection>;

  class ControlEvents : public WireEvents {
   public:
    explicit ControlEvents(WireEndpoint& endpoint) : endpoint_(endpoint) {}
    void OnOpen(ConnectionId connection) override {
      const AsyncScope::Running running(endpoint_.scope_);
      endpoint_.OnControlOpen(connection);
    }
    void OnMessage(ConnectionId connection, Frames frames) override {
      const AsyncScope::Running running(endpoint_.scope_);
      endpoint_.OnControl(connection, std::move(frames));
    }
    void OnClose(ConnectionId connection, const absl::Status& why) override {
      const AsyncScope::Running running(endpoint_.scope_);
      if (const Shared found = endpoint_.Find(connection)) {
        found->Disconnect(why);
      }
    }

   private:
    WireEndpoint& endpoint_;
  };

  class BulkEvents : public WireEvents {
   public:
    explicit BulkEvents(WireEndpoint& endpoint) : endpoint_(endpoint) {}
    void OnOpen(ConnectionId connection) override {
      const AsyncScope::Running running(endpoint_.scope_);
      endpoint_.OnBulkOpen(connection);
    }
    void OnMessage(ConnectionId connection, Frames frames) override {
      const AsyncScope::Running running(endpoint_.scope_);
      endpoint_.OnBulk(connection, frames);
    }
    void OnClose(ConnectionId connection, const absl::Status& why) override {
      const AsyncScope::Running running(endpoint_.scope_);
      if (const Shared found = endpoint_.TakeBulk(connection)) {
        found->OnBulkEnded(why);
      }
    }

   private:
    WireEndpoint& endpoint_;
  };

  // A bulk connection. Its owner is known once the connection has sent its
  // token.
  struct BulkConnection {
    Shared owner;
    Scheduler::TimerId timer = 0;
  };

  Shared Find(ConnectionId control) {
    absl::MutexLock lock(&mutex_);
    auto it = connections_.find(control);
    return it == connections_.end() ? nullptr : it->second;
  }

  void OnControlOpen(ConnectionId control) {
    const uint64_t token = context_.parts.random->NextId();
    Shared connection;
    {
      absl::MutexLock lock(&mutex_);
      const bool is_one_too_many =
          connections_.size() >=
          static_cast<size_t>(std::max(0, context_.options.max_connections));
      connection = std::make_shared<ServerConnection>(
          context_, control, ++last_peer_id_, token, is_one_too_many);
      connections_.emplace(control, connection);
      tokens_.emplace(token, connection);
    }
    connection->StartTimer();
  }

  void OnControl(ConnectionId control, Frames frames) {
    const Shared connection = Find(control);
    if (connection == nullptr) return;
    const absl::Status status = connection->OnControl(std::move(frames));
    if (!status.ok()) Drop(*connection, status);
  }

  // Disconnects a peer that has violated the protocol.
  void Drop(ServerConnection& connection, const absl::Status& why) {
    const std::string& task = connection.peer().identity.task;
    broken_rules_.Log(
        Severity::kWarning,
        absl::StrCat("Closing the connection of ",
                     task.empty() ? "a client" : task, ": ", why.message()));
    connection.Disconnect(why);
  }

  void OnBulkOpen(ConnectionId bulk) {
    absl::MutexLock lock(&mutex_);
    const absl::Time when = context_.parts.scheduler->clock().Now() +
                            context_.options.hello_timeout;
    bulk_connections_[bulk].timer =
        scope_.ScheduleAt(when, [this, bulk] { DropIfUnowned(bulk); });
  }

  void DropIfUnowned(ConnectionId bulk) {
    {
      absl::MutexLock lock(&mutex_);
      auto it = bulk_connections_.find(bulk);
      if (it == bulk_connections_.end() || it->second.owner != nullptr) return;
      bulk_connections_.erase(it);
    }
    context_.parts.wire->Close(bulk);
  }

  void OnBulk(ConnectionId bulk, const Frames& frames) {
    Shared owner;
    {
      absl::MutexLock lock(&mutex_);
      auto it = bulk_connections_.find(bulk);
      if (it == bulk_connections_.end()) return;
      owner = it->second.owner;
    }
    if (owner == nullptr) {
      AttachBulk(bulk, frames);
      return;
    }
    const absl::Status status = owner->OnBulk(frames);
    if (!status.ok()) Drop(*owner, status);
  }

  void AttachBulk(ConnectionId bulk, const Frames& frames) {
    const auto chunk = DecodeChunk(frames);
    Shared owner;
    Scheduler::TimerId timer = 0;
    {
      absl::MutexLock lock(&mutex_);
      auto connection = bulk_connections_.find(bulk);
      if (connection == bulk_connections_.end()) return;
      std::swap(timer, connection->second.timer);
      if (chunk.ok() && chunk->info.stream == 0) {
        auto it = tokens_.find(chunk->info.offset);
        if (it != tokens_.end()) owner = it->second;
      }
      connection->second.owner = owner;
    }
    scope_.CancelTimer(timer);
    if (owner != nullptr && owner->AttachBulk(bulk)) return;
    {
      absl::MutexLock lock(&mutex_);
      bulk_connections_.erase(bulk);
    }
    context_.parts.wire->Close(bulk);
  }

  Shared TakeBulk(ConnectionId bulk) {
    Shared owner;
    Scheduler::TimerId timer = 0;
    {
      absl::MutexLock lock(&mutex_);
      auto it = bulk_connections_.find(bulk);
      if (it == bulk_connections_.end()) return nullptr;
      owner = std::move(it->second.owner);
      timer = it->second.timer;
      bulk_connections_.erase(it);
    }
    scope_.CancelTimer(timer);
    return owner;
  }

  void Forget(ServerConnection& connection, ConnectionId bulk) {
    std::vector<Shared> dropped;  // released without the lock
    absl::MutexLock lock(&mutex_);
    auto it = connections_.find(connection.control());
    if (it != connections_.end()) {
      dropped.push_back(std::move(it->second));
      connections_.erase(it);
    }
    tokens_.erase(connection.bulk_token());
    bulk_connections_.erase(bulk);
  }

  std::vector<Shared> Connections() {
    std::vector<Shared> connections;
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, connection] : connections_) {
      connections.push_back(connection);
    }
    return connections;
  }

  void DisconnectAll(const absl::Status& why) {
    for (const Shared& connection : Connections()) {
      connection->Disconnect(why, /*goodbye=*/true);
    }
  }

  void CancelBulkTimers() {
    std::vector<Scheduler::TimerId> timers;
    {
      absl::MutexLock lock(&mutex_);
      for (const auto& [id, bulk] : bulk_connections_) {
        timers.push_back(bulk.timer);
      }
    }
    for (const Scheduler::TimerId timer : timers) {
      scope_.CancelTimer(timer);
    }
  }

  ServerContext context_;
  AsyncScope scope_;
  LimitedLog broken_rules_;
  ControlEvents control_{*this};
  BulkEvents bulk_{*this};
  Address address_;
  absl::Mutex mutex_;
  uint64_t last_peer_id_ ABSL_GUARDED_BY(mutex_) = 0;
  // Ordered, so that a simulation is reproducible.
  std::map<ConnectionId, Shared> connections_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Shared> tokens_ ABSL_GUARDED_BY(mutex_);
  std::map<ConnectionId, BulkConnection> bulk_connections_
      ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<WireListener> bulk_listener_;
  std::unique_ptr<WireListener> control_listener_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Endpoint>> NewEndpoint(
    const TransportParts& parts, const TransportOptions& options,
    const Address& address, const Identity& self, Handler& handler) {
  auto endpoint = std::make_unique<WireEndpoint>(parts, options, self, handler);
  RETURN_IF_ERROR(endpoint->Listen(address));
  return endpoint;
}

}  // namespace weft::bus
