#include "libs/bus/zmq/listening_socket.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/bus/zmq/resolve_host.h"

namespace weft::bus {
namespace {

// The maximum number of messages that are handled before other threads may take
// the lock.
constexpr int kReceivesInARow = 256;
// The interval for checking unidentified connections. A check takes some
// microseconds for each of them.
constexpr absl::Duration kInspectionInterval = absl::Milliseconds(200);
constexpr absl::Duration kInspectionIntervalOfEach = absl::Microseconds(500);
// The maximum number of bytes of a connection that are not messages: those of
// the handshake, and those of the heartbeats in a second.
constexpr double kBytesOfHandshake = 64 << 10;
constexpr double kBytesOfLife = 4 << 10;
// The number of handshakes after which libzmq is asked for its current number.
constexpr uint64_t kMostGuesses = 16;
// The fraction of the descriptors that silent connections may use.
constexpr int64_t kSilentPart = 4;
// How long Shutdown waits for the port to be free. libzmq closes the port on a
// thread of its own.
constexpr absl::Duration kUnbindLimit = absl::Seconds(5);

absl::Status BindError(const Address& address, int error) {
  const std::string text = absl::StrCat("Cannot listen at ", address.ToString(),
                                        ": ", zmq_strerror(error));
  switch (error) {
    case EADDRINUSE:
      return absl::AlreadyExistsError(text);
    case EADDRNOTAVAIL:
    case ENODEV:
    case EINVAL:
      return absl::InvalidArgumentError(
          absl::StrCat(text, "; the host must be one of this machine"));
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

// Returns the local TCP port of a connected socket, or -1 if the descriptor is
// not a connected TCP socket.
int LocalPort(int descriptor) {
  sockaddr_storage local = {};
  socklen_t size = sizeof(local);
  sockaddr* const address = reinterpret_cast<sockaddr*>(&local);
  if (getsockname(descriptor, address, &size) != 0) return -1;
  if (local.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<sockaddr_in*>(&local)->sin_port);
  }
  if (local.ss_family != AF_INET6) return -1;
  return ntohs(reinterpret_cast<sockaddr_in6*>(&local)->sin6_port);
}

// Returns the number of bytes that the frames take on the network. A frame
// consists of flags, length and content (rfc.zeromq.org/spec/23).
uint64_t TravellingBytes(const Frames& frames) {
  uint64_t bytes = 0;
  for (const Blob& frame : frames) {
    bytes += frame.size() + (frame.size() <= 255 ? 2 : 9);
  }
  return bytes;
}

// How long data sent to a connection that is cut may wait for its peer to read
// it. The system would keep megabytes for minutes.
constexpr int kUnsentLimitMs = 5000;

void LimitUnsent(int descriptor) {
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnsentLimitMs,
             sizeof(kUnsentLimitMs));
}

// Makes the system drop unsent data when the descriptor is closed, and reset
// the connection: otherwise a peer that does not read would not be notified of
// the end.
void DropUnsent(int descriptor) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

// Returns the bytes that the program has read of a TCP connection; 0 if
// unknown.
uint64_t BytesRead(int descriptor) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  int unread = 0;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(tcp_info, tcpi_bytes_received) + sizeof(uint64_t) ||
      ioctl(descriptor, SIOCINQ, &unread) != 0) {
    return 0;
  }
  const uint64_t received = info.tcpi_bytes_received;
  return received - std::min<uint64_t>(received, std::max(0, unread));
}

absl::Status Lost(bool reads = true) {
  return absl::UnavailableError(
      reads ? "The other end closed the connection, or the network lost it"
            : "The other end does not read the bytes that are sent to it");
}

}  // namespace

absl::StatusOr<Address> ListeningSocket::Listen(const Address& address) {
  RETURN_IF_ERROR(parts_.loop->Start());
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(OpenSocket(ZMQ_ROUTER));
  accepts_left_ = parts_.options->max_accepts_at_once;
  absl::Status bound = LearnFirstIdentity();
  if (bound.ok()) bound = Bind(address);
  if (!bound.ok()) {
    asking_.Close();
    CloseSocket();
    return bound;
  }
  Address found = address;
  found.port = static_cast<uint16_t>(port_);
  JoinLoop();
  if (listener_ >= 0) WatchBacklog(listener_);
  return found;
}

absl::Status ListeningSocket::Bind(const Address& address) {
  const auto host = ResolveHost(address.host);
  if (!host.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("Cannot listen at ",
                                                   address.ToString(), ": ",
                                                   host.status().message()));
  }
  if (absl::StrContains(*host, ':')) socket_.Set(ZMQ_IPV6, 1);
  const std::string endpoint = TcpEndpoint(*host, address.port);
  if (zmq_bind(socket_.get(), endpoint.c_str()) != 0) {
    return BindError(address, errno);
  }
  endpoint_ = socket_.LastEndpoint();
  ASSIGN_OR_RETURN(const Address bound,
                   Address::Parse(absl::StripPrefix(endpoint_, "tcp://")));
  port_ = bound.port;
  FindListener();
  return absl::OkStatus();
}

// Accepting must not block: of two threads that see the same connection, the
// second finds no connection.
void ListeningSocket::FindListener() {
  ReadChanges();
  if (listener_ < 0) return;
  fcntl(listener_, F_SETFL, fcntl(listener_, F_GETFL) | O_NONBLOCK);
}

void ListeningSocket::Shutdown() {
  const std::shared_ptr<Event> port_is_free = parts_.scheduler->NewEvent();
  RunningEvent event;
  decltype(accepted_) accepted;
  std::deque<Delivery> pending;
  {
    Visit visit(*this);
    visit.WakeLoop();
    port_is_free_ = port_is_free;
    zmq_unbind(socket_.get(), endpoint_.c_str());
    asking_.Close();
    parts_.scheduler->CancelTimer(std::exchange(inspection_, 0));
    accepted.swap(accepted_);
    pending.swap(pending_);
    event = FindRunningEvent(0);
  }
  for (const auto& [id, connection] : accepted) parts_.table->Remove(id);
  if (event.end != nullptr) event.end->Wait();
  port_is_free->WaitUntil(parts_.scheduler->clock().Now() + kUnbindLimit);
  const Visit visit(*this);
  CloseSocket();
}

bool ListeningSocket::NextDelivery(unsigned& signals, Delivery& delivery) {
  // These signals are remembered, because each is reported only once.
  if ((signals & kBacklog) != 0) looks_at_backlog_ = true;
  signals &= ~kBacklog;
  if (PopPending(delivery)) return true;
  if ((signals & kChanges) != 0) ReadChanges();
  signals &= ~kChanges;
  if (port_is_free_ != nullptr) return false;
  if (looks_at_backlog_) {
    looks_at_backlog_ = parts_.reserve->RefuseWaiting(listener_);
  }
  CutClosed();
  more_to_receive_ = true;
  for (int i = 0; i < kReceivesInARow; ++i) {
    if (!Receive()) {
      more_to_receive_ = false;
      FinishLives();
      return PopPending(delivery);
    }
    // Other connections keep sending. So many messages have arrived since the
    // ends that those of the ended connections must be among them.
    if (received_since_ending_ > parts_.options->max_queued_control) {
      FinishLives();
    }
    if (PopPending(delivery)) return true;
  }
  return false;
}

void ListeningSocket::ReadChanges() {
  ConnectionChange change;
  while (monitor_.Next(change)) {
    switch (change.kind) {
      case ConnectionChange::Kind::kListening:
        listener_ = change.descriptor;
        break;
      case ConnectionChange::Kind::kAccepted:
        Accept(change.descriptor);
        break;
      case ConnectionChange::Kind::kUp:
        lives_.ShakeHands();
        break;
      case ConnectionChange::Kind::kRefused:
        lives_.Refuse();
        break;
      case ConnectionChange::Kind::kDown:
        if (Life life = lives_.Disconnect(change.descriptor)) {
          ending_.push_back(std::move(life));
        }
        break;
      case ConnectionChange::Kind::kUnreached:
        if (port_is_free_ != nullptr) port_is_free_->Set();
        break;
    }
  }
}

void ListeningSocket::Accept(int descriptor) {
  const absl::Time now = parts_.scheduler->clock().Now();
  const Life life = lives_.Accept(descriptor, now);
  ArmInspection();
  const auto limit = static_cast<size_t>(parts_.options->max_connections);
  if (lives_.size() > limit || !TakeAccept(now) ||
      !parts_.reserve->HasRoomFor(descriptor)) {
    return Refuse(life);
  }
  silent_.push_back(life);
  RefuseOldestSilent(now);
}

// Many honest peers may connect in one turn of the loop, which sees all
// connections before the first message of any: so connections are refused only
// after they have had time to send it. TakeAccept bounds their number.
void ListeningSocket::RefuseOldestSilent(absl::Time now) {
  std::erase_if(silent_,
                [](const Life& it) { return it->claimed || it->over; });
  const auto most = static_cast<size_t>(
      std::min<int64_t>(parts_.options->max_silent_connections,
                        DescriptorReserve::Limit() / kSilentPart));
  while (silent_.size() > most &&
         now - silent_.front()->accepted >= parts_.options->silent_grace) {
    Refuse(silent_.front());
    silent_.pop_front();
  }
}

void ListeningSocket::Refuse(const Life& life) {
  life->refused = true;
  to_cut_.push_back(life);
}

bool ListeningSocket::TakeAccept(absl::Time now) {
  const ZmqWireOptions& options = *parts_.options;
  const double seconds = absl::ToDoubleSeconds(now - last_accept_);
  last_accept_ = now;
  accepts_left_ = std::min<double>(
      options.max_accepts_at_once,
      accepts_left_ + std::max(0.0, seconds) * options.max_accepts_per_second);
  if (accepts_left_ < 1) return false;
  accepts_left_ -= 1;
  return true;
}

absl::Status ListeningSocket::LearnFirstIdentity() {
  own_endpoint_ = absl::StrCat("inproc://own-", parts_.context->NextNumber());
  ZmqSocket::Route route;
  Frames frames;
  const bool learned = zmq_bind(socket_.get(), own_endpoint_.c_str()) == 0 &&
                       AskForIdentity() && socket_.ReceiveRoute(route) &&
                       socket_.ReceiveFrames(frames, nullptr) &&
                       LearnIdentity(route.id, frames);
  if (!learned) {
    return absl::ResourceExhaustedError(
        absl::StrCat("A socket cannot connect to itself: ", zmq_strerror(errno),
                     "; raise the limit of open files (ulimit -n)"));
  }
  first_ = given_;
  return absl::OkStatus();
}

bool ListeningSocket::AskForIdentity() {
  if (asking_) return true;
  auto asking = ZmqSocket::Open(*parts_.context, ZMQ_DEALER);
  if (!asking.ok()) return false;
  asking_ = *std::move(asking);
  asking_.Set(ZMQ_LINGER, 0);
  const std::unique_ptr<Random> random = NewSystemRandom();
  password_ = absl::StrCat(random->Next(), ".", random->Next());
  handshakes_when_asked_ = lives_.handshakes();
  if (zmq_connect(asking_.get(), own_endpoint_.c_str()) == 0 &&
      asking_.Send(nullptr, {Blob::FromString(password_)}) ==
          ZmqSocket::Sent::kSent) {
    return true;
  }
  asking_.Close();
  return false;
}

bool ListeningSocket::LearnIdentity(RoutingId route, const Frames& frames) {
  if (!asking_ || frames.size() != 1 || frames[0].view() != password_) {
    return false;
  }
  asking_.Close();
  given_ = route;
  handshakes_when_given_ = handshakes_when_asked_;
  return true;
}

// At most one identity is assigned per handshake, in order, and one to each
// socket that asks. The numbers wrap.
bool ListeningSocket::IsGiven(RoutingId route, const Life& life) {
  const auto since_first = static_cast<uint32_t>(route - first_);
  const auto given_since_first = static_cast<uint32_t>(given_ - first_);
  if (since_first == 0) return false;
  if (since_first <= given_since_first) return true;
  const uint64_t more = since_first - given_since_first;
  const uint64_t asked = asking_ ? 1 : 0;
  if (more > lives_.handshakes() - handshakes_when_given_ + asked) return false;
  given_ = route;
  handshakes_when_given_ = life->handshakes_before;
  return true;
}

void ListeningSocket::ArmInspection() {
  if (inspection_ != 0 || port_is_free_ != nullptr) return;
  const std::weak_ptr<PolledSocket> weak = weak_from_this();
  inspection_ = parts_.scheduler->ScheduleAt(
      Pool::kControl,
      parts_.scheduler->clock().Now() + kInspectionInterval +
          static_cast<int64_t>(lives_.size()) * kInspectionIntervalOfEach,
      [weak] {
        const auto self =
            std::static_pointer_cast<ListeningSocket>(weak.lock());
        if (self != nullptr) self->Inspect();
      });
}

void ListeningSocket::Inspect() {
  Visit visit(*this);
  inspection_ = 0;
  if (closed_ || port_is_free_ != nullptr) return;
  ReadChanges();
  const absl::Time now = parts_.scheduler->clock().Now();
  for (const Life& life : lives_.Current()) {
    if (life->refused || !IsWelcome(life, now)) Refuse(life);
  }
  RefuseOldestSilent(now);
  // Asks for a new identity, because that keeps the range of identities small
  // that a peer could guess.
  if (lives_.handshakes() > handshakes_when_given_ + kMostGuesses) {
    (void)AskForIdentity();
  }
  if (!lives_.empty()) ArmInspection();
  // The loop must handle the changes that were read here, and the cuts.
  visit.WakeLoop();
}

bool ListeningSocket::IsWelcome(const Life& life, absl::Time now) const {
  const int port = port_;
  const absl::Duration age = now - life->accepted;
  if (!life->claimed && age > 2 * parts_.options->handshake_timeout) {
    return false;
  }
  uint64_t read = 0;
  parts_.reserve->WithCopy(life->descriptor, [&](int descriptor) {
    if (LocalPort(descriptor) == port) read = BytesRead(descriptor);
  });
  const double besides =
      kBytesOfHandshake + kBytesOfLife * absl::ToDoubleSeconds(age);
  return static_cast<double>(read) <=
         static_cast<double>(life->delivered_bytes) + besides +
             static_cast<double>(parts_.options->max_unread_bytes);
}

// Reads the monitor first, because an ended connection must not be cut: its
// descriptor may belong to another connection now.
void ListeningSocket::CutClosed() {
  if (to_cut_.empty()) return;
  ReadChanges();
  for (const Life& life : to_cut_) Cut(life);
  to_cut_.clear();
}

void ListeningSocket::Cut(const Life& life) {
  if (life->over) return;
  const int port = port_;
  // A duplicate of the descriptor refers to the same socket during the check.
  parts_.reserve->WithCopy(life->descriptor, [&](int descriptor) {
    if (LocalPort(descriptor) != port) return;
    if (life->refused) {
      DropUnsent(descriptor);
    } else {
      LimitUnsent(descriptor);
    }
    shutdown(descriptor, SHUT_RDWR);
  });
}

bool ListeningSocket::Receive() {
  ZmqSocket::Route route;
  if (!socket_.ReceiveRoute(route)) return false;
  const auto known = routes_.find(route.id);
  const bool is_new = known == routes_.end();
  Frames frames;
  int descriptor = -1;
  if (!socket_.ReceiveFrames(frames, is_new ? &descriptor : nullptr)) {
    return false;
  }
  if (!ending_.empty()) ++received_since_ending_;
  if (is_new && LearnIdentity(route.id, frames)) return true;
  if (route.foreign) {
    RefuseForeign(descriptor);
  } else if (!is_new) {
    Queue(Delivery::Kind::kMessage, known->second, std::move(frames));
  } else if (Accepted* const accepted = Admit(route.id, descriptor)) {
    Queue(Delivery::Kind::kOpen, accepted->id);
    Queue(Delivery::Kind::kMessage, accepted->id, std::move(frames));
  }
  return true;
}

void ListeningSocket::RefuseForeign(int descriptor) {
  ReadChanges();
  Life unconfirmed;
  const Life life = lives_.Claim(descriptor, unconfirmed);
  if (life != nullptr) Cut(life);
}

ListeningSocket::Accepted* ListeningSocket::Admit(RoutingId route,
                                                  int descriptor) {
  ReadChanges();
  Life unconfirmed;
  Life life = lives_.Claim(descriptor, unconfirmed);
  // A connection without a descriptor was closed before libzmq examined it.
  if (life == nullptr) return nullptr;
  if (unconfirmed != nullptr) Cut(unconfirmed);
  if (life->refused || !IsGiven(route, life)) {
    Cut(life);
    return nullptr;
  }
  auto accepted = std::make_unique<Accepted>();
  accepted->id = parts_.table->Add(shared_from_this());
  accepted->route = route;
  life->connection = accepted->id;
  accepted->life = std::move(life);
  routes_[route] = accepted->id;
  route_of_[accepted->id] = route;
  Accepted* const result = accepted.get();
  accepted_[result->id] = std::move(accepted);
  return result;
}

void ListeningSocket::Queue(Delivery::Kind kind, ConnectionId connection,
                            Frames frames) {
  absl::Status why;  // of a close
  if (kind == Delivery::Kind::kClose) {
    const auto found = accepted_.find(connection);
    why = Lost(found == accepted_.end() || found->second->reads);
  }
  pending_.push_back(
      {kind, connection, &events_, std::move(frames), std::move(why)});
}

bool ListeningSocket::PopPending(Delivery& delivery) {
  while (!pending_.empty()) {
    Delivery next = std::move(pending_.front());
    pending_.pop_front();
    const auto found = accepted_.find(next.connection);
    if (found == accepted_.end()) continue;  // closed meanwhile
    if (next.kind == Delivery::Kind::kClose) found->second->over = true;
    found->second->life->delivered_bytes += TravellingBytes(next.frames);
    delivery = std::move(next);
    return true;
  }
  return false;
}

void ListeningSocket::FinishLives() {
  received_since_ending_ = 0;
  for (const ConnectionId id : lost_) Queue(Delivery::Kind::kClose, id);
  lost_.clear();
  for (const Life& life : ending_) {
    lives_.Erase(life);
    if (life->connection == 0) continue;
    Queue(Delivery::Kind::kClose, life->connection);
    const auto route = route_of_.find(life->connection);
    if (route == route_of_.end()) continue;
    routes_.erase(route->second);
    route_of_.erase(route);
  }
  ending_.clear();
}

std::shared_ptr<void> ListeningSocket::Forget(ConnectionId connection) {
  stalled_.erase(connection);
  const auto found = accepted_.find(connection);
  if (found == accepted_.end()) return nullptr;
  std::shared_ptr<void> kept = std::move(found->second);
  accepted_.erase(found);
  return kept;
}

bool ListeningSocket::HasWork() const {
  return !pending_.empty() || !ending_.empty() || !lost_.empty() ||
         !to_cut_.empty() || !stalled_.empty() || looks_at_backlog_;
}

LoopMember::Next ListeningSocket::Rest() {
  if (port_is_free_ != nullptr) {
    // Nothing is received any more, so libzmq's signal must be consumed here,
    // as
    // in DialedSocket::Rest.
    (void)socket_.HasInput();
    return Next::kSleep;
  }
  if (more_to_receive_) return Next::kMore;
  const Next idle = looks_at_backlog_ ? Next::kRetry : Next::kSleep;
  if (stalled_.empty()) return idle;
  FlushOutboxes();
  if (!lost_.empty() || socket_.HasInput()) return Next::kMore;
  return stalled_.empty() ? idle : Next::kRetry;
}

absl::Status ListeningSocket::Send(ConnectionId connection, Frames frames) {
  Visit visit(*this);
  const auto found = accepted_.find(connection);
  if (closed_ || found == accepted_.end() || found->second->over) return Lost();
  absl::Status sent = SendLocked(*found->second, frames);
  visit.LookForInput();
  if (!sent.ok() || !found->second->outbox.empty()) visit.WakeLoop();
  return sent;
}

absl::Status ListeningSocket::SendLocked(Accepted& accepted, Frames& frames) {
  const auto sent = accepted.outbox.empty()
                        ? socket_.Send(&accepted.route, frames)
                        : ZmqSocket::Sent::kFull;
  if (sent == ZmqSocket::Sent::kFull) return SendLater(accepted, frames);
  if (sent != ZmqSocket::Sent::kGone) return absl::OkStatus();
  accepted.over = true;
  lost_.push_back(accepted.id);
  return Lost();
}

absl::Status ListeningSocket::SendLater(Accepted& accepted, Frames& frames) {
  accepted.outbox_bytes += SizeOf(frames);
  accepted.reads = accepted.outbox_bytes <= parts_.options->max_unsent_bytes;
  if (accepted.reads) {
    accepted.outbox.push_back(std::move(frames));
    stalled_.insert(accepted.id);
    return absl::OkStatus();
  }
  stalled_.erase(accepted.id);
  accepted.over = true;
  lost_.push_back(accepted.id);
  Refuse(accepted.life);
  return Lost(/*reads=*/false);
}

void ListeningSocket::FlushOutboxes() {
  std::vector<ConnectionId> done;
  for (const ConnectionId id : stalled_) {
    const auto found = accepted_.find(id);
    if (found == accepted_.end() || Flush(*found->second)) done.push_back(id);
  }
  for (const ConnectionId id : done) stalled_.erase(id);
}

bool ListeningSocket::Flush(Accepted& accepted) {
  while (!accepted.outbox.empty()) {
    const auto sent = socket_.Send(&accepted.route, accepted.outbox.front());
    if (sent == ZmqSocket::Sent::kFull) return false;
    accepted.outbox_bytes -= SizeOf(accepted.outbox.front());
    accepted.outbox.pop_front();
    if (sent == ZmqSocket::Sent::kSent) continue;
    if (!std::exchange(accepted.over, true)) lost_.push_back(accepted.id);
    return true;
  }
  return true;
}

void ListeningSocket::Close(ConnectionId connection) {
  RunningEvent event;
  std::unique_ptr<Accepted> accepted;
  {
    Visit visit(*this);
    const auto found = accepted_.find(connection);
    if (found != accepted_.end()) {
      accepted = std::move(found->second);
      accepted_.erase(found);
      stalled_.erase(connection);
      if (!closed_) to_cut_.push_back(accepted->life);
      visit.WakeLoop();
    }
    event = FindRunningEvent(connection);
  }
  LeaveTable(connection, event);
}

}  // namespace weft::bus
