#include "libs/bus/zmq/dialed_socket.h"

#include <zmq.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/bus/zmq/resolve_host.h"

namespace weft::bus {

ConnectionId DialedSocket::Dial() {
  const auto self = std::static_pointer_cast<DialedSocket>(shared_from_this());
  absl::MutexLock lock(&mutex_);
  id_ = parts_.table->Add(self);
  Begin();
  // A loop that cannot start would not report the failure as an event.
  if (absl::Status started = parts_.loop->Start(); !started.ok()) {
    End(std::move(started));
    parts_.scheduler->Schedule(Pool::kControl,
                               [self] { self->Poll(kMessages | kChanges); });
    return id_;
  }
  JoinLoop();
  return id_;
}

void DialedSocket::Begin() {
  if (absl::Status opened = OpenSocket(ZMQ_DEALER); !opened.ok()) {
    return End(std::move(opened));
  }
  const ZmqWireOptions& options = *parts_.options;
  // The limit also applies to the resolution of the host name. It is a second
  // longer than the sum of libzmq's own limits, so that libzmq's errors, which
  // say more, come first.
  const absl::Duration limit =
      options.connect_timeout + options.handshake_timeout + absl::Seconds(1);
  const std::weak_ptr<PolledSocket> weak = weak_from_this();
  deadline_ = parts_.scheduler->ScheduleAt(
      Pool::kControl, parts_.scheduler->clock().Now() + limit, [weak] {
        const auto self = std::static_pointer_cast<DialedSocket>(weak.lock());
        if (self == nullptr) return;
        self->EndFromOutside(self->Lost("did not answer in time"));
      });
  if (!IsNumericHost(address_.host)) return ResolveThenConnect();
  if (absl::Status connecting = Connect(address_.host); !connecting.ok()) {
    End(std::move(connecting));
  }
}

void DialedSocket::ResolveThenConnect() {
  const auto self = std::static_pointer_cast<DialedSocket>(shared_from_this());
  parts_.scheduler->Schedule(Pool::kUnbounded, [self] {
    const auto host = ResolveHost(self->address_.host);
    if (!host.ok()) return self->EndFromOutside(host.status());
    absl::Status connecting;
    {
      const Visit visit(*self);
      if (self->closed_) return;
      connecting = self->Connect(*host);
    }
    if (!connecting.ok()) self->EndFromOutside(std::move(connecting));
  });
}

absl::Status DialedSocket::Connect(const std::string& numeric_host) {
  // If no descriptor is free, libzmq reports nothing and the connection stays
  // silent; so check first.
  RETURN_IF_ERROR(parts_.reserve->CheckFree());
  if (absl::StrContains(numeric_host, ':')) socket_.Set(ZMQ_IPV6, 1);
  const std::string endpoint = TcpEndpoint(numeric_host, address_.port);
  if (zmq_connect(socket_.get(), endpoint.c_str()) == 0) {
    return absl::OkStatus();
  }
  return Lost(absl::StrCat("cannot be dialed: ", zmq_strerror(errno)));
}

absl::Status DialedSocket::Lost(absl::string_view what) const {
  return absl::UnavailableError(
      absl::StrCat("The task at ", address_.ToString(), " ", what));
}

void DialedSocket::ReadChanges() {
  ConnectionChange change;
  while (monitor_.Next(change)) {
    switch (change.kind) {
      case ConnectionChange::Kind::kUp:
        up_ = true;
        break;
      case ConnectionChange::Kind::kUnreached:
        End(Lost("cannot be reached"));
        break;
      case ConnectionChange::Kind::kRefused:
        End(Lost("does not speak Weft's protocol, or closed the connection"));
        break;
      case ConnectionChange::Kind::kDown:
        End(Lost("closed the connection, or the network lost it"));
        break;
      case ConnectionChange::Kind::kListening:
      case ConnectionChange::Kind::kAccepted:
        break;
    }
  }
}

void DialedSocket::End(absl::Status why) {
  if (end_.ok()) end_ = std::move(why);
}

void DialedSocket::EndFromOutside(absl::Status why) {
  Visit visit(*this);
  if (closed_ || opened_) return;
  End(std::move(why));
  visit.WakeLoop();
}

bool DialedSocket::NextDelivery(unsigned& signals, Delivery& delivery) {
  delivery.connection = id_;
  delivery.events = &events_;
  // Each change is signaled, because nothing else uses the monitor's socket and
  // each read empties it.
  if ((signals & kChanges) != 0) ReadChanges();
  signals &= ~kChanges;
  // The end of the connection is reported after the delivery of all messages
  // that were received before it.
  if (up_ && !opened_) return OpenNext(delivery);
  if (opened_ && MessageNext(delivery)) return true;
  return !end_.ok() && CloseNext(delivery);
}

bool DialedSocket::OpenNext(Delivery& delivery) {
  opened_ = true;
  parts_.scheduler->CancelTimer(deadline_);
  FlushOutbox();
  delivery.kind = Delivery::Kind::kOpen;
  return true;
}

bool DialedSocket::MessageNext(Delivery& delivery) {
  delivery.kind = Delivery::Kind::kMessage;
  return socket_.ReceiveFrames(delivery.frames, nullptr);
}

bool DialedSocket::CloseNext(Delivery& delivery) {
  parts_.scheduler->CancelTimer(deadline_);
  delivery.kind = Delivery::Kind::kClose;
  delivery.why = end_;
  CloseSocket();
  return true;
}

bool DialedSocket::HasWork() const { return !end_.ok() || !outbox_.empty(); }

LoopMember::Next DialedSocket::Rest() {
  if (!opened_) {
    // Nothing is received before the handshake, so libzmq's signal must be
    // consumed here. Otherwise the descriptor would stay readable.
    (void)socket_.HasInput();
    return Next::kSleep;
  }
  if (outbox_.empty()) return Next::kSleep;
  FlushOutbox();
  if (socket_.HasInput()) return Next::kMore;
  return outbox_.empty() ? Next::kSleep : Next::kRetry;
}

absl::Status DialedSocket::Send(ConnectionId, Frames frames) {
  Visit visit(*this);
  RETURN_IF_ERROR(end_);
  if (closed_) return Lost("is not connected any more");
  absl::Status sent = SendLocked(frames);
  visit.LookForInput();
  if (!sent.ok() || (opened_ && !outbox_.empty())) visit.WakeLoop();
  return sent;
}

absl::Status DialedSocket::SendLocked(Frames& frames) {
  if (!opened_ || !outbox_.empty()) return SendLater(frames);
  switch (socket_.Send(nullptr, frames)) {
    case ZmqSocket::Sent::kSent:
      return absl::OkStatus();
    case ZmqSocket::Sent::kFull:
      return SendLater(frames);
    case ZmqSocket::Sent::kGone:
      break;
  }
  End(Lost("closed the connection, or the network lost it"));
  return end_;
}

absl::Status DialedSocket::SendLater(Frames& frames) {
  outbox_bytes_ += SizeOf(frames);
  if (outbox_bytes_ <= parts_.options->max_unsent_bytes) {
    outbox_.push_back(std::move(frames));
    return absl::OkStatus();
  }
  End(Lost("does not read the bytes that are sent to it"));
  return end_;
}

void DialedSocket::FlushOutbox() {
  while (!outbox_.empty()) {
    const auto sent = socket_.Send(nullptr, outbox_.front());
    if (sent == ZmqSocket::Sent::kFull) return;
    outbox_bytes_ -= SizeOf(outbox_.front());
    outbox_.pop_front();
    if (sent == ZmqSocket::Sent::kGone) {
      End(Lost("closed the connection, or the network lost it"));
    }
  }
}

void DialedSocket::Close(ConnectionId connection) {
  RunningEvent event;
  std::deque<Frames> unsent;
  {
    const Visit visit(*this);
    parts_.scheduler->CancelTimer(deadline_);
    CloseSocket();
    outbox_.swap(unsent);
    event = FindRunningEvent(connection);
  }
  LeaveTable(connection, event);
}

}  // namespace weft::bus
