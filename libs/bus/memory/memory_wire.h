// MemoryWire is the Wire's fake for tests. Many simulated processes, each with
// its own Wire, share one MemoryNetwork, which a test can make do anything that
// a network does: delay, cut, partition, kill.
//
//   ManualClock clock;
//   SimulatedScheduler scheduler(clock, {.seed = 7});
//   MemoryNetwork network(scheduler);
//   std::unique_ptr<Wire> ps = NewMemoryWire(network, "ps");
//   std::unique_ptr<Wire> worker = NewMemoryWire(network, "worker");
//   ... a Transport over each ...
//   network.Kill("ps");
//
// Each event of a connection is a closure of the Scheduler's compute pool. So
// under a SimulatedScheduler a seed decides how connections overtake each
// other, including the control and the bulk channel of one pair of processes.
// The events of one end of a connection keep their order. MemoryWire works with
// real threads, too. A process may listen at any host name; the network assigns
// the port.
//
// Threads: all methods may be called from any thread.
#ifndef WEFT_LIBS_BUS_MEMORY_MEMORY_WIRE_H_
#define WEFT_LIBS_BUS_MEMORY_MEMORY_WIRE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// A message about to arrive, as passed to the network's hook.
struct MessageInfo {
  std::string from;  // the names of the two processes' wires
  std::string to;
  ChannelKind channel_kind = ChannelKind::kControl;
  uint64_t connection = 0;  // the network's number, the same in both directions
  bool to_dialer = false;   // the direction
  uint64_t sequence = 0;    // of the message, from 0 in each direction
  const Frames* frames = nullptr;
};

enum class Fate {
  kDeliver,
  kCutHere,   // the connection is lost, and this message with it
  kCutAfter,  // the message arrives, then the connection is lost
};

struct HookResult {
  Fate fate = Fate::kDeliver;
  // How long after its sending the message arrives. Later messages of the
  // connection wait as well.
  absl::Duration delay = absl::ZeroDuration();
};

class MemoryNetwork {
 public:
  // A function that is called before each message arrives, without a lock held.
  // The calls for one direction of a connection are in order. With real
  // threads, calls for several connections may be concurrent.
  using Hook = absl::AnyInvocable<HookResult(const MessageInfo&)>;

  // `scheduler` must outlive the network, and the network its wires.
  explicit MemoryNetwork(Scheduler& scheduler);
  ~MemoryNetwork();

  // Sets the hook. Must be called before the first message is sent, or while no
  // message is in flight.
  void set_hook(Hook hook);

  // Lets a process die. Its wire sends nothing more, and receives nothing more,
  // not even the end of its connections. The connections close at their other
  // ends. Messages in flight are lost. The name may be used again.
  void Kill(const std::string& name);
  // Delivers the end of their connections to the dead processes called `name`,
  // so that their remains can be destroyed.
  void Reap(const std::string& name);

  // Loses every connection between two processes, at both ends. The processes
  // may dial again.
  void Cut(const std::string& a, const std::string& b);

  // Holds everything in flight between two processes until Heal, including the
  // end of a connection and the answer to a dial. Until then only timers can
  // detect the silence. Cut reports the loss, as heartbeats would.
  void Partition(const std::string& a, const std::string& b);
  // Like Partition, for one direction only.
  void PartitionOneWay(const std::string& from, const std::string& to);
  void Heal(const std::string& a, const std::string& b);

  // The number of open connections that `dialer` has dialed, over both
  // channels.
  int num_connections(const std::string& dialer, const std::string& to) const;

  class Core;  // of the implementation
  const std::shared_ptr<Core>& core() const { return core_; }

 private:
  const std::shared_ptr<Core> core_;
};

// Returns the Wire of a process of this network; `name` identifies it in
// MessageInfo and Kill. Its events are closures of `reader`, which must outlive
// the network's closures; null: of the network's scheduler.
std::unique_ptr<Wire> NewMemoryWire(MemoryNetwork& network, std::string name,
                                    Scheduler* reader = nullptr);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_MEMORY_MEMORY_WIRE_H_
