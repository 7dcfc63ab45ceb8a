// DialedSocket is a DEALER that makes one connection and ends with it.
#ifndef WEFT_LIBS_BUS_ZMQ_DIALED_SOCKET_H_
#define WEFT_LIBS_BUS_ZMQ_DIALED_SOCKET_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "libs/bus/address.h"
#include "libs/bus/zmq/polled_socket.h"

namespace weft::bus {

class DialedSocket : public PolledSocket {
 public:
  DialedSocket(const ChannelParts& parts, Address address, WireEvents& events)
      : PolledSocket(parts), address_(std::move(address)), events_(events) {}

  // Adds the connection to the table and starts to connect. OnClose reports
  // failures.
  ConnectionId Dial();

  absl::Status Send(ConnectionId connection, Frames frames) override;
  void Close(ConnectionId connection) override;

 private:
  bool NextDelivery(unsigned& signals, Delivery& delivery) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Next Rest() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWork() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<void> Forget(ConnectionId) override { return nullptr; }

  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ResolveThenConnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Connect(const std::string& numeric_host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadChanges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the connection. The reason of the first call is reported.
  void End(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the connection like End. For threads other than the loop's.
  void EndFromOutside(absl::Status why) ABSL_LOCKS_EXCLUDED(mutex_);
  bool OpenNext(Delivery& delivery) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MessageNext(Delivery& delivery) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool CloseNext(Delivery& delivery) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hands the message to libzmq or queues it.
  absl::Status SendLocked(Frames& frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SendLater(Frames& frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FlushOutbox() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Lost(absl::string_view what) const;

  const Address address_;
  WireEvents& events_;
  ConnectionId id_ ABSL_GUARDED_BY(mutex_) = 0;
  Scheduler::TimerId deadline_ ABSL_GUARDED_BY(mutex_) = 0;
  bool up_ ABSL_GUARDED_BY(mutex_) = false;
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;  // OnOpen was delivered
  absl::Status end_ ABSL_GUARDED_BY(mutex_);     // why it has ended, if it has
  // Messages that libzmq's queue did not accept; before the connection is up,
  // all messages.
  std::deque<Frames> outbox_ ABSL_GUARDED_BY(mutex_);
  uint64_t outbox_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_DIALED_SOCKET_H_
