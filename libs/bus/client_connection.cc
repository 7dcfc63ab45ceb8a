#include "libs/bus/client_connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace weft::bus {
namespace {

// The call id of HELLO; calls have larger ids.
constexpr uint64_t kHelloCall = 1;

absl::Status Unavailable(const Address& address, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(address.ToString(), " ", what));
}

}  // namespace

ClientConnection::ClientConnection(ClientContext& context)
    : context_(context), heartbeat_(*context.scope, Heartbeats()) {}

HeartbeatOptions ClientConnection::Heartbeats() {
  HeartbeatOptions options;
  options.timeout = context_.options.peer_timeout;
  options.max_busy = context_.options.max_busy;
  options.send = [this](Blob body) {
    Connection::Outgoing outgoing;
    outgoing.message = {kHeartbeatMethod, std::move(body), {}};
    // An unsent heartbeat counts as a missing one.
    (void)Send(std::move(outgoing));
  };
  options.lose = [this](const absl::Status& why) {
    Lose(Unavailable(context_.address,
                     absl::StrCat("is lost: ", why.message())));
  };
  return options;
}

void ClientConnection::Start() {
  const AsyncScope::Running running(*context_.scope);
  const Shared self = shared_from_this();
  const absl::Time when =
      context_.parts.scheduler->clock().Now() + context_.options.hello_timeout;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    timer_ = context_.scope->ScheduleAt(when, [self] {
      if (self->connection() != nullptr) return;
      self->Lose(Unavailable(self->context_.address, "does not answer"));
    });
  }
  const ConnectionId control = context_.parts.wire->Dial(
      context_.address, ChannelKind::kControl, control_events_);
  bool closed = false;
  {
    absl::MutexLock lock(&mutex_);
    closed = closed_;
    control_ = control;
  }
  if (closed) context_.parts.wire->Close(control);
}

void ClientConnection::SendHello(ConnectionId control) {
  Hello hello;
  hello.self = context_.self;
  hello.destination = context_.destination;
  Envelope envelope;
  envelope.kind = MessageKind::kRequest;
  envelope.method = kHelloMethod;
  envelope.call_id = kHelloCall;
  // If this fails, OnClose follows.
  (void)context_.parts.wire->Send(
      control, {EncodeEnvelope(envelope), EncodeHello(hello)});
}

absl::Status ClientConnection::ReceiveHelloReply(ConnectionId control,
                                                 Frames frames) {
  const auto decoded = DecodeControlMessage(std::move(frames));
  if (!decoded.ok()) return LogInvalid(decoded.status());
  const ControlMessage& message = *decoded;
  const Envelope& envelope = message.envelope;
  if (envelope.kind == MessageKind::kOneWay &&
      envelope.method == kGoodbyeMethod) {
    absl::Status why;
    const absl::Status goodbye = DecodeGoodbye(message.body, &why);
    return goodbye.ok() ? why : LogInvalid(goodbye);
  }
  if (envelope.kind != MessageKind::kReply || envelope.call_id != kHelloCall) {
    return LogInvalid(absl::UnavailableError("it does not answer HELLO"));
  }
  RETURN_IF_ERROR(envelope.error);
  const auto hello_reply = DecodeHelloReply(message.body);
  if (!hello_reply.ok()) return LogInvalid(hello_reply.status());
  const HelloReply& reply = *hello_reply;
  RETURN_IF_ERROR(CheckHelloReply(context_.self, context_.destination, reply));
  RETURN_IF_ERROR(MakeConnection(control, reply));
  context_.owner->OnHandshakeDone(shared_from_this(), reply.self);
  heartbeat_.Start(shared_from_this());
  return absl::OkStatus();
}

absl::Status ClientConnection::MakeConnection(ConnectionId control,
                                              const HelloReply& reply) {
  ConnectionOptions options;
  options.wire = context_.parts.wire;
  options.memory = context_.parts.memory;
  options.traffic = context_.parts.traffic;
  options.control = control;
  options.max_sent_bytes = std::min<uint64_t>(
      reply.max_control_bytes, context_.options.max_control_bytes);
  options.max_received_bytes = context_.options.max_control_bytes;
  options.credit_bytes = reply.credit_bytes;
  options.max_held_bytes = context_.options.max_held_bytes_per_peer;
  options.max_unsent_bytes = context_.options.max_unsent_bytes_per_peer;
  options.inline_bytes = context_.options.inline_bytes;
  options.medium_bytes = context_.options.medium_bytes;
  options.medium_window = context_.options.medium_window;
  options.chunk_bytes = context_.options.chunk_bytes;
  options.reclaimer = context_.reclaimer;
  options.need_bulk = [this] { DialBulk(); };
  Scheduler::TimerId timer = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return absl::CancelledError("Closed");
    connection_ = std::make_shared<Connection>(std::move(options));
    bulk_address_ = {context_.address.host, reply.bulk_port};
    bulk_token_ = reply.bulk_token;
    std::swap(timer, timer_);
  }
  context_.scope->CancelTimer(timer);
  return absl::OkStatus();
}

void ClientConnection::DialBulk() {
  Address address;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || bulk_dialed_) return;
    bulk_dialed_ = true;
    address = bulk_address_;
  }
  const Shared self = shared_from_this();
  const ConnectionId bulk =
      context_.parts.wire->Dial(address, ChannelKind::kBulk, bulk_events_);
  bool closed = false;
  {
    absl::MutexLock lock(&mutex_);
    closed = closed_;
    bulk_ = bulk;
  }
  if (!closed) return;
  // Close runs on another thread, because this thread may run an event, where
  // Close does not wait for the other channel's events.
  context_.scope->Schedule(
      Pool::kControl, [self, bulk] { self->context_.parts.wire->Close(bulk); });
}

absl::Status ClientConnection::Send(Connection::Outgoing outgoing) {
  const std::shared_ptr<Connection> sender = connection();
  if (sender == nullptr) return absl::UnavailableError("Not connected");
  return sender->Send(std::move(outgoing));
}

void ClientConnection::Abandon(uint64_t call_id) {
  if (const auto it = connection()) it->Abandon(call_id);
}

void ClientConnection::AbandonStep(const StepTag& step) {
  if (const auto it = connection()) it->AbandonStep(step);
}

void ClientConnection::Close() {
  ConnectionId control = 0;
  ConnectionId bulk = 0;
  Scheduler::TimerId timer = 0;
  std::shared_ptr<Connection> connection;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    std::swap(control, control_);
    std::swap(bulk, bulk_);
    std::swap(timer, timer_);
    connection = connection_;
  }
  context_.scope->CancelTimer(timer);
  heartbeat_.Stop();
  if (control != 0) context_.parts.wire->Close(control);
  if (bulk != 0) context_.parts.wire->Close(bulk);
  if (connection != nullptr) connection->Close();
}

absl::Status ClientConnection::Deliver(Incoming incoming) {
  const Envelope& envelope = incoming.envelope;
  if (envelope.kind == MessageKind::kReply) {
    context_.owner->OnReply(std::move(incoming));
    return absl::OkStatus();
  }
  if (envelope.kind == MessageKind::kUnknown) return absl::OkStatus();
  const bool one_way = envelope.kind == MessageKind::kOneWay;
  if (one_way && envelope.method == kHeartbeatMethod) {
    return heartbeat_.Receive(shared_from_this(), incoming.message.body);
  }
  if (!one_way || envelope.method != kGoodbyeMethod) {
    return absl::InvalidArgumentError("Bad message: not for a client");
  }
  absl::Status why;
  RETURN_IF_ERROR(DecodeGoodbye(incoming.message.body, &why));
  Lose(why);
  return absl::OkStatus();
}

void ClientConnection::Lose(const absl::Status& why) {
  context_.owner->OnLost(shared_from_this(), why);
}

void ClientConnection::LoseSoon(const absl::Status& why) {
  const absl::Time when =
      context_.parts.scheduler->clock().Now() + kTimeToReadControl;
  absl::MutexLock lock(&mutex_);
  if (closed_) return;
  timer_ = context_.scope->ScheduleAt(
      when, [self = shared_from_this(), why] { self->Lose(why); });
}

void ClientConnection::Blame(const absl::Status& why) { Lose(LogInvalid(why)); }

absl::Status ClientConnection::LogInvalid(const absl::Status& why) const {
  // The reading thread must not wait for a log.
  if (Logger* const logger = context_.parts.logger; logger != nullptr) {
    context_.scope->Schedule(
        Pool::kControl,
        [logger, line = absl::StrCat(
                     "Closing the connection to ", context_.address.ToString(),
                     ": ", why.message())] { logger->Warning(line); });
  }
  // The invalid message is not the caller's fault, and the next attempt may
  // succeed: so the error is UNAVAILABLE.
  return Unavailable(context_.address, absl::StrCat("said: ", why.message()));
}

void ClientConnection::ControlEvents::OnOpen(ConnectionId connection) {
  const AsyncScope::Running running(*it_.context_.scope);
  const Shared self = it_.shared_from_this();
  {
    absl::MutexLock lock(&self->mutex_);
    if (self->closed_) return;
    self->control_ = connection;
  }
  self->SendHello(connection);
}

void ClientConnection::ControlEvents::OnMessage(ConnectionId connection,
                                                Frames frames) {
  const AsyncScope::Running running(*it_.context_.scope);
  const Shared self = it_.shared_from_this();
  const std::shared_ptr<Connection> receiver = self->connection();
  if (receiver == nullptr) {
    const absl::Status handled =
        self->ReceiveHelloReply(connection, std::move(frames));
    if (!handled.ok()) self->Lose(handled);
    return;
  }
  const absl::Status status = receiver->Receive(
      std::move(frames),
      [&](const Envelope& envelope) {
        return self->context_.owner->IsPending(envelope.call_id);
      },
      [&](Incoming incoming) { return self->Deliver(std::move(incoming)); });
  if (!status.ok()) self->Blame(status);
}

void ClientConnection::ControlEvents::OnClose(ConnectionId,
                                              const absl::Status& why) {
  const AsyncScope::Running running(*it_.context_.scope);
  const Shared self = it_.shared_from_this();
  self->Lose(why);
}

void ClientConnection::BulkEvents::OnOpen(ConnectionId connection) {
  const AsyncScope::Running running(*it_.context_.scope);
  const Shared self = it_.shared_from_this();
  uint64_t token = 0;
  {
    absl::MutexLock lock(&self->mutex_);
    // If this object is closed, Close or DialBulk closes the bulk connection.
    if (self->closed_) return;
    // DialBulk may not have set bulk_ yet.
    self->bulk_ = connection;
    token = self->bulk_token_;
  }
  // A chunk of stream 0 belongs to no stream: its offset is the token that
  // tells the other end to which connection this bulk channel belongs. If Send
  // fails, OnClose follows.
  (void)self->context_.parts.wire->Send(connection,
                                        {EncodeChunkHeader({0, token, 0})});
  self->connection()->AttachBulk(connection);
}

void ClientConnection::BulkEvents::OnMessage(ConnectionId, Frames frames) {
  const AsyncScope::Running running(*it_.context_.scope);
  const Shared self = it_.shared_from_this();
  const absl::Status status = self->connection()->ReceiveBulk(
      frames,
      [&](Incoming incoming) { return self->Deliver(std::move(incoming)); });
  if (!status.ok()) self->Blame(status);
}

void ClientConnection::BulkEvents::OnClose(ConnectionId,
                                           const absl::Status& why) {
  const AsyncScope::Running running(*it_.context_.scope);
  const Shared self = it_.shared_from_this();
  self->LoseSoon(why);
}

}  // namespace weft::bus
