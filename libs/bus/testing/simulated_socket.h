// SimulatedSocket is a PolledSocket over a pipe in memory instead of libzmq's.
// It signals its descriptor as libzmq does: only for input that arrives after
// its reader has found the pipe empty, and any use of the socket may consume
// the signal.
//
// Threads: as PolledSocket; Arrive is called by the network.
#ifndef WEFT_LIBS_BUS_TESTING_SIMULATED_SOCKET_H_
#define WEFT_LIBS_BUS_TESTING_SIMULATED_SOCKET_H_

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "libs/base/random.h"
#include "libs/bus/testing/simulated_poller.h"
#include "libs/bus/wire.h"
#include "libs/bus/zmq/polled_socket.h"

namespace weft::bus {

class SimulatedSocket : public PolledSocket {
 public:
  struct Options {
    // The loop's; must outlive it, as the others.
    SimulatedPoller* poller = nullptr;
    Random* random = nullptr;
    WireEvents* events = nullptr;
    int descriptor = 0;  // and the next number
    // Called with each message being sent.
    std::function<void(Frames frames)> network;
  };

  SimulatedSocket(const ChannelParts& parts, Options options)
      : PolledSocket(parts), options_(std::move(options)) {}

  ConnectionId Open() {
    const auto self =
        std::static_pointer_cast<SimulatedSocket>(shared_from_this());
    absl::MutexLock lock(&mutex_);
    id_ = parts_.table->Add(self);
    JoinLoop();
    return id_;
  }

  // A message arrives from the network.
  void Arrive(Frames frames) {
    pipe_.push_back(std::move(frames));
    if (!std::exchange(is_reader_asleep_, false)) return;
    is_signalled_ = true;
    options_.poller->SetReadable(options_.descriptor, true);
  }

  // Takes the lock for an operation that receives nothing, such as a late
  // close.
  void Touch() { const Visit visit(*this); }

  absl::Status Send(ConnectionId, Frames frames) override {
    Visit visit(*this);
    if (closed_) return absl::UnavailableError("The socket is closed");
    // libzmq checks its signals occasionally.
    if (Chance(2) == 0) TakeSignal();
    outbox_.push_back(std::move(frames));
    if (outbox_.size() == 1) Flush();
    visit.LookForInput();
    if (!outbox_.empty()) visit.WakeLoop();
    return absl::OkStatus();
  }

  void Close(ConnectionId connection) override {
    RunningEvent event;
    {
      const Visit visit(*this);
      CloseSocket();
      event = FindRunningEvent(connection);
    }
    LeaveTable(connection, event);
  }

 private:
  Descriptors descriptors() const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {options_.descriptor, options_.descriptor + 1};
  }
  bool HasInput() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TakeSignal();
    return HasMessage();
  }

  bool NextDelivery(unsigned&, Delivery& delivery) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!HasMessage()) TakeSignal();
    if (!HasMessage()) return false;
    options_.poller->Progressed();
    delivery.kind = Delivery::Kind::kMessage;
    delivery.connection = id_;
    delivery.events = options_.events;
    delivery.frames = std::move(pipe_.front());
    pipe_.pop_front();
    return true;
  }

  Next Rest() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (outbox_.empty()) return Next::kSleep;
    Flush();
    if (HasInput()) return Next::kMore;
    return outbox_.empty() ? Next::kSleep : Next::kRetry;
  }
  bool HasWork() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !outbox_.empty();
  }
  std::shared_ptr<void> Forget(ConnectionId) override { return nullptr; }

  void TakeSignal() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!std::exchange(is_signalled_, false)) return;
    is_pipe_active_ = true;
    options_.poller->SetReadable(options_.descriptor, false);
    options_.poller->Progressed();
  }
  // A pipe that was found empty is checked again only after its signal.
  bool HasMessage() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!is_pipe_active_) return false;
    if (!pipe_.empty()) return true;
    is_pipe_active_ = false;
    is_reader_asleep_ = true;
    return false;
  }

  // Occasionally there is no space.
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!outbox_.empty() && Chance(8) != 0) {
      Frames frames = std::move(outbox_.front());
      outbox_.pop_front();
      options_.poller->Progressed();
      options_.network(std::move(frames));
    }
  }

  uint64_t Chance(uint64_t bound) { return options_.random->Next() % bound; }

  const Options options_;
  ConnectionId id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Frames> outbox_ ABSL_GUARDED_BY(mutex_);
  // Shared with the network.
  std::deque<Frames> pipe_;
  mutable bool is_reader_asleep_ = true;
  mutable bool is_signalled_ = false;
  mutable bool is_pipe_active_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_SIMULATED_SOCKET_H_
