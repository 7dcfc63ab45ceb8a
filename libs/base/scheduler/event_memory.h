// EventMemory keeps the memory of destroyed events and reuses it for new
// events. So a caller that waits for every step does not allocate memory each
// time.
//
// Threads: all methods may be called from any thread. Blocks may outlive the
// other owners of the EventMemory, because each block in use holds a reference
// to it.
#ifndef WEFT_LIBS_BASE_SCHEDULER_EVENT_MEMORY_H_
#define WEFT_LIBS_BASE_SCHEDULER_EVENT_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <memory>

namespace weft {

class EventMemory : public std::enable_shared_from_this<EventMemory> {
 public:
  // The maximum size of an event.
  static constexpr size_t kBytes = 32;

  EventMemory() = default;
  ~EventMemory();
  EventMemory(const EventMemory&) = delete;
  EventMemory& operator=(const EventMemory&) = delete;

  // Returns a block of kBytes bytes, aligned for any type.
  void* Take();
  // Returns a block from Take to its EventMemory for reuse.
  static void Give(void* memory);

 private:
  struct Block {
    std::shared_ptr<EventMemory> owner;  // set while the block is in use
    alignas(std::max_align_t) std::byte bytes[kBytes];
  };
  // The maximum number of unused blocks that are kept. Threads rarely wait for
  // more events at the same time.
  static constexpr int kKept = 16;

  void Keep(std::unique_ptr<Block> block);

  std::atomic<Block*> kept_[kKept] = {};
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_EVENT_MEMORY_H_
