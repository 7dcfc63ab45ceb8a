// EventMemory: memory of events that are gone, kept for the next ones, so that
// a caller that waits for every step allocates nothing.
//
// Threads: all methods may be called from any thread. Blocks may outlive the
// EventMemory's other owners: each block in use holds on to it.
#ifndef WEFT_LIBS_BASE_EVENT_MEMORY_H_
#define WEFT_LIBS_BASE_EVENT_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <memory>

namespace weft {

class EventMemory : public std::enable_shared_from_this<EventMemory> {
 public:
  // What one event may take.
  static constexpr size_t kBytes = 32;

  EventMemory() = default;
  ~EventMemory();
  EventMemory(const EventMemory&) = delete;
  EventMemory& operator=(const EventMemory&) = delete;

  // kBytes, aligned for any type.
  void* Take();
  // Gives back what Take returned.
  static void Give(void* memory);

 private:
  struct Block {
    std::shared_ptr<EventMemory> owner;  // while in use
    alignas(std::max_align_t) std::byte bytes[kBytes];
  };
  // More than that many are seldom waited for at a time.
  static constexpr int kKept = 16;

  void Keep(std::unique_ptr<Block> block);

  std::atomic<Block*> kept_[kKept] = {};
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_EVENT_MEMORY_H_
