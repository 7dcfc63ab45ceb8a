// DescriptorLives: which accepted connection a descriptor stands for. The
// system gives a closed connection's descriptor to the next one, so each has a
// series of lives, from accept to disconnect, told by the monitor; messages
// only say by which descriptor they came.
//
// Threads: one at a time.
#ifndef WEFT_LIBS_BUS_DESCRIPTOR_LIVES_H_
#define WEFT_LIBS_BUS_DESCRIPTOR_LIVES_H_

#include <deque>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "libs/bus/wire.h"

namespace weft::bus {

struct DescriptorLife {
  int descriptor = -1;
  bool over = false;
  bool claimed = false;         // somebody sent a message in it
  ConnectionId connection = 0;  // if claimed
};

class DescriptorLives {
 public:
  using Life = std::shared_ptr<DescriptorLife>;

  void Accept(int descriptor);
  // The life that ends; null if none was known.
  Life Disconnect(int descriptor);

  // The life in which a connection's first message came in by `descriptor`, now
  // claimed; null if none is known. It is certain while one life is unclaimed.
  // With several the first is taken, and `doubtful` is the one still going on,
  // to be cut: then the message's sender is told of the loss whichever it was.
  Life Claim(int descriptor, Life& doubtful);

  // When all messages of a life that is over have been received.
  void Erase(const Life& life);

  bool empty() const { return lives_.empty(); }

 private:
  absl::flat_hash_map<int, std::deque<Life>> lives_;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_DESCRIPTOR_LIVES_H_
