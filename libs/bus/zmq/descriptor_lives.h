// DescriptorLives maps a descriptor to the accepted connection that it stands
// for. The system reuses a closed connection's descriptor for the next one, so
// each descriptor has a series of lives, from accept to disconnect, reported by
// the monitor; a message only carries the descriptor on which it arrived.
//
// Threads: one at a time.
#ifndef WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_LIVES_H_
#define WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_LIVES_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "libs/bus/wire.h"

namespace weft::bus {

struct DescriptorLife {
  int descriptor = -1;
  bool over = false;
  bool refused = false;         // to be cut; messages sent to it are useless
  bool claimed = false;         // a message was received in this life
  ConnectionId connection = 0;  // if claimed
  uint64_t handshakes_before = 0;
  absl::Time accepted;
  uint64_t delivered_bytes = 0;  // of its messages, as sent on the network
};

class DescriptorLives {
 public:
  using Life = std::shared_ptr<DescriptorLife>;

  // Begins and returns a new life.
  Life Accept(int descriptor, absl::Time now = absl::InfinitePast());
  // Notes that some life has completed or failed its handshake. The monitor
  // does not say which life, but the end of a refused one follows at once.
  void ShakeHands();
  void Refuse() { refused_ = true; }
  // Ends and returns the current life of a descriptor. Returns null if no life
  // was known, or if the life cannot have received a message.
  Life Disconnect(int descriptor);

  // Claims the life of a connection whose first message arrived on
  // `descriptor`; null if none is known. All changes that the monitor had
  // reported when the message arrived must be known. If a peer connected and
  // left without a message, several lives may be unclaimed. Then the first is
  // taken, and `unconfirmed` is the one still running that might have sent the
  // message, to be cut: its peer is then notified of the loss in either case.
  Life Claim(int descriptor, Life& unconfirmed);

  // Removes an ended life. Must be called when all of its messages have been
  // received.
  void Erase(const Life& life);

  bool empty() const { return lives_.empty(); }
  size_t size() const { return lives_.size(); }
  // Returns the lives that have not ended.
  std::vector<Life> Current() const;
  // The total number of completed handshakes.
  uint64_t handshakes() const { return handshakes_; }

 private:
  absl::flat_hash_map<int, std::deque<Life>> lives_;
  uint64_t handshakes_ = 0;
  bool refused_ = false;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_LIVES_H_
