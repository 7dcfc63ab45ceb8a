// LoopPoller waits for the descriptors of a ZmqLoop and for wake-ups.
// EpollPoller is the real one; its fake, SimulatedPoller, lets a seed choose
// the order of events.
//
// Threads: WakeUp from any; Add and Remove from any, after Open; Wait and
// ConsumeWakeUps from one at a time.
#ifndef WEFT_LIBS_BUS_ZMQ_LOOP_POLLER_H_
#define WEFT_LIBS_BUS_ZMQ_LOOP_POLLER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace weft::bus {

class LoopPoller {
 public:
  // The tag that a wait returns for a wake-up.
  static constexpr uint64_t kWakeUpTag = 0;
  // The maximum number of tags that a wait returns; the next one returns the
  // others.
  static constexpr int kMaxTags = 64;
  // A timeout of Wait.
  static constexpr int kForever = -1;

  virtual ~LoopPoller() = default;

  // Must be called first, and again after an error. Returns RESOURCE_EXHAUSTED
  // if no descriptor or no thread is left.
  virtual absl::Status Open() = 0;
  // Watches `descriptor`: Wait returns `tag` while it is readable.
  virtual void Add(int descriptor, uint64_t tag) = 0;
  // Watches `descriptor` until it is closed: Wait returns `tag` once each time
  // the descriptor becomes readable, and once if it is readable now.
  virtual void AddEdge(int descriptor, uint64_t tag) = 0;
  virtual void Remove(int descriptor) = 0;
  // Waits for up to `timeout_ms` until a descriptor is readable or WakeUp was
  // called; 0 only polls. Writes their tags, and returns their number.
  virtual int Wait(int timeout_ms, absl::Span<uint64_t> tags) = 0;
  // Makes waits return at once until ConsumeWakeUps.
  virtual void WakeUp() = 0;
  virtual void ConsumeWakeUps() = 0;
};

std::unique_ptr<LoopPoller> NewEpollPoller();

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_LOOP_POLLER_H_
