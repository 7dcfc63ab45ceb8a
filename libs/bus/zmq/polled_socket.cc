#include "libs/bus/zmq/polled_socket.h"

#include <zmq.h>

#include <utility>

#include "libs/base/status.h"

namespace weft::bus {
namespace {

constexpr absl::Duration kNeverReconnects = absl::Hours(24);

// libzmq wraps a received TTL above 65 s.
constexpr absl::Duration kMaxTtl = absl::Seconds(60);

// Connections that the system has accepted and libzmq has not. A choice: as
// many as an endpoint admits by default (TransportOptions::max_connections), so
// that all may dial at once; Linux lowers it to net.core.somaxconn, 4096 by
// default.
constexpr int kListenBacklog = 4096;

// TCP's own probes: after 30 s without data, three of them, 10 s apart, so that
// a dead machine is detected within a minute. A choice, not derived from
// peer_timeout: with its default of 8 s libzmq's heartbeats detect it sooner,
// and the probes matter only if it is longer than a minute (up to an hour).
constexpr int kKeepaliveIdle = 30;      // seconds
constexpr int kKeepaliveInterval = 10;  // seconds
constexpr int kKeepaliveProbes = 3;

// The maximum number of events of a socket that are handled before other
// sockets are served.
constexpr int kControlTurn = 64;
constexpr int kBulkTurn = 8;

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void SetChannelOptions(const ChannelParts& parts, ZmqSocket& socket) {
  const ZmqWireOptions& options = *parts.options;
  const bool control = parts.channel_kind == ChannelKind::kControl;
  const int queue =
      control ? options.max_queued_control : options.max_queued_bulk;
  socket.Set64(ZMQ_AFFINITY, control ? 1 : 2);
  socket.Set(ZMQ_SNDHWM, control ? options.max_unsent_control : queue);
  socket.Set(ZMQ_RCVHWM, queue);
  socket.Set64(ZMQ_MAXMSGSIZE,
               static_cast<uint64_t>(control ? options.max_control_frame_bytes
                                             : options.max_bulk_frame_bytes));
  socket.Set(ZMQ_LINGER, control ? 0 : Milliseconds(options.bulk_linger));
}

void SetCommonOptions(const ZmqWireOptions& options, ZmqSocket& socket) {
  // One socket, one connection: a lost one must not be replaced unnoticed.
  // libzmq does not reconnect before the socket is closed. If reconnecting is
  // turned off (-1), or pipes are kept only while there is a connection
  // (ZMQ_IMMEDIATE), it drops what was received before the connection ended and
  // was not read yet: a last reply, a goodbye.
  socket.Set(ZMQ_RECONNECT_IVL, Milliseconds(kNeverReconnects));
  socket.Set(ZMQ_HEARTBEAT_IVL, Milliseconds(options.heartbeat_interval));
  socket.Set(ZMQ_HEARTBEAT_TIMEOUT, Milliseconds(options.heartbeat_timeout));
  socket.Set(ZMQ_HEARTBEAT_TTL,
             Milliseconds(HeartbeatTtl(options.heartbeat_timeout)));
  socket.Set(ZMQ_HANDSHAKE_IVL, Milliseconds(options.handshake_timeout));
  socket.Set(ZMQ_CONNECT_TIMEOUT, Milliseconds(options.connect_timeout));
  socket.Set(ZMQ_BACKLOG, kListenBacklog);
  socket.Set(ZMQ_TCP_KEEPALIVE, 1);
  socket.Set(ZMQ_TCP_KEEPALIVE_IDLE, kKeepaliveIdle);
  socket.Set(ZMQ_TCP_KEEPALIVE_INTVL, kKeepaliveInterval);
  socket.Set(ZMQ_TCP_KEEPALIVE_CNT, kKeepaliveProbes);
}

}  // namespace

// A process sends heartbeats three times per timeout (libs/runtime/process), so
// an unanswered one ends the connection after 4/3 timeouts at most, which is
// peer_timeout. The TTL, a second check, comes an interval later; that it is
// one interval is a choice. A TTL that is shorter than the interval would end
// connections on which nothing else is sent.
absl::Duration HeartbeatTtl(absl::Duration timeout) {
  const absl::Duration ttl = timeout * 5 / 3;
  return ttl <= kMaxTtl ? ttl : absl::ZeroDuration();
}

absl::Status PolledSocket::OpenSocket(int type) {
  ASSIGN_OR_RETURN(socket_, ZmqSocket::Open(*parts_.context, type));
  SetChannelOptions(parts_, socket_);
  SetCommonOptions(*parts_.options, socket_);
  if (type == ZMQ_ROUTER) socket_.Set(ZMQ_ROUTER_MANDATORY, 1);
  return monitor_.Watch(*parts_.context, socket_);
}

void PolledSocket::JoinLoop() {
  const Descriptors watched = descriptors();
  member_ =
      parts_.loop->Add(shared_from_this(), watched.messages, watched.changes);
}

void PolledSocket::CloseSocket() {
  if (closed_) return;
  closed_ = true;
  const Descriptors watched = descriptors();
  parts_.loop->Remove(member_, watched.messages, watched.changes);
  monitor_.Stop(socket_);
  socket_.Close();
}

PolledSocket::Descriptors PolledSocket::descriptors() const {
  return {socket_.Get(ZMQ_FD), monitor_.descriptor()};
}

LoopMember::Next PolledSocket::Poll(unsigned signals) {
  polling_ = true;
  const int turn =
      parts_.channel_kind == ChannelKind::kControl ? kControlTurn : kBulkTurn;
  std::optional<Next> next;
  for (int i = 0; i < turn && !next.has_value(); ++i) {
    Delivery delivery;
    next = BeginDelivery(i == 0, signals, delivery);
    if (!next.has_value()) Deliver(delivery);
  }
  EndDelivery();
  polling_ = false;
  return next.value_or(Next::kMore);
}

std::optional<LoopMember::Next> PolledSocket::BeginDelivery(
    bool first, unsigned& signals, Delivery& delivery) {
  EndDelivery();
  if (first) {
    mutex_.Lock();
  } else if (!LockUnlessVisited()) {
    return if_turned_away_;
  }
  const auto instead = ChooseDelivery(signals, delivery);
  mutex_.Unlock();
  return instead;
}

std::optional<LoopMember::Next> PolledSocket::ChooseDelivery(
    unsigned& signals, Delivery& delivery) {
  if (closed_) return Next::kSleep;
  if (!NextDelivery(signals, delivery)) return Rest();
  if_turned_away_ = HasWork() ? Next::kMore : Next::kSleep;
  absl::MutexLock lock(&delivery_mutex_);
  delivering_ = delivery.connection;
  forget_after_ = delivery.kind == Delivery::Kind::kClose;
  return std::nullopt;
}

// If the lock is taken, the loop serves other sockets first. A caller that an
// event has woken often sends at once; to wait for its lock here would cost
// both threads a thread switch.
bool PolledSocket::LockUnlessVisited() {
  if (mutex_.TryLock()) return true;
  turned_away_.exchange(true);
  if (!mutex_.TryLock()) return false;
  turned_away_.store(false);
  return true;
}

PolledSocket::Visit::Visit(PolledSocket& socket) : socket_(socket) {
  socket.mutex_.Lock();
}

PolledSocket::Visit::~Visit() {
  socket_.mutex_.Unlock();
  // If there is no input now, all later events signal the descriptor.
  const bool turned_away = socket_.turned_away_.exchange(false);
  if (wake_ || (turned_away && !looked_)) {
    socket_.parts_.loop->Wake(socket_.member_);
  }
}

void PolledSocket::Visit::LookForInput() {
  socket_.mutex_.AssertHeld();  // for the lifetime of the visit
  looked_ = true;
  // If this thread runs an event of the loop, the loop continues to receive
  // after the event.
  if (socket_.parts_.loop->IsCurrentThread() && socket_.polling_) return;
  if (socket_.HasInput()) wake_ = true;
}

void PolledSocket::Deliver(Delivery& delivery) {
  WireEvents& events = *delivery.events;
  switch (delivery.kind) {
    case Delivery::Kind::kOpen:
      return events.OnOpen(delivery.connection);
    case Delivery::Kind::kMessage:
      return events.OnMessage(delivery.connection, std::move(delivery.frames));
    case Delivery::Kind::kClose:
      return events.OnClose(delivery.connection, delivery.why);
  }
}

void PolledSocket::EndDelivery() {
  ConnectionId closed = 0;
  {
    absl::MutexLock lock(&delivery_mutex_);
    if (delivering_ == 0) return;
    if (forget_after_) closed = delivering_;
    delivering_ = 0;
    forget_after_ = false;
    for (const auto& waiting : waiting_) waiting->Set();
    waiting_.clear();
  }
  if (closed == 0) return;
  parts_.table->Remove(closed);
  std::shared_ptr<void> kept;
  absl::MutexLock lock(&mutex_);
  kept = Forget(closed);
}

PolledSocket::RunningEvent PolledSocket::FindRunningEvent(
    ConnectionId connection) {
  absl::MutexLock lock(&delivery_mutex_);
  RunningEvent event;
  event.runs =
      delivering_ != 0 && (connection == 0 || connection == delivering_);
  if (!event.runs) return event;
  // Threads that deliver events must not wait here: two of them that wait for
  // each other would deadlock.
  if (parts_.loop->IsCurrentThread() || parts_.other_loop->IsCurrentThread()) {
    forget_after_ = true;
    return event;
  }
  event.end = parts_.scheduler->NewEvent();
  waiting_.push_back(event.end);
  return event;
}

void PolledSocket::LeaveTable(ConnectionId connection,
                              const RunningEvent& event) {
  if (event.runs && event.end == nullptr) return;
  if (event.end != nullptr) event.end->Wait();
  parts_.table->Remove(connection);
}

}  // namespace weft::bus
