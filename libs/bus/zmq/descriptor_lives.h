// DescriptorLives: which accepted connection a descriptor stands for. The
// system gives a closed connection's descriptor to the next one, so each has a
// series of lives, from accept to disconnect, told by the monitor; messages
// only say by which descriptor they came.
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
  bool refused = false;         // to be cut; what it was sent is of no use
  bool claimed = false;         // somebody sent a message in it
  ConnectionId connection = 0;  // if claimed
  uint64_t handshakes_before = 0;
  absl::Time accepted;
  uint64_t delivered_bytes = 0;  // of its messages, as they travel
};

class DescriptorLives {
 public:
  using Life = std::shared_ptr<DescriptorLife>;

  // The life that begins.
  Life Accept(int descriptor, absl::Time now = absl::InfinitePast());
  // Some life has shaken hands, or will not; the monitor does not say which,
  // but the end of one that was refused follows at once.
  void ShakeHands();
  void Refuse() { refused_ = true; }
  // The life that ends; null if none was known, or if it cannot have had any
  // message.
  Life Disconnect(int descriptor);

  // The life in which a connection's first message came in by `descriptor`, now
  // claimed; null if none is known. All that the monitor had to say when the
  // message was there must be known. Several lives may be unclaimed if a peer
  // came and went without a message. Then the first is taken, and `doubtful` is
  // the one still going on that might have sent it, to be cut: its peer learns
  // of the loss, whoever it was.
  Life Claim(int descriptor, Life& doubtful);

  // When all messages of a life that is over have been received.
  void Erase(const Life& life);

  bool empty() const { return lives_.empty(); }
  size_t size() const { return lives_.size(); }
  // Those that are not over.
  std::vector<Life> Current() const;
  // How many have shaken hands, ever.
  uint64_t handshakes() const { return handshakes_; }

 private:
  absl::flat_hash_map<int, std::deque<Life>> lives_;
  uint64_t handshakes_ = 0;
  bool refused_ = false;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_LIVES_H_
