// TwoProcesses is a client and a server of a role, each with its own transport,
// on one simulated network.
//
// Threads: the test's own; work runs while it waits or calls Settle.
#ifndef WEFT_LIBS_PROTOCOL_TESTING_TWO_PROCESSES_H_
#define WEFT_LIBS_PROTOCOL_TESTING_TWO_PROCESSES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/transport.h"
#include "libs/protocol/codec/receive_memory.h"
#include "libs/tensor/testing/counting_allocator.h"

namespace weft::protocol {

class TwoProcesses {
 public:
  explicit TwoProcesses(uint64_t seed = 1)
      : random_(NewSeededRandom(seed)),
        scheduler_(clock_, {.seed = seed, .on_deadlock = {}}) {
    Start(client_, "client");
    Start(server_, "server");
  }

  SimulatedScheduler& scheduler() { return scheduler_; }
  bus::MemoryNetwork& network() { return network_; }

  struct Process {
    CountingAllocator allocator;
    AllocatorReceiveMemory memory{allocator};
    std::unique_ptr<bus::Wire> wire;
    std::unique_ptr<bus::Transport> transport;
  };
  // Named "client" and "server" on the network.
  Process& client() { return client_; }
  Process& server() { return server_; }

  bus::Address address() const { return {"server", 7000}; }

  // Runs everything that can run without time passing.
  void Settle() { scheduler_.RunUntilIdle(); }

 private:
  void Start(Process& process, const std::string& name) {
    process.wire = bus::NewMemoryWire(network_, name);
    process.transport = bus::NewTransport({.wire = process.wire.get(),
                                           .scheduler = &scheduler_,
                                           .random = random_.get(),
                                           .memory = &process.memory});
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  bus::MemoryNetwork network_{scheduler_};
  Process client_;
  Process server_;
};

// A server of one role. `Service` is WorkerService or a similar class.
template <typename Service>
class OneRoleHandler : public bus::Handler {
 public:
  explicit OneRoleHandler(Service& service) : service_(service) {}

  bool IsFast(uint8_t method) const override { return Service::IsFast(method); }
  bool IsControlMessage(const bus::Message& message) const override {
    return Service::IsControlMessage(message);
  }
  bool IsServedWhileDraining(uint8_t method) const override {
    return Service::IsServedWhileDraining(method);
  }
  bool HasReserve(uint8_t method) const override {
    return Service::HasReserve(method);
  }
  absl::Status OnConnect(const bus::Peer& peer) override {
    if (!refuse_with.ok()) return refuse_with;
    if constexpr (requires { service_.OnConnect(peer); }) {
      service_.OnConnect(peer);
    }
    return absl::OkStatus();
  }
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why) override {
    if constexpr (requires { service_.OnDisconnect(peer); }) {
      service_.OnDisconnect(peer);
    } else if constexpr (requires { service_.OnDisconnect(peer, why); }) {
      service_.OnDisconnect(peer, why);
    }
  }
  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message request) override {
    service_.OnRequest(std::move(call), std::move(request));
  }
  void OnOneWay(const bus::Peer& peer, bus::Message message,
                const absl::Status& received) override {
    service_.OnOneWay(peer, std::move(message), received);
  }

  absl::Status refuse_with;

 private:
  Service& service_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_TESTING_TWO_PROCESSES_H_
