#include "libs/bus/zmq/zmq_wire.h"

#include <malloc.h>

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/bus/zmq/connection_table.h"
#include "libs/bus/zmq/descriptor_reserve.h"
#include "libs/bus/zmq/dialed_socket.h"
#include "libs/bus/zmq/listening_socket.h"
#include "libs/bus/zmq/polled_socket.h"
#include "libs/bus/zmq/zmq_loop.h"
#include "libs/bus/zmq/zmq_socket.h"

namespace weft::bus {
namespace {

constexpr int kIoThreads = 2;  // control, bulk

class ZmqListener : public WireListener {
 public:
  ZmqListener(std::shared_ptr<ListeningSocket> socket, Address address)
      : socket_(std::move(socket)), address_(std::move(address)) {}
  ~ZmqListener() override { socket_->Shutdown(); }

  const Address& address() const override { return address_; }

 private:
  const std::shared_ptr<ListeningSocket> socket_;
  const Address address_;
};

class ZmqWire : public Wire {
 public:
  ZmqWire(Scheduler& scheduler, const ZmqWireOptions& options)
      : scheduler_(scheduler),
        options_(options),
        reserve_(scheduler, options.logger),
        context_(kIoThreads),
        control_(scheduler, options.busy_poll),
        bulk_(scheduler, absl::ZeroDuration()) {}

  absl::StatusOr<std::unique_ptr<WireListener>> Listen(
      const Address& address, ChannelKind channel_kind,
      WireEvents& events) override {
    auto socket =
        std::make_shared<ListeningSocket>(Parts(channel_kind), events);
    listens_.store(true, std::memory_order_relaxed);
    ASSIGN_OR_RETURN(Address found, socket->Listen(address));
    return std::make_unique<ZmqListener>(std::move(socket), std::move(found));
  }

  ConnectionId Dial(const Address& address, ChannelKind channel_kind,
                    WireEvents& events) override {
    return std::make_shared<DialedSocket>(Parts(channel_kind), address, events)
        ->Dial();
  }

  absl::Status Send(ConnectionId connection, Frames frames) override {
    if (frames.empty()) {
      return absl::InvalidArgumentError("A message has at least one frame");
    }
    const auto carrier = table_.Find(connection);
    if (carrier != nullptr) return carrier->Send(connection, std::move(frames));
    return absl::UnavailableError("The connection is closed");
  }

  void Close(ConnectionId connection) override {
    const auto carrier = table_.Find(connection);
    if (carrier != nullptr) carrier->Close(connection);
  }

  // A task's reading thread runs handlers of other tasks, which its callers
  // must not do.
  bool Lead(absl::FunctionRef<bool()> done) override {
    return !listens_.load(std::memory_order_relaxed) && control_.Lead(done);
  }
  void WakeLeader() override { control_.WakeLeader(); }

 private:
  ChannelParts Parts(ChannelKind channel_kind) {
    const bool control = channel_kind == ChannelKind::kControl;
    ChannelParts parts;
    parts.context = &context_;
    parts.scheduler = &scheduler_;
    parts.table = &table_;
    parts.options = &options_;
    parts.loop = control ? &control_ : &bulk_;
    parts.other_loop = control ? &bulk_ : &control_;
    parts.reserve = &reserve_;
    parts.channel_kind = channel_kind;
    return parts;
  }

  Scheduler& scheduler_;
  const ZmqWireOptions options_;
  std::atomic<bool> listens_{false};
  DescriptorReserve reserve_;
  // Destroyed last: libzmq waits for sockets that are still open.
  ZmqContext context_;
  ConnectionTable table_;
  ZmqLoop control_;
  ZmqLoop bulk_;
};

}  // namespace

std::unique_ptr<Wire> NewZmqWire(Scheduler& scheduler,
                                 const ZmqWireOptions& options) {
  return std::make_unique<ZmqWire>(scheduler, options);
}

void TuneHeapForBulk() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // glibc refuses more
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace weft::bus
